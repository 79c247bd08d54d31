// SPDX-License-Identifier: Apache-2.0
//! The driver's bus: the given devices, and nothing else of the machine.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use forebay_driver::{Bus, BusError, BusResult, DmaBuffer, PciAddress};
use forebay_spec::pci::{command, offset};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use crate::bind::Bound;
use crate::container::{Container, Device, Part};
use crate::error::{Error, Result};
use crate::iova::Space;
use crate::kernel::{HUGE_BYTES, Region};
use crate::sysfs::Sysfs;
use crate::unguarded;

const HUGE: u64 = HUGE_BYTES as u64;
/// BARs of a function.
const BARS: u8 = 6;
/// A wait looks at full speed at first, with a rest of `REST_LEAST` after each `SPINS` looks. Once this
/// part of it is longer than that, it rests so long between two looks, `REST_MOST` at most.
const REST_SHARE: u32 = 16;
const REST_LEAST: Duration = Duration::from_micros(50);
const REST_MOST: Duration = Duration::from_millis(1);
const SPINS: u32 = 2_000;

/// What is opened, and how.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The drive, the card: all that the driver is to see.
    pub devices: Vec<PciAddress>,
    /// Take memory for devices from the huge pages that the system has reserved.
    pub huge_pages: bool,
    /// Go on where no IOMMU guards memory from the devices: they then can write to all of it.
    /// Memory for devices is of huge pages, none greater than one of these.
    pub no_iommu: bool,
    /// Set from elsewhere to stop; the driver then ends with
    /// [`BusError::Interrupted`], and dropping the bus gives the devices back.
    pub stop: Arc<AtomicBool>,
}

/// Devices of this machine as the driver's [`Bus`].
///
/// Dropped, it silences and resets the devices, and gives them back to their former drivers.
#[derive(Debug)]
pub struct VfioBus {
    // In this order: mappings go before the container, the container before the binding.
    memory: BTreeMap<u64, Region>,
    functions: Vec<Function>,
    container: Container,
    _bound: Vec<Bound>,
    space: Space,
    settings: Settings,
    page: u64,
    origin: Instant,
    spins: u32,
    /// What ends a rest, and how often it has.
    interrupt: Option<Interrupt>,
    interrupts: u64,
}

#[derive(Debug)]
struct Function {
    address: PciAddress,
    config: Part,
    bars: [Option<Window>; BARS as usize],
    /// Signalled when the kernel wants the device back.
    request: OwnedFd,
    device: Device,
}

/// A BAR: mapped into this program, or reached call by call where the kernel does not allow that.
#[derive(Debug)]
struct Window {
    part: Part,
    region: Option<Region>,
    /// Where the other devices reach it.
    iova: Option<u64>,
}

/// An MSI-X vector of a device.
#[derive(Debug)]
pub struct Interrupt {
    event: OwnedFd,
}

impl Interrupt {
    /// Waits for it; returns how often it was raised since the last call, 0 where it does not come in
    /// time.
    pub fn wait(&self, limit: Duration) -> io::Result<u64> {
        let mut events = [PollFd::new(&self.event, PollFlags::IN)];
        if !within(limit, |left| poll(&mut events, Some(left)))? {
            return Ok(0);
        }
        let mut count = [0; 8];
        rustix::io::retry_on_intr(|| rustix::io::read(&self.event, &mut count))?;
        Ok(u64::from_ne_bytes(count))
    }
}

/// Polls, again where a signal ends it early, for `limit` in all; false where nothing came.
fn within(
    limit: Duration,
    mut poll: impl FnMut(&Timespec) -> rustix::io::Result<usize>,
) -> io::Result<bool> {
    let start = Instant::now();
    loop {
        let left = limit.saturating_sub(start.elapsed());
        match poll(&Timespec::try_from(left).map_err(io::Error::other)?) {
            Err(Errno::INTR) if !left.is_zero() => {}
            Err(Errno::INTR) => return Ok(false),
            count => return Ok(count? != 0),
        }
    }
}

