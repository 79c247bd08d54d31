// SPDX-License-Identifier: Apache-2.0
//! The controller's registers in BAR 0: reset, capabilities, ready handshake, shutdown.
//!
//! Section numbers are of *NVM Express Base 2.0c*.

use std::time::Duration;

use forebay_spec::nvme::regs::{self, Aqa, Cap, Cc, Csts, Shutdown, ShutdownStatus};
use serde::Serialize;

use crate::bus::{Bus, DmaBuffer, PciAddress};
use crate::discover::Function;
use crate::error::{Error, answered};
use crate::poll;

/// Unit of CAP.TO (3.1.3.1).
const TIMEOUT_UNIT: Duration = Duration::from_millis(500);
/// Bytes of the memory page that the driver, the streamer's buffer and its PRP lists use.
pub const PAGE_BYTES: u64 = 4096;

/// What the capability registers say, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Version, major.
    pub version_major: u16,
    /// Version, minor.
    pub version_minor: u8,
    /// Most entries of an I/O queue, 2–65536 (CAP.MQES + 1).
    pub queue_entries: u32,
    /// Bytes between two doorbells (CAP.DSTRD).
    pub doorbell_stride: u32,
    /// The drive's own bound for becoming ready or not ready (CAP.TO).
    pub ready_limit: Duration,
    /// Largest memory page, bytes (CAP.MPSMAX); the least is 4096.
    pub page_most: u64,
}

/// Handle of a controller. It holds no state of the device but the doorbell stride.
#[derive(Clone, Debug)]
pub struct Controller {
    device: PciAddress,
    bar_bytes: u64,
    stride: u8,
}

impl Controller {
    /// A handle of this function, whose BAR 0 must hold the registers.
    ///
    /// # Errors
    /// Where BAR 0 is missing or too small.
    pub fn new(function: &Function) -> Result<Self, Error> {
        let bar_bytes = function.bar(0).map_or(0, |bar| bar.size);
        // PCIe Transport 1.0c 2.1.10: registers and at least the admin doorbells.
        if bar_bytes < regs::DOORBELLS + 8 {
            return Err(Error::Refused {
                field: "the size of BAR 0",
                value: format!("{bar_bytes:#x} bytes"),
                limit: "an NVMe controller's registers and doorbells need more than 0x1000".into(),
                remedy: "the firmware assigned no memory: scan the bus again, or check the slot",
            });
        }
        Ok(Self {
            device: function.address,
            bar_bytes,
            stride: 0,
        })
    }

    /// Where the controller stands.
    pub const fn device(&self) -> PciAddress {
        self.device
    }

    /// Offset of a queue's submission doorbell in BAR 0.
    pub const fn sq_doorbell(&self, queue: u16) -> u64 {
        regs::sq_doorbell(queue, self.stride)
    }

    /// Offset of a queue's completion doorbell in BAR 0.
    pub const fn cq_doorbell(&self, queue: u16) -> u64 {
        regs::cq_doorbell(queue, self.stride)
    }

    /// Checks that a queue's doorbells lie in BAR 0.
    ///
    /// # Errors
    /// Where they do not: such a stride or queue number is absurd.
    pub fn check_doorbells(&self, queue: u16) -> Result<(), Error> {
        let end = self.cq_doorbell(queue) + 4;
        if end <= self.bar_bytes {
            return Ok(());
        }
        Err(Error::Refused {
            field: "the doorbell stride (CAP.DSTRD)",
            value: format!(
                "{} (doorbells every {} bytes)",
                self.stride,
                4u64 << self.stride
            ),
            limit: format!(
                "queue {queue}'s doorbells then end at {end:#x}, past the {:#x} bytes of BAR 0",
                self.bar_bytes
            ),
            remedy: "use a lower queue number; if it is 1 already, the drive is faulty",
        })
    }

    /// Reads CSTS; all ones mean that the device has gone.
    ///
    /// # Errors
    /// Where the device has gone or the bus fails.
    pub fn status(&self, bus: &mut dyn Bus, during: &'static str) -> Result<Csts, Error> {
        let bits = bus.bar_read32(self.device, 0, regs::CSTS)?;
        answered(self.device, bits, during).map(Csts::from_bits)
    }

