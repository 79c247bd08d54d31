// SPDX-License-Identifier: Apache-2.0
//! `[buffer]`: where payload waits for the drives.

use forebay_model::DramProfile;
use forebay_spec::streamer::window;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::field::{Field, File};
use super::{Place, Result, schema};

/// Where the streamer keeps its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// 4 MiB in the FPGA.
    Onchip,
    /// On-board DRAM: 60 MiB for one direction, 32 MiB for each of both.
    Dram,
    /// Host memory over PCIe: 60 MiB for one direction, 32 MiB for each of both.
    Host,
}

impl Memory {
    /// All that there are.
    pub const ALL: [Self; 3] = [Self::Onchip, Self::Dram, Self::Host];

    /// As it is called in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Onchip => "onchip",
            Self::Dram => "dram",
            Self::Host => "host",
        }
    }
}

/// The buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Buffer {
    /// Which memory.
    pub memory: Memory,
    /// Bytes of it: on chip for both directions together, else for each.
    pub size: u64,
    /// Of on-board DRAM: the name of its profile, or a TOML file.
    pub dram: Option<String>,
}

impl Buffer {
    /// 4 KiB pages of a buffer on chip; none elsewhere.
    pub fn pages(&self) -> Option<u32> {
        (self.memory == Memory::Onchip).then_some((self.size / window::PAGE_BYTES) as u32)
    }
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Raw {
    /// Where payload waits for the drives.
    #[schemars(with = "Option<Memory>")]
    memory: Option<Place>,
    /// Its size.
    #[schemars(with = "Option<schema::Bytes>")]
    size: Option<Place>,
    /// With memory = "dram": which, or a TOML file.
    #[schemars(with = "Option<String>")]
    dram: Option<Place>,
}

pub(super) fn check(file: &File, raw: &Raw) -> Result<Buffer> {
    let words = Memory::ALL.map(|one| (one.name(), one));
    let memory = |field: &Field| field.word(&words);
    let memory = file.or("buffer.memory", &raw.memory, Memory::Onchip, memory)?;
    Ok(Buffer {
        memory,
        size: size(file, raw.size.as_ref(), memory)?,
        dram: dram(file, raw.dram.as_ref(), memory)?,
    })
}

fn size(file: &File, value: Option<&Place>, memory: Memory) -> Result<u64> {
    let (sizes, limit) = match memory {
        Memory::Onchip => (
            vec![
                window::BUFFER_BYTES,
                2 * window::BUFFER_BYTES,
                window::BUFFER_PAGES_MOST * window::PAGE_BYTES,
            ],
            "on chip it is 4MiB, 8MiB or 16MiB",
        ),
        Memory::Dram | Memory::Host => (
            vec![window::DRAM_BUFFER_BYTES],
            "in DRAM and in host memory it is 64MiB for each direction",
        ),
    };
    let Some(value) = value else {
        return Ok(sizes[0]);
    };
    let field = file.field("buffer.size", value);
    let wanted = field.bytes()?;
    if sizes.contains(&wanted) {
        return Ok(wanted);
    }
    Err(field.refuse(limit, "choose such a size, or another memory"))
}

fn dram(file: &File, value: Option<&Place>, memory: Memory) -> Result<Option<String>> {
    let Some(value) = value else {
        return Ok((memory == Memory::Dram).then(|| "ddr4-2400".to_owned()));
    };
    let field = file.field("buffer.dram", value);
    if memory != Memory::Dram {
        return Err(field.refuse(
            "the payload is not in on-board DRAM",
            "add memory = \"dram\", or leave it out",
        ));
    }
    let name = file.profile(field.text()?);
    DramProfile::load(&name)
        .map_err(|error| field.refuse(&error.to_string(), "name another, or mend the file"))?;
    Ok(Some(name))
}