impl VfioBus {
    /// Takes the devices from their drivers and puts all into one address space.
    ///
    /// # Errors
    /// Where one is in use or VFIO refuses it. Then all are back where they were.
    pub fn open(sysfs: &Sysfs, settings: Settings) -> Result<Self> {
        if settings.no_iommu {
            unguarded::check_kernel(sysfs)?;
        }
        let mut bound = Vec::new();
        for device in &settings.devices {
            bound.push(Bound::take(sysfs, *device)?);
        }
        let mut container = Container::new(sysfs, !settings.no_iommu)?;
        let mut functions = Vec::new();
        for address in &settings.devices {
            functions.push(Function::open(container.add(sysfs, *address)?, *address)?);
        }
        let ranges = match settings.no_iommu {
            true => Vec::new(),
            false => container.iova_ranges()?,
        };
        let space = Space::new(&ranges);
        let mut bus = Self {
            memory: BTreeMap::new(),
            functions,
            container,
            _bound: bound,
            space,
            settings,
            page: rustix::param::page_size() as u64,
            origin: Instant::now(),
            spins: 0,
            interrupt: None,
            interrupts: 0,
        };
        bus.map_bars(sysfs)?;
        Ok(bus)
    }

    /// Whether to go on: the user does not want to stop, and the kernel no device back. Waiting
    /// finds that out by itself; who never waits asks from time to time.
    pub fn check(&self) -> BusResult<()> {
        if self.settings.stop.load(Ordering::Relaxed) {
            return Err(BusError::Interrupted);
        }
        let wanted = self.functions.iter().find(|function| function.is_wanted());
        wanted.map_or(Ok(()), |function| {
            let what = format!("the kernel wants {} back", function.address);
            let why = "it is being removed, or another driver is to have it: close it";
            Err(carrier(what)(io::Error::other(why)))
        })
    }

    /// Lets every device reach the BARs of the others. One that cannot be mapped is an error only
    /// when it is asked for.
    fn map_bars(&mut self, sysfs: &Sysfs) -> Result<()> {
        for function in &mut self.functions {
            // The kernel maps registers only while the function answers.
            function.enable()?;
            if self.settings.no_iommu {
                for bar in sysfs.function(function.address)?.bars {
                    if let Some(Some(window)) = function.bars.get_mut(usize::from(bar.index)) {
                        window.iova = Some(bar.address);
                    }
                }
                continue;
            }
            for window in function.bars.iter_mut().flatten() {
                let Some(region) = &window.region else {
                    continue;
                };
                let bytes = region.len() as u64;
                if let Some(iova) = self.space.take(bytes, bytes.next_power_of_two()) {
                    if self.container.map(region, iova).is_ok() {
                        window.iova = Some(iova);
                    } else {
                        self.space.free(iova);
                    }
                }
            }
        }
        Ok(())
    }

    /// Opens the first `count` MSI-X vectors of a device; 0 closes all.
    ///
    /// # Errors
    /// Where the device has fewer, or VFIO refuses.
    pub fn interrupts_of(&mut self, device: PciAddress, count: u32) -> Result<Vec<Interrupt>> {
        let function = self.function_of(device)?;
        let most = function.device.vectors()?;
        if count > most {
            return Err(Error::Refused {
                field: format!("the number of MSI-X vectors of {device}"),
                value: most.to_string(),
                limit: "more were asked for",
                remedy: "ask for fewer, or poll",
            });
        }
        let events = (0..count).map(|_| event()).collect::<Result<Vec<_>>>()?;
        function.device.set_vectors(&events)?;
        Ok(events
            .into_iter()
            .map(|event| Interrupt { event })
            .collect())
    }

    /// Lets the first vector of a device end a rest, and counts it. A device without any is polled as
    /// before.
    ///
    /// # Errors
    /// As [`VfioBus::interrupts_of`].
    pub fn listen(&mut self, device: PciAddress) -> Result<()> {
        if self.function_of(device)?.device.vectors()? > 0 {
            self.interrupt = self.interrupts_of(device, 1)?.pop();
        }
        Ok(())
    }

    /// Waits for the interrupt that is listened to.
    fn rest(&mut self, limit: Duration) -> io::Result<()> {
        match &self.interrupt {
            Some(interrupt) => self.interrupts += interrupt.wait(limit)?,
            None => thread::sleep(limit),
        }
        Ok(())
    }

    /// Signals a vector as if the device had.
    pub fn trigger(&mut self, device: PciAddress, vector: u32) -> Result<()> {
        self.function_of(device)?.device.trigger(vector)
    }