    /// As [`Controller::status`], and a fatal status is an error, too.
    ///
    /// # Errors
    /// Where the controller reports a fatal status, has gone, or the bus fails.
    pub fn healthy(&self, bus: &mut dyn Bus, during: &'static str) -> Result<Csts, Error> {
        let status = self.status(bus, during)?;
        if status.fatal {
            Err(Error::Fatal { during })
        } else {
            Ok(status)
        }
    }

    /// Clears CC.EN and waits until the controller is not ready (3.7.2, controller reset).
    ///
    /// One that is still starting is given time to become ready first: to clear CC.EN while
    /// CSTS.RDY is 0 has undefined results (3.1.3.5). Returns whether it was enabled before.
    ///
    /// # Errors
    /// Where it does not become ready, or then not ready, each within its own time-out (at most
    /// `most`), or has gone.
    pub fn disable(&self, bus: &mut dyn Bus, most: Duration) -> Result<bool, Error> {
        const DURING: &str = "while it was being disabled";
        let limit = self.own_limit(bus, most)?;
        let enabled = self.config(bus, DURING)?.enable;
        if enabled {
            // A fatal status is no obstacle here: a reset is what clears it (9.5). And what has
            // been shut down was ready before.
            let started = poll::wait(bus, limit, |bus| {
                let status = self.status(bus, DURING)?;
                let over = status.fatal || status.shutdown != ShutdownStatus::Normal;
                Ok((status.ready || over).then_some(()))
            })?;
            started.ok_or(Error::Timeout {
                what: "the start of a controller that was left enabled (CSTS.RDY = 1)",
                limit,
                seen: "CC.EN is 1, CSTS.RDY and CSTS.CFS stay 0, and a reset then has undefined \
                       results"
                    .into(),
                remedy: "reset the PCI function (echo 1 > /sys/bus/pci/devices/ADDRESS/reset) or \
                         switch the drive's power off and on; if it stays so, the drive is faulty",
            })?;
            self.clear_enable(bus)?;
        }
        let done = poll::wait(bus, limit, |bus| {
            Ok((!self.status(bus, DURING)?.ready).then_some(()))
        })?;
        done.map(|()| enabled).ok_or(Error::Timeout {
            what: "the controller's reset (CSTS.RDY = 0)",
            limit,
            seen: "it stays ready".into(),
            remedy: "switch the drive's power off and on; if it stays so, the drive is faulty",
        })
    }

    /// Clears CC.EN at once. Only for a controller that has been ready since it was enabled.
    pub(crate) fn clear_enable(&self, bus: &mut dyn Bus) -> Result<(), Error> {
        let mut config = self.config(bus, "when CC.EN was to be cleared")?;
        config.enable = false;
        config.shutdown = Shutdown::None;
        Ok(bus.bar_write32(self.device, 0, regs::CC, config.bits())?)
    }

    /// Reads CC; all ones mean that the device has gone.
    fn config(&self, bus: &mut dyn Bus, during: &'static str) -> Result<Cc, Error> {
        let bits = bus.bar_read32(self.device, 0, regs::CC)?;
        answered(self.device, bits, during).map(Cc::from_bits)
    }

