// SPDX-License-Identifier: Apache-2.0
//! Little-endian fields of a message's body, read and written.

use super::{Command, Malformed};

/// The body of a message whose length was checked to hold all its fixed fields.
pub(super) struct Fields<'a> {
    command: Command,
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    /// A body of at least `least` bytes.
    pub fn new(command: Command, bytes: &'a [u8], least: usize) -> Result<Self, Malformed> {
        if bytes.len() < least {
            let limit = format!("at least {least} behind the header");
            let len = bytes.len() as u64;
            return Err(Malformed::new(command, "message size", len, limit));
        }
        Ok(Self { command, bytes })
    }

    pub fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.array(at))
    }

    pub fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    pub fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }

    /// What follows the fixed fields.
    pub fn tail(&self, at: usize) -> &'a [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    /// The error about one of the fields.
    pub fn wrong(
        &self,
        field: &'static str,
        value: impl Into<u64>,
        limit: impl Into<String>,
    ) -> Malformed {
        Malformed::new(self.command, field, value, limit)
    }

    /// `argsz`, the caller's idea of the structure's size: at least what it must hold.
    pub fn argsz(&self, least: u32) -> Result<u32, Malformed> {
        match self.u32(0) {
            argsz if argsz >= least => Ok(argsz),
            argsz => Err(self.wrong("argsz", argsz, format!("at least {least}"))),
        }
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let field = self.bytes.get(at..at + N).and_then(|b| b.try_into().ok());
        field.unwrap_or([0; N])
    }
}

/// Appends fields.
pub(super) trait Append {
    fn u16(&mut self, value: u16) -> &mut Self;
    fn u32(&mut self, value: u32) -> &mut Self;
    fn u64(&mut self, value: u64) -> &mut Self;
}

impl Append for Vec<u8> {
    fn u16(&mut self, value: u16) -> &mut Self {
        self.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.extend_from_slice(&value.to_le_bytes());
        self
    }
}