    fn function_of(&self, device: PciAddress) -> Result<&Function> {
        let found = self.functions.iter().find(|known| known.address == device);
        found.ok_or_else(|| Error::Refused {
            field: "the device".into(),
            value: device.to_string(),
            limit: "it was not opened",
            remedy: "name it when the bus is opened",
        })
    }

    fn function(&self, device: PciAddress) -> BusResult<&Function> {
        let found = self.functions.iter().find(|known| known.address == device);
        found.ok_or(BusError::NoDevice { device })
    }

    fn window(&self, device: PciAddress, bar: u8) -> BusResult<&Window> {
        let windows = &self.function(device)?.bars;
        let window = windows.get(usize::from(bar)).and_then(Option::as_ref);
        window.ok_or(BusError::OutsideBar {
            device,
            bar,
            offset: 0,
            size: 0,
        })
    }

    /// Reads a register of `N` bytes.
    fn bar_read<const N: usize>(
        &self,
        device: PciAddress,
        bar: u8,
        offset: u64,
    ) -> BusResult<[u8; N]> {
        let window = self.window(device, bar)?;
        window.check(device, bar, offset, N)?;
        let mut bytes = [0; N];
        match (&window.region, N) {
            (Some(region), 4) => region
                .read::<u32>(offset)
                .map(|value| bytes.copy_from_slice(&value.to_le_bytes())),
            (Some(region), _) => region
                .read::<u64>(offset)
                .map(|value| bytes.copy_from_slice(&value.to_le_bytes())),
            (None, _) => {
                let file = self.function(device)?.device.file();
                file.read_exact_at(&mut bytes, window.part.offset + offset)
            }
        }
        .map_err(carrier(format!(
            "reading BAR {bar} of {device} at {offset:#x}"
        )))?;
        Ok(bytes)
    }

    /// Writes a register of `N` bytes.
    fn bar_write<const N: usize>(
        &self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        bytes: [u8; N],
    ) -> BusResult<()> {
        let window = self.window(device, bar)?;
        window.check(device, bar, offset, N)?;
        match (&window.region, bytes.first_chunk(), bytes.first_chunk()) {
            (Some(region), _, Some(word)) => region.write(offset, u64::from_le_bytes(*word)),
            (Some(region), Some(word), None) => region.write(offset, u32::from_le_bytes(*word)),
            _ => {
                let file = self.function(device)?.device.file();
                file.write_all_at(&bytes, window.part.offset + offset)
            }
        }
        .map_err(carrier(format!(
            "writing BAR {bar} of {device} at {offset:#x}"
        )))
    }

    /// A huge page for itself: only within one are physical addresses in a row.
    fn alloc_physical(&mut self, len: usize, align: usize) -> BusResult<DmaBuffer> {
        if len as u64 > HUGE || align as u64 > HUGE {
            return Err(BusError::OutOfMemory {
                len,
                align,
                free: HUGE as usize,
            });
        }
        let region = Region::anonymous(HUGE as usize, true).and_then(|region| {
            let address = unguarded::physical(&region, self.page)?;
            Ok((address, region))
        });
        let (address, region) = region.map_err(carrier(
            "a huge page for devices; reserve some (vm.nr_hugepages)",
        ))?;
        self.memory.insert(address, region);
        Ok(DmaBuffer { address, len })
    }

    fn buffer(&self, buffer: &DmaBuffer) -> BusResult<&Region> {
        self.memory
            .get(&buffer.address)
            .ok_or_else(|| BusError::OutsideBuffer {
                address: buffer.address,
                len: 0,
                offset: 0,
                end: buffer.len,
            })
    }
}

impl Function {
    fn open(device: Device, address: PciAddress) -> Result<Self> {
        let config = device.config()?;
        let mut bars = [const { None }; BARS as usize];
        for (index, slot) in bars.iter_mut().enumerate() {
            let part = device.bar(index as u8)?;
            if part.size != 0 {
                let len = usize::try_from(part.size).unwrap_or(usize::MAX);
                let region = part
                    .mappable
                    .then(|| Region::of_device(&device, part.offset, len).ok())
                    .flatten();
                *slot = Some(Window {
                    part,
                    region,
                    iova: None,
                });
            }
        }
        let request = event()?;
        device.set_request(&request)?;
        Ok(Self {
            address,
            config,
            bars,
            request,
            device,
        })
    }

