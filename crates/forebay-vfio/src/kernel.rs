// SPDX-License-Identifier: Apache-2.0
//! The only unsafe part: VFIO's calls (Linux, `include/uapi/linux/vfio.h`) and mapped memory.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};

use rustix::ioctl::{self, Ioctl, IoctlOutput, Opcode};
use rustix::mm::{MapFlags, ProtFlags};

/// `_IO(';', 100)`, and the others behind it: their structures state their own sizes.
const FIRST: Opcode = (b';' as Opcode) << 8 | 100;

/// Calls whose argument is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NumberCall {
    GetApiVersion = 0,
    CheckExtension = 1,
    SetIommu = 2,
    DeviceReset = 11,
}

/// A structure that a call takes.
///
/// # Safety
/// It is in C layout what this call takes, of numbers only: no addresses. The first one is a `u32`
/// for its size, which [`call`] writes.
pub unsafe trait Argument {
    /// The call's number.
    const CALL: Opcode;
}

/// Descriptors that one `vfio_irq_set` here has room for.
pub const IRQS_MOST: usize = 64;

/// Structures of `vfio.h`, without what later kernels have added, each with the number of its call.
macro_rules! arguments {
    ($($call:literal: $name:ident { $($field:ident: $kind:ty),* })*) => {$(
        #[derive(Debug)]
        #[repr(C)]
        pub struct $name {
            pub size: u32,
            pub flags: u32,
            $(pub $field: $kind),*
        }
        impl Default for $name {
            fn default() -> Self {
                // SAFETY: numbers only, of which 0 is one.
                unsafe { std::mem::zeroed() }
            }
        }
        // SAFETY: the call of this number takes it: numbers only, in C layout, the size first.
        unsafe impl Argument for $name {
            const CALL: Opcode = $call;
        }
    )*};
}

arguments! {
    // `VFIO_GROUP_GET_STATUS`, `VFIO_DEVICE_GET_INFO`, `_GET_REGION_INFO`, `_GET_IRQ_INFO`
    3: GroupStatus {}
    7: DeviceInfo { regions: u32, irqs: u32 }
    8: RegionInfo { index: u32, capabilities: u32, bytes: u64, offset: u64 }
    9: IrqInfo { index: u32, count: u32 }
    // `VFIO_DEVICE_SET_IRQS`: the kernel refuses a count that the size has no room for, and takes
    // references of its own to what the descriptors stand for.
    10: IrqSet { index: u32, start: u32, count: u32, descriptors: [i32; IRQS_MOST] }
    // `VFIO_IOMMU_GET_INFO`, with its capabilities behind it
    12: IommuInfo { page_sizes: u64, capabilities: u32, pad: u32, behind: [u8; 4096] }
    // `VFIO_IOMMU_UNMAP_DMA`: the size has no room for the bitmap, whose address could follow.
    14: DmaUnmap { iova: u64, bytes: u64 }
}

/// `vfio_iommu_type1_dma_map`.
#[repr(C)]
struct DmaMap {
    size: u32,
    flags: u32,
    address: u64,
    iova: u64,
    bytes: u64,
}

/// A call's number, and what it takes.
struct Raw(Opcode, *mut c_void);

// SAFETY: the opcode is VFIO's; what the pointer must be is up to the callers below.
unsafe impl Ioctl for Raw {
    type Output = c_int;
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        FIRST + self.0
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.1
    }

    unsafe fn output_from_ptr(
        output: IoctlOutput,
        _argument: *mut c_void,
    ) -> rustix::io::Result<c_int> {
        Ok(output)
    }
}

/// A call whose argument is a number.
pub fn call_number(fd: impl AsFd, call: NumberCall, number: u64) -> io::Result<c_int> {
    let raw = Raw(call as Opcode, ptr::without_provenance_mut(number as usize));
    // SAFETY: these calls take a number, and touch no memory of this process.
    Ok(unsafe { ioctl::ioctl(fd, raw) }?)
}

