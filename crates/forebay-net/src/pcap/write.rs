// SPDX-License-Identifier: Apache-2.0
//! Writing a capture: pcapng, times in nanoseconds, frames with their direction.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use forebay_model::{NANOSECOND, Time};

use crate::{Error, Result};

use super::ETHERNET;

/// Block types.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// Says in which order bytes are.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Options: of a section its program, of an interface its name, its description and the power of
/// ten of its times, of a packet its flags.
const PROGRAM: u16 = 4;
const NAME: u16 = 2;
const DESCRIPTION: u16 = 3;
const RESOLUTION: u16 = 9;
const FLAGS: u16 = 2;
/// Flag: the check sequence was wrong.
const DAMAGED: u32 = 1 << 24;

/// Which way a frame goes, as the recorded interface sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Received.
    In = 1,
    /// Sent.
    Out = 2,
}

/// A capture that is being written.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: BufWriter<File>,
    block: Vec<u8>,
}

impl Recorder {
    /// Creates the file, with one interface for each name and description.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(path: &Path, interfaces: &[(&str, &str)]) -> Result<Self> {
        let file = File::create(path).map_err(|error| Error::file("writing", path, error))?;
        let mut recorder = Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
            block: Vec::new(),
        };
        let program = concat!("forebay ", env!("CARGO_PKG_VERSION"));
        recorder.begin(SECTION);
        recorder.words(&[BYTE_ORDER, 1]);
        // The length of the section is not known yet.
        recorder.words(&[u32::MAX, u32::MAX]);
        recorder.option(PROGRAM, program.as_bytes());
        recorder.end()?;
        for (name, description) in interfaces {
            recorder.begin(INTERFACE);
            recorder.words(&[ETHERNET.into(), 0]);
            recorder.option(NAME, name.as_bytes());
            recorder.option(DESCRIPTION, description.as_bytes());
            recorder.option(RESOLUTION, &[9]);
            recorder.end()?;
        }
        Ok(recorder)
    }

    /// Adds a frame of an interface, without its check sequence; `damaged` if that was wrong.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn frame(
        &mut self,
        interface: u32,
        way: Way,
        time: Time,
        frame: &[u8],
        damaged: bool,
    ) -> Result<()> {
        let time = time / NANOSECOND;
        // Frames are made or checked by us: none comes near to 4 GiB.
        let bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        self.begin(PACKET);
        self.words(&[interface, (time >> 32) as u32, time as u32, bytes, bytes]);
        self.padded(frame);
        let flags = way as u32 | if damaged { DAMAGED } else { 0 };
        self.option(FLAGS, &flags.to_le_bytes());
        self.end()
    }

    /// Sees to it that all is in the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<()> {
        let flushed = self.file.flush();
        flushed.map_err(|error| Error::file("writing", &self.path, error))
    }

    fn begin(&mut self, block_type: u32) {
        self.block.clear();
        self.words(&[block_type, 0]);
    }

    fn words(&mut self, words: &[u32]) {
        for word in words {
            self.block.extend(word.to_le_bytes());
        }
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend(bytes);
        let whole = self.block.len().next_multiple_of(4);
        self.block.resize(whole, 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(u16::MAX.into())];
        self.words(&[u32::from(code) | (value.len() as u32) << 16]);
        self.padded(value);
    }

    /// Ends the options, writes the length at both ends, and the block.
    fn end(&mut self) -> Result<()> {
        self.words(&[0]);
        let bytes = self.block.len() as u32 + 4;
        self.words(&[bytes]);
        self.block[4..8].copy_from_slice(&bytes.to_le_bytes());
        let written = self.file.write_all(&self.block);
        written.map_err(|error| Error::file("writing", &self.path, error))
    }
}