    fn config_read(&self, at: u16) -> io::Result<u32> {
        let mut bytes = [0; 4];
        if u64::from(at) + 4 > self.config.size {
            return Ok(u32::MAX);
        }
        let file = self.device.file();
        file.read_exact_at(&mut bytes, self.config.offset + u64::from(at))?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn config_write(&self, at: u16, value: u32) -> io::Result<()> {
        if u64::from(at) + 4 > self.config.size {
            return Ok(());
        }
        let file = self.device.file();
        file.write_all_at(&value.to_le_bytes(), self.config.offset + u64::from(at))
    }

    /// Sets and clears bits of the command register; zeros leave the status beside it alone.
    fn command(&self, set: u16, clear: u16) -> io::Result<()> {
        let old = self.config_read(offset::COMMAND)? as u16;
        self.config_write(offset::COMMAND, u32::from((old | set) & !clear))
    }

    /// Whether the kernel wants it back. It stays so: the event is never taken.
    fn is_wanted(&self) -> bool {
        let mut events = [PollFd::new(&self.request, PollFlags::IN)];
        poll(&mut events, Some(&Timespec::default())).is_ok_and(|count| count != 0)
    }

    /// Answers accesses, but sends none yet.
    fn enable(&self) -> Result<()> {
        self.command(command::MEMORY_SPACE, command::BUS_MASTER)
            .map_err(Error::vfio(
                format!("configuration space of {}", self.address),
                "the device may have been removed: look at dmesg",
            ))
    }
}

impl Window {
    fn check(&self, device: PciAddress, bar: u8, offset: u64, bytes: usize) -> BusResult<()> {
        let size = self.part.size;
        match offset.checked_add(bytes as u64) {
            Some(end) if end <= size => Ok(()),
            _ => Err(BusError::OutsideBar {
                device,
                bar,
                offset,
                size,
            }),
        }
    }
}

impl Bus for VfioBus {
    fn devices(&mut self) -> BusResult<Vec<PciAddress>> {
        Ok(self.settings.devices.clone())
    }

    fn config_read32(&mut self, device: PciAddress, offset: u16) -> BusResult<u32> {
        match self.functions.iter().find(|known| known.address == device) {
            Some(function) => function
                .config_read(offset)
                .map_err(carrier(format!("configuration space of {device}"))),
            None => Ok(u32::MAX),
        }
    }

    fn config_write32(&mut self, device: PciAddress, offset: u16, value: u32) -> BusResult<()> {
        self.function(device)?
            .config_write(offset, value)
            .map_err(carrier(format!("configuration space of {device}")))
    }

    fn bar_read32(&mut self, device: PciAddress, bar: u8, offset: u64) -> BusResult<u32> {
        self.bar_read(device, bar, offset).map(u32::from_le_bytes)
    }

    fn bar_read64(&mut self, device: PciAddress, bar: u8, offset: u64) -> BusResult<u64> {
        self.bar_read(device, bar, offset).map(u64::from_le_bytes)
    }

    fn bar_write32(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        value: u32,
    ) -> BusResult<()> {
        self.bar_write(device, bar, offset, value.to_le_bytes())
    }

    fn bar_write64(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        value: u64,
    ) -> BusResult<()> {
        self.bar_write(device, bar, offset, value.to_le_bytes())
    }

    fn bar_address(&mut self, device: PciAddress, bar: u8) -> BusResult<u64> {
        let window = self.window(device, bar)?;
        window.iova.ok_or_else(|| {
            let why = io::Error::other("the kernel does not let other devices reach it");
            carrier(format!("BAR {bar} of {device}"))(why)
        })
    }