/// A call whose argument is a structure.
pub fn call<T: Argument>(fd: impl AsFd, argument: &mut T) -> io::Result<c_int> {
    let start = ptr::from_mut(argument);
    // SAFETY: by `Argument` it starts with a `u32` for its size.
    unsafe { start.cast::<u32>().write(size_of::<T>() as u32) };
    let raw = Raw(T::CALL, start.cast());
    // SAFETY: the structure is valid for reads and writes and, by `Argument`, what the call takes;
    // the kernel reads and writes no more of it than the size that was just written.
    Ok(unsafe { ioctl::ioctl(fd, raw) }?)
}

/// `VFIO_GROUP_SET_CONTAINER`.
const SET_CONTAINER: Opcode = 4;
/// `VFIO_GROUP_GET_DEVICE_FD`.
const GET_DEVICE: Opcode = 6;
/// `VFIO_IOMMU_MAP_DMA`.
const MAP_DMA: Opcode = 13;

/// Puts a group into a container.
pub fn set_container(group: impl AsFd, container: c_int) -> io::Result<()> {
    let mut container = container;
    let raw = Raw(SET_CONTAINER, ptr::from_mut(&mut container).cast());
    // SAFETY: the argument points to a descriptor's number, as the call wants.
    unsafe { ioctl::ioctl(group, raw) }?;
    Ok(())
}

