// SPDX-License-Identifier: Apache-2.0
//! Where bytes lie: a file, a block device, memory.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Array, Error, Result};

/// Bytes that stay. Reads and writes may come from several threads.
pub trait Disk: Sync {
    /// How many there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `into` with the bytes from `at` on; past the end is an error, here and in `write_at`.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes `bytes` at `at`. They are durable only after [`Self::flush`].
    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Waits until all that was written is durable.
    fn flush(&self) -> io::Result<()>;

    /// The array, where it is one.
    fn array(&self) -> Option<&Array<'_>> {
        None
    }

    /// Whether the byte at a place is computed from others, since the member that it lies on is missing.
    fn is_computed(&self, _: u64) -> bool {
        false
    }
}

impl<D: Disk + ?Sized> Disk for &D {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        (**self).read_at(at, into)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        (**self).write_at(at, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        (**self).flush()
    }

    fn array(&self) -> Option<&Array<'_>> {
        (**self).array()
    }

    fn is_computed(&self, at: u64) -> bool {
        (**self).is_computed(at)
    }
}

pub(crate) fn read(disk: &dyn Disk, at: u64, into: &mut [u8]) -> Result<()> {
    disk.read_at(at, into).map_err(|source| Error::Disk {
        doing: "reading",
        at,
        source,
    })
}

pub(crate) fn write(disk: &dyn Disk, at: u64, bytes: &[u8]) -> Result<()> {
    disk.write_at(at, bytes).map_err(|source| Error::Disk {
        doing: "writing",
        at,
        source,
    })
}

pub(crate) fn flush(disk: &dyn Disk) -> Result<()> {
    disk.flush().map_err(|source| Error::Disk {
        doing: "flushing",
        at: 0,
        source,
    })
}

/// What Linux answers to with "busy" where a block device is mounted or otherwise in use.
const EXCLUSIVE: i32 = rustix::fs::OFlags::EXCL.bits() as i32;

/// A file or a block device.
#[derive(Debug)]
pub struct FileDisk {
    file: File,
    len: u64,
}

impl FileDisk {
    /// On an open file.
    pub fn new(mut file: File) -> io::Result<Self> {
        // Of a block device this is the only length that std tells.
        let len = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, len })
    }

    /// Opens it for reading.
    pub fn open(path: &Path) -> Result<Self> {
        let disk = File::open(path).and_then(Self::new);
        disk.map_err(|error| Error::file("opening", path, error))
    }

    /// Opens it for writing; a block device only where nothing else uses it.
    pub fn open_to_write(path: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        if is_block_device(path) {
            options.custom_flags(EXCLUSIVE);
        }
        let disk = options.open(path).and_then(Self::new);
        disk.map_err(|error| Error::file("opening for writing", path, error))
    }

    /// Creates an image of `bytes` zeros.
    ///
    /// # Errors
    /// [`Error::File`] where it is there already, or cannot be made.
    pub fn create(path: &Path, bytes: u64) -> Result<Self> {
        let made = File::create_new(path)
            .and_then(|file| file.set_len(bytes).map(|()| file))
            .and_then(Self::new);
        made.map_err(|error| Error::file("making", path, error))
    }
}

/// Whether a path names a block device.
#[must_use]
pub fn is_block_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device())
}

/// Bytes of a block device's logical block: 512 or 4096; 512 of a file.
#[must_use]
pub fn block_bytes(path: &Path) -> u32 {
    let found = File::open(path).ok().filter(|_| is_block_device(path));
    let found = found.and_then(|file| rustix::fs::ioctl_blksszget(&file).ok());
    found.map_or(512, |bytes| if bytes > 512 { 4096 } else { 512 })
}

impl Disk for FileDisk {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, at)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        within(at, bytes.len(), self.len)?;
        self.file.write_all_at(bytes, at)
    }

    fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Bytes in memory.
pub struct Memory(Mutex<Vec<u8>>);

impl Memory {
    /// With these bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Mutex::new(bytes))
    }

    /// What is there now.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory of {} bytes", self.len())
    }
}

/// The range of `length` bytes from `at`, if it ends before `end`.
pub(crate) fn within(at: u64, length: usize, end: u64) -> io::Result<std::ops::Range<usize>> {
    let past = || io::Error::new(io::ErrorKind::UnexpectedEof, "past the end");
    let to = at.checked_add(length as u64).filter(|to| *to <= end);
    let to = to.ok_or_else(past)?;
    let from = usize::try_from(at).map_err(|_| past())?;
    Ok(from..usize::try_from(to).map_err(|_| past())?)
}

impl Disk for Memory {
    fn len(&self) -> u64 {
        self.lock().len() as u64
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes = self.lock();
        let range = within(at, into.len(), bytes.len() as u64)?;
        into.copy_from_slice(&bytes[range]);
        Ok(())
    }

    fn write_at(&self, at: u64, from: &[u8]) -> io::Result<()> {
        let mut bytes = self.lock();
        let range = within(at, from.len(), bytes.len() as u64)?;
        bytes[range].copy_from_slice(from);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A disk as libraries want it that go through it from place to place.
pub(crate) struct Cursor<'d> {
    disk: &'d dyn Disk,
    at: u64,
}

impl<'d> Cursor<'d> {
    pub(crate) fn new(disk: &'d dyn Disk) -> Self {
        Self { disk, at: 0 }
    }
}

impl fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cursor at {}", self.at)
    }
}

impl Read for Cursor<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.disk.len().saturating_sub(self.at);
        let length = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.disk.read_at(self.at, &mut into[..length])?;
        self.at += length as u64;
        Ok(length)
    }
}

impl Write for Cursor<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.write_at(self.at, bytes)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.disk.flush()
    }
}

impl Seek for Cursor<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.disk.len().checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::other("in front of the beginning"))?;
        Ok(self.at)
    }
}