    fn dma_alloc(&mut self, len: usize, align: usize) -> BusResult<DmaBuffer> {
        if self.settings.no_iommu {
            return self.alloc_physical(len, align);
        }
        let unit = if self.settings.huge_pages {
            HUGE
        } else {
            self.page
        };
        let none = || BusError::OutOfMemory {
            len,
            align,
            free: 0,
        };
        let bytes = (len.max(1) as u64)
            .checked_next_multiple_of(unit)
            .ok_or_else(none)?;
        let align_to = unit.max(align as u64);
        let iova = self.space.take(bytes, align_to).ok_or_else(none)?;
        let mapped = Region::anonymous(bytes as usize, self.settings.huge_pages)
            .and_then(|region| self.container.map(&region, iova).map(|()| region));
        match mapped {
            Ok(region) => {
                self.memory.insert(iova, region);
                Ok(DmaBuffer { address: iova, len })
            }
            Err(error) => {
                self.space.free(iova);
                let hint = match self.settings.huge_pages {
                    true => "; reserve huge pages (vm.nr_hugepages)",
                    false => "; raise the limit of locked memory (ulimit -l)",
                };
                Err(carrier(format!(
                    "{bytes} bytes of memory for devices{hint}"
                ))(error))
            }
        }
    }

    fn dma_free(&mut self, buffer: DmaBuffer) {
        if let Some(region) = self.memory.remove(&buffer.address) {
            // Where the IOMMU keeps its entry, the address must not be used again.
            if !self.settings.no_iommu
                && self
                    .container
                    .unmap(buffer.address, region.len() as u64)
                    .is_ok()
            {
                self.space.free(buffer.address);
            }
        }
    }

    fn dma_read(&mut self, buffer: &DmaBuffer, offset: usize, data: &mut [u8]) -> BusResult<()> {
        buffer.check(offset, data.len())?;
        let region = self.buffer(buffer)?;
        region.load(offset, data).map_err(carrier("reading memory"))
    }

    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, data: &[u8]) -> BusResult<()> {
        buffer.check(offset, data.len())?;
        let region = self.buffer(buffer)?;
        region
            .store(offset, data)
            .map_err(carrier("writing memory"))
    }

    fn now(&mut self) -> Duration {
        self.origin.elapsed()
    }

    fn relax(&mut self, waited: Duration) -> BusResult<()> {
        if self.settings.stop.load(Ordering::Relaxed) {
            return Err(BusError::Interrupted);
        }
        let rest = (waited / REST_SHARE).min(REST_MOST);
        self.spins = self.spins.wrapping_add(1);
        if rest >= REST_LEAST || self.spins.is_multiple_of(SPINS) {
            self.check()?;
            self.rest(rest.max(REST_LEAST))
                .map_err(carrier("waiting for an interrupt"))?;
        } else {
            std::hint::spin_loop();
        }
        Ok(())
    }

    fn interrupts(&mut self) -> BusResult<u64> {
        self.rest(Duration::ZERO)
            .map_err(carrier("looking for an interrupt"))?;
        Ok(self.interrupts)
    }
}

impl Drop for VfioBus {
    fn drop(&mut self) {
        // First the devices stop sending, then the mappings go. A device that has gone answers
        // nothing, and sends nothing either.
        for function in &self.functions {
            let _gone = function.command(0, command::BUS_MASTER);
            let _gone = function.device.reset();
        }
    }
}

fn event() -> Result<OwnedFd> {
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|error| Error::Vfio {
        what: "an event descriptor".into(),
        source: error.into(),
        remedy: "raise the limit of open files: ulimit -n",
    })
}

fn carrier(what: impl Into<String>) -> impl FnOnce(io::Error) -> BusError {
    let what = what.into();
    move |source| BusError::Carrier {
        what,
        source: source.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_does_not_end_the_wait_for_an_interrupt() {
        let mut answers = [Err(Errno::INTR), Err(Errno::INTR), Ok(1)].into_iter();
        let limit = Duration::from_secs(60);
        let came = within(limit, |left| {
            assert!((58..=60).contains(&left.tv_sec), "{left:?}");
            answers.next().expect("asked three times")
        });
        assert!(came.is_ok_and(|came| came) && answers.next().is_none());
        assert!(within(limit, |_| Ok(0)).is_ok_and(|came| !came));
        assert!(within(limit, |_| Err(Errno::BADF)).is_err());
        // Signals without end do not stretch the limit.
        let limit = Duration::from_millis(20);
        let start = Instant::now();
        assert!(within(limit, |_| Err(Errno::INTR)).is_ok_and(|came| !came));
        assert!(start.elapsed() >= limit);
    }
}
