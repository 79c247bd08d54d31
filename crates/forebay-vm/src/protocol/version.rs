// SPDX-License-Identifier: Apache-2.0
//! Version and capabilities ("VFIO_USER_VERSION").

use serde::{Deserialize, Serialize};

use super::fields::{Append, Fields};
use super::{Command, DATA_MOST, DESCRIPTORS_MOST, Malformed};

/// The version of the protocol, and what its sender can take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Both sides must have the same.
    pub major: u16,
    /// The server's must not be greater than the client's.
    pub minor: u16,
    /// What the sender can take.
    pub capabilities: Capabilities,
}

/// Capabilities that we know; others are ignored. What is not said is as the specification has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Descriptors that the sender can receive in one message.
    #[serde(default = "one")]
    pub max_msg_fds: u32,
    /// Bytes of data that one access may move.
    #[serde(default = "most")]
    pub max_data_xfer_size: u32,
}

/// The JSON text.
#[derive(Default, Serialize, Deserialize)]
struct Text {
    #[serde(default)]
    capabilities: Capabilities,
}

const fn one() -> u32 {
    1
}

const fn most() -> u32 {
    DATA_MOST
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            max_msg_fds: one(),
            max_data_xfer_size: most(),
        }
    }
}

impl Version {
    /// The major version that we speak.
    pub const MAJOR: u16 = 0;
    /// The greatest minor version that we speak.
    pub const MINOR: u16 = 1;

    /// Our answer to a proposal.
    ///
    /// # Errors
    /// [`Malformed`] where the major version is not ours.
    pub fn answer(&self) -> Result<Self, Malformed> {
        if self.major != Self::MAJOR {
            let (field, limit) = ("version major", Self::MAJOR.to_string());
            return Err(Malformed::new(Command::VERSION, field, self.major, limit));
        }
        Ok(Self {
            major: self.major,
            minor: self.minor.min(Self::MINOR),
            capabilities: Capabilities {
                max_msg_fds: DESCRIPTORS_MOST as u32,
                max_data_xfer_size: self.capabilities.max_data_xfer_size.min(DATA_MOST),
            },
        })
    }

    pub(super) fn parse(body: &[u8]) -> Result<Self, Malformed> {
        let fields = Fields::new(Command::VERSION, body, 4)?;
        // The text ends with a NUL, or with the message; it may be missing altogether.
        let text = fields.tail(4).split(|byte| *byte == 0).next();
        let text: Text = match text.unwrap_or_default() {
            [] => Text::default(),
            text => serde_json::from_slice(text).map_err(|error| {
                let limit = format!("JSON with numbers from 0 to 4294967295 ({error})");
                fields.wrong("version data", text.len() as u64, limit)
            })?,
        };
        let capabilities = text.capabilities;
        if capabilities.max_data_xfer_size < 8 {
            let value = capabilities.max_data_xfer_size;
            return Err(fields.wrong("max_data_xfer_size", value, "at least 8"));
        }
        Ok(Self {
            major: fields.u16(0),
            minor: fields.u16(2),
            capabilities,
        })
    }

    pub(super) fn body(&self) -> Vec<u8> {
        let capabilities = self.capabilities;
        let mut body = Vec::new();
        body.u16(self.major).u16(self.minor);
        // Numbers under fixed names can always be written.
        let text = serde_json::to_string(&Text { capabilities }).unwrap_or_default();
        body.extend_from_slice(text.as_bytes());
        body.push(0);
        body
    }
}