    /// Reads and checks CAP and VS.
    ///
    /// # Errors
    /// Where the controller cannot do what the driver needs.
    pub fn capabilities(&mut self, bus: &mut dyn Bus) -> Result<Capabilities, Error> {
        let bits = bus.bar_read64(self.device, 0, regs::CAP)?;
        let bits = answered(self.device, bits, "when CAP was read")?;
        let cap = Cap::from_bits(bits);
        let refuse = |field, value: String, limit: &str, remedy| {
            Err(Error::Refused {
                field,
                value,
                limit: limit.into(),
                remedy,
            })
        };
        if cap.max_queue_entries < 2 {
            return refuse(
                "the greatest queue size (CAP.MQES + 1)",
                cap.max_queue_entries.to_string(),
                "a queue has at least 2 entries",
                "the drive is faulty, or its BAR is mapped to the wrong place",
            );
        }
        if !cap.nvm_command_set {
            return refuse(
                "the command sets (CAP.CSS)",
                format!("{:#04x}", bits >> 37 & 0xff),
                "the NVM command set (bit 0) is needed for reading and writing blocks",
                "use a drive with the NVM command set: this one may be key-value only",
            );
        }
        if cap.page_min != 0 || cap.page_max < cap.page_min {
            return refuse(
                "the memory page range (CAP.MPSMIN to CAP.MPSMAX)",
                format!(
                    "{} to {} bytes",
                    page_bytes(cap.page_min),
                    page_bytes(cap.page_max)
                ),
                "pages of the buffer and its PRP lists have 4096 bytes",
                "use a drive that supports pages of 4096 bytes, as all for PCs do",
            );
        }
        self.stride = cap.doorbell_stride;
        self.check_doorbells(0)?;
        let version = bus.bar_read32(self.device, 0, regs::VS)?;
        Ok(Capabilities {
            version_major: (version >> 16) as u16,
            version_minor: (version >> 8) as u8,
            queue_entries: cap.max_queue_entries,
            doorbell_stride: 4 << cap.doorbell_stride,
            ready_limit: ready_limit(cap),
            page_most: page_bytes(cap.page_max),
        })
    }

    /// Gives the admin queues and sets CC.EN, then waits until the controller is ready (3.5.1).
    ///
    /// # Errors
    /// Where it does not become ready within its own time-out (at most `most`), reports a fatal
    /// status, or has gone.
    pub fn enable(
        &self,
        bus: &mut dyn Bus,
        sq: &DmaBuffer,
        cq: &DmaBuffer,
        entries: u16,
        most: Duration,
    ) -> Result<(), Error> {
        const DURING: &str = "while it was being enabled";
        let attributes = Aqa {
            sq_entries: entries,
            cq_entries: entries,
        };
        bus.bar_write32(self.device, 0, regs::AQA, attributes.bits())?;
        bus.bar_write64(self.device, 0, regs::ASQ, sq.address)?;
        bus.bar_write64(self.device, 0, regs::ACQ, cq.address)?;
        let config = Cc {
            enable: true,
            sqe_shift: 6,
            cqe_shift: 4,
            ..Cc::default()
        };
        bus.bar_write32(self.device, 0, regs::CC, config.bits())?;
        let limit = self.own_limit(bus, most)?;
        let done = poll::wait(bus, limit, |bus| {
            Ok(self.healthy(bus, DURING)?.ready.then_some(()))
        })?;
        done.ok_or(Error::Timeout {
            what: "the controller's start (CSTS.RDY = 1)",
            limit,
            seen: "it stays not ready".into(),
            remedy: "check that bus mastering is on; switch the drive's power off and on",
        })
    }

    /// Announces a normal shutdown and waits until it is complete (3.6.1).
    ///
    /// # Errors
    /// Where it is not complete within `limit`, the status is fatal, or the device has gone.
    pub fn shut_down(&self, bus: &mut dyn Bus, limit: Duration) -> Result<(), Error> {
        const DURING: &str = "while it was shutting down";
        let mut config = self.config(bus, DURING)?;
        config.shutdown = Shutdown::Normal;
        bus.bar_write32(self.device, 0, regs::CC, config.bits())?;
        let done = poll::wait(bus, limit, |bus| {
            let status = self.healthy(bus, DURING)?;
            Ok((status.shutdown == ShutdownStatus::Complete).then_some(()))
        })?;
        done.ok_or(Error::Timeout {
            what: "the controller's shutdown (CSTS.SHST = complete)",
            limit,
            seen: "it is not complete".into(),
            remedy: "do not switch power off yet: caches may not be saved; wait and try again",
        })
    }

    /// CAP.TO, but at most `most`.
    fn own_limit(&self, bus: &mut dyn Bus, most: Duration) -> Result<Duration, Error> {
        let cap = Cap::from_bits(bus.bar_read64(self.device, 0, regs::CAP)?);
        Ok(ready_limit(cap).min(most))
    }
}

/// CAP.TO as a time. Some drives state 0, which can only mean "at once": give them one unit.
fn ready_limit(cap: Cap) -> Duration {
    TIMEOUT_UNIT * u32::from(cap.timeout.max(1))
}

const fn page_bytes(power: u8) -> u64 {
    PAGE_BYTES << (power & 15)
}