/// Opens a device of a group, by its address.
pub fn open_device(group: impl AsFd, address: &std::ffi::CStr) -> io::Result<OwnedFd> {
    let raw = Raw(GET_DEVICE, address.as_ptr().cast_mut().cast());
    // SAFETY: the argument is a string that ends with a zero; the kernel only reads it.
    let fd = unsafe { ioctl::ioctl(group, raw) }?;
    // SAFETY: the call returns a new descriptor, which only we own.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Lets devices reach a region, at this address of theirs.
pub fn map_dma(container: impl AsFd, region: &Region, iova: u64) -> io::Result<()> {
    const READ: u32 = 1;
    const WRITE: u32 = 2;
    let mut map = DmaMap {
        size: size_of::<DmaMap>() as u32,
        flags: READ | WRITE,
        address: region.address(),
        iova,
        bytes: region.len as u64,
    };
    let raw = Raw(MAP_DMA, ptr::from_mut(&mut map).cast());
    // SAFETY: the structure is as the call wants it, and names memory that is mapped; the kernel
    // holds the pages as long as devices may reach them, also when this process unmaps them.
    unsafe { ioctl::ioctl(container, raw) }?;
    Ok(())
}

/// Bytes of a huge page.
pub const HUGE_BYTES: usize = 2 << 20;

/// The size is named: the system's default size of huge pages may be another one, 1 GiB say.
fn map_flags(huge: bool) -> MapFlags {
    let mut flags = MapFlags::SHARED | MapFlags::POPULATE;
    flags.set(MapFlags::HUGETLB | MapFlags::HUGE_2MB, huge);
    flags
}

/// What a register holds.
///
/// # Safety
/// Any bits are a value of it, and it has no padding.
pub unsafe trait Register: Copy {}
// SAFETY: a plain number.
unsafe impl Register for u32 {}
// SAFETY: as above.
unsafe impl Register for u64 {}

/// Memory shared with devices, or registers of one; unmapped when dropped.
///
/// Others write to it at any time: it is never borrowed, only read and written with atomics.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the region is owned, and all accesses are atomic.
unsafe impl Send for Region {}

impl Region {
    /// Zeroed memory of whole pages; `huge`: whole huge pages of those that the system has
    /// reserved.
    pub fn anonymous(len: usize, huge: bool) -> io::Result<Self> {
        // The kernel would map more than `len`, and refuse to unmap `len`.
        if huge && !len.is_multiple_of(HUGE_BYTES) {
            return Err(io::Error::other(format!(
                "the length is {len:#x} bytes, but huge pages have {HUGE_BYTES:#x}: ask for whole ones"
            )));
        }
        let flags = map_flags(huge);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses touches nothing of ours.
        let start = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), len, protection, flags) }?;
        Self::at(start, len)
    }

    /// A part of a device.
    pub fn of_device(device: impl AsFd, offset: u64, len: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: as above.
        let start = unsafe {
            rustix::mm::mmap(
                ptr::null_mut(),
                len,
                protection,
                MapFlags::SHARED,
                device,
                offset,
            )
        }?;
        Self::at(start, len)
    }

    fn at(start: *mut c_void, len: usize) -> io::Result<Self> {
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { start, len })
    }

    pub const fn len(&self) -> usize {
        self.len
    }

    /// Where it begins in this program.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// The address of an aligned value inside.
    fn place<T>(&self, offset: u64) -> io::Result<*mut T> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let inside = offset.saturating_add(size_of::<T>()) <= self.len;
        if !inside || !offset.is_multiple_of(size_of::<T>()) {
            return Err(io::Error::other(format!(
                "offset {offset:#x} is outside {:#x} mapped bytes, or not aligned",
                self.len
            )));
        }
        // SAFETY: inside the mapping, as was just checked.
        Ok(unsafe { self.start.as_ptr().add(offset) }.cast())
    }

    /// Reads a register.
    pub fn read<T: Register>(&self, offset: u64) -> io::Result<T> {
        let place = self.place::<T>(offset)?;
        // SAFETY: valid and aligned; one access of this width, which is never left out.
        let value = unsafe { place.read_volatile() };
        // What a device wrote before its register changed is read after it.
        fence(Ordering::Acquire);
        Ok(value)
    }

    /// Writes a register.
    pub fn write<T: Register>(&self, offset: u64, value: T) -> io::Result<()> {
        let place = self.place::<T>(offset)?;
        // Memory written before is there when the device learns of it.
        fence(Ordering::SeqCst);
        // SAFETY: as above.
        unsafe { place.write_volatile(value) };
        Ok(())
    }

    /// Copies bytes out; the caller has checked the range against its buffer.
    pub fn load(&self, offset: usize, data: &mut [u8]) -> io::Result<()> {
        fence(Ordering::Acquire);
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            if at.is_multiple_of(8) && rest.len() >= 8 {
                let place = self.place::<AtomicU64>(at as u64)?;
                let (word, behind) = rest.split_at_mut(8);
                // SAFETY: valid and aligned memory, which is only accessed by atomics.
                let value = unsafe { &*place }.load(Ordering::Relaxed);
                word.copy_from_slice(&value.to_ne_bytes());
                (at, rest) = (at + 8, behind);
            } else {
                let place = self.place::<AtomicU8>(at as u64)?;
                // SAFETY: as above.
                rest[0] = unsafe { &*place }.load(Ordering::Relaxed);
                (at, rest) = (at + 1, &mut rest[1..]);
            }
        }
        fence(Ordering::Acquire);
        Ok(())
    }

    /// Copies bytes in; the caller has checked the range against its buffer.
    pub fn store(&self, offset: usize, data: &[u8]) -> io::Result<()> {
        let mut at = offset;
        let mut rest = data;
        while let Some((first, tail)) = rest.split_first() {
            if at.is_multiple_of(8)
                && let Some((word, behind)) = rest.split_first_chunk::<8>()
            {
                let place = self.place::<AtomicU64>(at as u64)?;
                // SAFETY: valid and aligned memory, which is only accessed by atomics.
                unsafe { &*place }.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
                (at, rest) = (at + 8, behind);
            } else {
                let place = self.place::<AtomicU8>(at as u64)?;
                // SAFETY: as above.
                unsafe { &*place }.store(*first, Ordering::Relaxed);
                (at, rest) = (at + 1, tail);
            }
        }
        fence(Ordering::Release);
        Ok(())
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: this mapping is ours, and nothing borrows from it.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
        if let Err(error) = unmapped {
            // Drop cannot return an error, and the address space is lost to this program.
            eprintln!(
                "unmapping {:#x} bytes at {:#x} failed: {error}; they stay taken until this program \
                 ends: end it, and report this defect",
                self.len,
                self.address()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_keeps_what_is_stored() {
        let region = Region::anonymous(8192, false).expect("memory");
        let data: Vec<u8> = (0..100).collect();
        for offset in [0, 1, 7, 8, 4095, 8092] {
            region.store(offset, &data).expect("inside");
            let mut back = vec![0; 100];
            region.load(offset, &mut back).expect("inside");
            assert_eq!(back, data, "at {offset}");
        }
        assert!(region.store(8093, &data).is_err());
        assert!(region.load(8192, &mut [0]).is_err());
        region.write(4096, 0x1122_3344_u32).expect("inside");
        assert_eq!(region.read::<u32>(4096).ok(), Some(0x1122_3344));
        assert!(region.read::<u32>(4098).is_err(), "not aligned");
        assert!(region.read::<u64>(u64::MAX - 7).is_err());
    }

    #[test]
    fn the_kernel_is_told_the_true_size_of_a_structure() {
        fn size_told<T: Argument>(mut argument: T, size: impl Fn(&T) -> u32) -> u32 {
            let null = std::fs::File::open("/dev/null").expect("opens");
            assert!(call(null, &mut argument).is_err(), "is no VFIO");
            size(&argument)
        }
        let region = RegionInfo {
            size: 4096,
            ..RegionInfo::default()
        };
        assert_eq!(size_told(region, |it| it.size), 32);
        assert_eq!(size_told(GroupStatus::default(), |it| it.size), 8);
        assert_eq!(size_told(DmaUnmap::default(), |it| it.size), 24);
    }

    #[test]
    fn huge_pages_have_2_mib_whatever_the_default() {
        // `MAP_HUGETLB` and `MAP_HUGE_2MB` (Linux, include/uapi/linux/mman.h): log2 of the size in
        // bits 31:26.
        let bits = |huge| map_flags(huge).bits();
        assert_eq!(bits(true), bits(false) | 0x40000 | 21 << 26);
        assert_eq!(bits(false) & (0x40000 | 63 << 26), 0);
        let error = Region::anonymous(HUGE_BYTES + 4096, true).expect_err("not whole");
        assert!(error.to_string().contains("0x201000"), "{error}");
        // Few systems have reserved huge pages.
        match Region::anonymous(HUGE_BYTES, true) {
            Ok(region) => assert!(region.store(HUGE_BYTES - 1, &[1]).is_ok()),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::OutOfMemory, "{error}"),
        }
    }

    /// In a process of its own, whose messages can be read.
    #[test]
    fn memory_that_cannot_be_unmapped_is_told() {
        const CHILD: &str = "FOREBAY_TEST_UNMAP";
        if std::env::var_os(CHILD).is_some() {
            let start = NonNull::without_provenance(std::num::NonZeroUsize::MIN);
            drop(Region { start, len: 4096 });
            return;
        }
        let this = std::env::current_exe().expect("a program");
        let name = "kernel::tests::memory_that_cannot_be_unmapped_is_told";
        let mut child = std::process::Command::new(this);
        let child = child.args(["--exact", name, "--nocapture"]).env(CHILD, "1");
        let output = child.output().expect("runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("0x1000 bytes at 0x1 failed"), "{text}");
    }

    #[test]
    fn structures_have_the_sizes_of_the_header() {
        assert_eq!(size_of::<RegionInfo>(), 32);
        assert_eq!(size_of::<DmaMap>(), 32);
        assert_eq!(size_of::<DmaUnmap>(), 24);
        assert_eq!(size_of::<IrqInfo>(), 16);
        assert_eq!(size_of::<IrqSet>(), 20 + 4 * IRQS_MOST);
        assert_eq!(FIRST, 0x3b64);
    }
}
