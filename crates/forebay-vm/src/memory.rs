// SPDX-License-Identifier: Apache-2.0
//! Memory shared with the guest, mapped from a descriptor. The only module with `unsafe`.
//!
//! The guest and its virtual machine write the same memory at any time. So no reference into it is
//! ever made: bytes are copied out and in through volatile accesses within checked bounds.
#![allow(unsafe_code)]

use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

use rustix::fs::fstat;
use rustix::io;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Bytes that are moved at once where both sides are aligned to them.
const WORD: usize = size_of::<u64>();
/// Descriptors are mapped from multiples of this.
const PAGE: u64 = 4096;

/// A range of a file, mapped shared.
///
/// If the file is cut short while it is mapped, the next access behind its new end ends this
/// process with SIGBUS; the size is checked once, when it is mapped.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
    writable: bool,
}

impl Mapping {
    /// Maps `len` bytes from an offset.
    ///
    /// # Errors
    /// Where the range is not all in the file or not aligned to pages, or cannot be mapped.
    pub fn new(file: BorrowedFd<'_>, offset: u64, len: u64, writable: bool) -> io::Result<Self> {
        let size = u64::try_from(fstat(file)?.st_size).unwrap_or(0);
        let end = offset.checked_add(len).ok_or(io::Errno::OVERFLOW)?;
        if len == 0 || end > size || !offset.is_multiple_of(PAGE) {
            return Err(io::Errno::INVAL);
        }
        let len = usize::try_from(len).map_err(|_| io::Errno::NOMEM)?;
        let mut access = ProtFlags::READ;
        access.set(ProtFlags::WRITE, writable);
        // SAFETY: the kernel chooses the place, so that nothing of ours is there; the range was
        // checked to be in the file; it is unmapped once, by `drop`.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                len,
                access,
                MapFlags::SHARED,
                file,
                offset,
            )
        }?;
        Ok(Self {
            start: NonNull::new(start.cast()).ok_or(io::Errno::NOMEM)?,
            len,
            writable,
        })
    }

    /// Copies bytes out; false where they are not all in the mapping.
    pub fn read(&self, at: usize, into: &mut [u8]) -> bool {
        let Some(start) = self.place(at, into.len()) else {
            return false;
        };
        // What was seen before, a phase tag say, is older than what is read now.
        fence(Ordering::Acquire);
        for access in accesses(start, into.len()) {
            let from = start.wrapping_add(access.start);
            let bytes = &mut into[access];
            // SAFETY: `place` checked that all of it is mapped, for as long as `self` lives, and
            // words are aligned.
            match bytes.len() {
                WORD => bytes
                    .copy_from_slice(&unsafe { from.cast::<u64>().read_volatile() }.to_ne_bytes()),
                _ => bytes[0] = unsafe { from.read_volatile() },
            }
        }
        true
    }

    /// Copies bytes in, from the first to the last: who polls the last word, where a completion
    /// entry has its phase tag, sees all the others. False where they are not all in the mapping,
    /// or it is only for reading.
    pub fn write(&self, at: usize, data: &[u8]) -> bool {
        let Some(start) = self.place(at, data.len()).filter(|_| self.writable) else {
            return false;
        };
        for access in accesses(start, data.len()) {
            // What was written before is there before this is.
            fence(Ordering::Release);
            let to = start.wrapping_add(access.start);
            // SAFETY: as above, and it is mapped for writing.
            match data[access.clone()].try_into() {
                Ok(word) => unsafe { to.cast::<u64>().write_volatile(u64::from_ne_bytes(word)) },
                Err(_) => unsafe { to.write_volatile(data[access.start]) },
            }
        }
        true
    }

    /// Where a range of bytes starts, if it is all mapped.
    fn place(&self, at: usize, len: usize) -> Option<*mut u8> {
        let end = at.checked_add(len)?;
        // SAFETY: `at <= end <= self.len`, so the pointer stays in the mapping or at its end.
        (end <= self.len).then(|| unsafe { self.start.as_ptr().add(at) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length; no reference into it was ever made, and no
        // pointer outlives the calls above. A failure would only leave it mapped.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Splits `len` bytes into aligned words, and single bytes before and behind them.
fn accesses(start: *mut u8, len: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = at;
        let is_word = (start as usize + at).is_multiple_of(WORD) && at + WORD <= len;
        at += if is_word { WORD } else { 1 };
        (from < len).then_some(from..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use std::os::fd::AsFd;

    #[test]
    fn bytes_are_copied_at_any_place_and_length() {
        let file = memfd_create("memory", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, 3 * PAGE).unwrap();
        let memory = Mapping::new(file.as_fd(), PAGE, 2 * PAGE, true).unwrap();
        for at in [0, 1, 7, 8, 4090] {
            for len in 0..40 {
                let data: Vec<u8> = (0..len).map(|n| (n + at) as u8 ^ 0x5a).collect();
                assert!(memory.write(at, &vec![0xee; len + 2]));
                assert!(memory.write(at + 1, &data));
                let mut back = vec![0; len + 2];
                assert!(memory.read(at, &mut back));
                assert_eq!((back[0], back[len + 1]), (0xee, 0xee), "{at} {len}");
                assert_eq!(&back[1..=len], data, "{at} {len}");
            }
        }
    }

    #[test]
    fn nothing_outside_is_touched() {
        let file = memfd_create("memory", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, PAGE).unwrap();
        let memory = Mapping::new(file.as_fd(), 0, PAGE, false).unwrap();
        let mut eight = [0; 8];
        assert!(memory.read(4088, &mut eight) && !memory.read(4089, &mut eight));
        assert!(!memory.read(usize::MAX, &mut eight));
        // Mapped for reading.
        assert!(!memory.write(0, &eight));
        // Not all in the file, not aligned, nothing at all.
        for (offset, len) in [(0, PAGE + 1), (PAGE, PAGE), (8, 8), (0, 0), (u64::MAX, 2)] {
            let mapping = Mapping::new(file.as_fd(), offset, len, true);
            assert!(mapping.is_err(), "{offset} {len}");
        }
    }
}
