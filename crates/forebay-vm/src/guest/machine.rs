// SPDX-License-Identifier: Apache-2.0
//! The machine around the guest, as QEMU's command line.

use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::error::{Error, Result};

/// Least memory with which kernel and tools start.
pub const MEMORY_LEAST: u64 = 384 << 20;
/// A reply of a device that comes later than that, in milliseconds, ends the device: the RTL may
/// take its time.
const REPLY_LIMIT: u32 = 600_000;
/// Slots on the root bus for devices, from 1: a root port each.
const DEVICES_MOST: usize = 24;
/// Errors that the block layer injects.
const EIO: u32 = 5;
/// Greatest transfer of QEMU's controller: MDTS is a power of two of 4 KiB pages.
const TRANSFERS: std::ops::RangeInclusive<u64> = 8 << 10..=1 << 30;

/// Whether an IOMMU stands between devices and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Iommu {
    /// There is none.
    #[default]
    Off,
    /// There is one, and the kernel lets its own drivers pass through.
    PassThrough,
    /// There is one, and every address is translated.
    Translate,
}

/// More would not fit below 4 GiB beside everything else.
const CMB_MOST: u64 = 64 << 20;

/// What a machine has.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Bytes of memory.
    pub memory: u64,
    /// The IOMMU.
    pub iommu: Iommu,
    /// QEMU's own NVMe controllers, from 0000:01:00.0 on.
    pub ssds: Vec<Ssd>,
    /// Sockets of vfio-user servers, each a device, behind the SSDs.
    pub devices: Vec<PathBuf>,
    /// Where QEMU is to listen to its own protocol (QMP), to remove a device for example.
    pub qmp: Option<PathBuf>,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            memory: 1 << 30,
            iommu: Iommu::Off,
            ssds: Vec::new(),
            devices: Vec::new(),
            qmp: None,
        }
    }
}

/// An NVMe controller of QEMU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ssd {
    /// Serial number; none: `FB` and its place.
    pub serial: Option<String>,
    /// Greatest transfer in bytes; none: 512 KiB; 0: no limit.
    pub transfer: Option<u64>,
    /// I/O queue pairs; none: 64.
    pub queues: Option<u16>,
    /// Memory of its own in BAR 2 (CMB), in whole MiB, which other devices reach; none: 0.
    pub memory: u64,
    /// Its namespaces, from 1 on.
    pub namespaces: Vec<Namespace>,
}

/// A namespace and what keeps its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// A raw image.
    pub image: PathBuf,
    /// Bytes of the image to create where there is none.
    pub size: Option<u64>,
    /// Bytes of a logical block.
    pub block: u32,
    /// Errors of the medium.
    pub errors: Vec<Inject>,
}

/// An error of the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inject {
    /// On which access.
    pub access: Access,
    /// To which logical block.
    pub lba: u64,
    /// The first time only.
    pub once: bool,
}

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A read.
    Read,
    /// A write.
    Write,
}

impl Machine {
    /// Adds the machine to QEMU's command line.
    ///
    /// # Errors
    /// Where an image or a socket is missing, or a value is none that QEMU takes.
    pub(crate) fn arguments(&self, qemu: &mut Command) -> Result<()> {
        self.check()?;
        let memory = self.memory;
        // Shared, so that vfio-user servers can map it.
        qemu.args(["-machine", "q35,memory-backend=m0"])
            .args(["-accel", "tcg", "-cpu", "max", "-m"])
            .arg(format!("{}M", memory >> 20))
            .arg("-object")
            .arg(format!("memory-backend-memfd,id=m0,size={memory},share=on"))
            .args(["-nodefaults", "-display", "none", "-no-reboot"])
            .args(["-run-with", "exit-with-parent=on"]);
        match self.iommu {
            Iommu::Off => {}
            Iommu::PassThrough => {
                qemu.args(["-device", "intel-iommu,intremap=off,caching-mode=on"]);
            }
            Iommu::Translate => {
                qemu.args(["-device", "intel-iommu,intremap=on,caching-mode=on"]);
            }
        }
        for (number, ssd) in self.ssds.iter().enumerate() {
            let port = root_port(qemu, number);
            ssd.arguments(number, &port, qemu)?;
        }
        for (number, socket) in self.devices.iter().enumerate() {
            let port = root_port(qemu, self.ssds.len() + number);
            let id = format!("device{number}");
            device(qemu, &vfio_user(&id, &port, socket)?);
        }
        if let Some(socket) = &self.qmp {
            qemu.arg("-qmp")
                .arg(format!("unix:{},server=on,wait=off", escaped(socket)?));
        }
        Ok(())
    }

    /// What the kernel's command line says about the machine.
    pub(crate) const fn kernel_arguments(&self) -> &'static str {
        match self.iommu {
            Iommu::Off => "intel_iommu=off",
            Iommu::PassThrough => {
                // Without interrupt remapping VFIO wants to be told that this is known.
                "intel_iommu=on iommu=pt vfio_iommu_type1.allow_unsafe_interrupts=1"
            }
            Iommu::Translate => "intel_iommu=on",
        }
    }

    fn check(&self) -> Result<()> {
        if self.memory < MEMORY_LEAST || !self.memory.is_multiple_of(1 << 20) {
            return Err(Error::Setting {
                field: "the guest's memory",
                value: format!("{} bytes", self.memory),
                limit: format!("{} MiB and more, in whole MiB, work", MEMORY_LEAST >> 20),
                remedy: "choose another value with --memory",
            });
        }
        let devices = self.ssds.len() + self.devices.len();
        if devices > DEVICES_MOST {
            return Err(Error::Setting {
                field: "the number of devices",
                value: devices.to_string(),
                limit: format!("there are {DEVICES_MOST} slots"),
                remedy: "leave some out",
            });
        }
        for socket in &self.devices {
            let about =
                fs::metadata(socket).map_err(Error::io("looking for the socket", socket))?;
            if !about.file_type().is_socket() {
                return Err(Error::Setting {
                    field: "--device",
                    value: socket.display().to_string(),
                    limit: "it must be the socket of a running vfio-user server".into(),
                    remedy: "start the server first",
                });
            }
        }
        Ok(())
    }
}

impl Ssd {
    /// Adds the controller, the one of this number, to the command line, on the bus `port`.
    pub(crate) fn arguments(&self, number: usize, port: &str, qemu: &mut Command) -> Result<()> {
        let id = format!("ssd{number}");
        let serial = self.serial.clone().unwrap_or(format!("FB{number:04}"));
        let mut controller = json!({"driver": "nvme", "id": id, "bus": port, "serial": serial});
        match self.transfer {
            None => {}
            Some(0) => controller["mdts"] = json!(0),
            Some(bytes) if bytes.is_power_of_two() && TRANSFERS.contains(&bytes) => {
                controller["mdts"] = json!((bytes >> 12).ilog2());
            }
            Some(bytes) => {
                return Err(Error::Setting {
                    field: "the greatest transfer (mdts)",
                    value: format!("{bytes} bytes"),
                    limit: "MDTS can say 8 KiB, 16 KiB, … (4 KiB would be 0, which is: no limit)"
                        .into(),
                    remedy: "choose a power of two from 8KiB to 1GiB, or none",
                });
            }
        }
        if let Some(queues) = self.queues {
            controller["max_ioqpairs"] = json!(queues.max(1));
        }
        if self.memory != 0 {
            if !self.memory.is_multiple_of(1 << 20) || self.memory > CMB_MOST {
                return Err(Error::Setting {
                    field: "the controller's memory (cmb)",
                    value: format!("{} bytes", self.memory),
                    limit: format!("whole MiB up to {} can be", CMB_MOST >> 20),
                    remedy: "choose another size",
                });
            }
            controller["cmb_size_mb"] = json!(self.memory >> 20);
        }
        device(qemu, &controller);
        for (index, namespace) in self.namespaces.iter().enumerate() {
            namespace.arguments(&id, index + 1, qemu)?;
        }
        Ok(())
    }
}

impl Namespace {
    fn arguments(&self, ssd: &str, nsid: usize, qemu: &mut Command) -> Result<()> {
        self.prepare()?;
        let node = |kind: &str| format!("{ssd}-{kind}{nsid}");
        let mut file = json!({
            "driver": "file", "node-name": node("file"), "filename": text(&self.image)?,
            "discard": "unmap",
        });
        if !self.errors.is_empty() {
            let sectors = u64::from(self.block / 512);
            let rules: Vec<Value> = self
                .errors
                .iter()
                .map(|error| {
                    // Once its event has come, a rule stays in force: without `iotype` for what
                    // follows of either kind.
                    let (event, kind) = match error.access {
                        Access::Read => ("read_aio", "read"),
                        Access::Write => ("write_aio", "write"),
                    };
                    let sector = error.lba.saturating_mul(sectors);
                    json!({
                        "event": event, "iotype": kind, "errno": EIO, "sector": sector,
                        "once": error.once,
                    })
                })
                .collect();
            blockdev(qemu, &file);
            file = json!({
                "driver": "blkdebug", "node-name": node("faults"), "image": node("file"),
                "inject-error": rules, "discard": "unmap",
            });
        }
        blockdev(qemu, &file);
        let below = file["node-name"].clone();
        blockdev(
            qemu,
            &json!({"driver": "raw", "node-name": node("raw"), "file": below, "discard": "unmap"}),
        );
        device(
            qemu,
            &json!({
                "driver": "nvme-ns", "bus": ssd, "nsid": nsid, "drive": node("raw"),
                "logical_block_size": self.block, "physical_block_size": self.block,
            }),
        );
        Ok(())
    }

    /// Makes sure that the image is there and holds whole blocks.
    fn prepare(&self) -> Result<()> {
        let path = &self.image;
        let bytes = match (fs::metadata(path), self.size) {
            (Ok(about), _) => about.len(),
            (Err(_), Some(size)) => {
                let file = File::create_new(path).map_err(Error::io("creating the image", path))?;
                file.set_len(size)
                    .map_err(Error::io("setting the size of", path))?;
                size
            }
            (Err(error), None) => return Err(Error::io("opening the image", path)(error)),
        };
        if bytes == 0 || !bytes.is_multiple_of(self.block.max(1).into()) {
            return Err(Error::Setting {
                field: "the length of an image",
                value: format!("{bytes} bytes ({})", path.display()),
                limit: format!(
                    "it holds whole blocks of {} bytes, one at least",
                    self.block
                ),
                remedy: "remove it and let it be made with size=, such as size=64MiB",
            });
        }
        Ok(())
    }
}

/// Puts a root port of its own into the next slot: a group of its own, and it can be removed.
fn root_port(qemu: &mut Command, number: usize) -> String {
    let id = format!("port{number}");
    let slot = number + 1;
    device(
        qemu,
        &json!({
            "driver": "pcie-root-port", "id": id, "bus": "pcie.0", "chassis": slot, "slot": slot,
            "addr": format!("{:#x}", 4 + number),
        }),
    );
    id
}

/// The device of a vfio-user server.
pub(crate) fn vfio_user(id: &str, bus: &str, socket: &Path) -> Result<Value> {
    let socket = text(socket)?;
    Ok(json!({
        "driver": "vfio-user-pci", "id": id, "bus": bus,
        "socket": {"type": "unix", "path": socket},
        "rombar": 0, "x-msg-timeout": REPLY_LIMIT,
    }))
}

pub(crate) fn device(qemu: &mut Command, value: &Value) {
    qemu.arg("-device").arg(value.to_string());
}

fn blockdev(qemu: &mut Command, value: &Value) {
    qemu.arg("-blockdev").arg(value.to_string());
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| Error::Setting {
        field: "a path",
        value: path.display().to_string(),
        limit: "QEMU takes paths in UTF-8".into(),
        remedy: "rename it",
    })
}

/// A path as QEMU's older options take it: a comma is written twice.
pub(crate) fn escaped(path: &Path) -> Result<String> {
    Ok(text(path)?.replace(',', ",,"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(machine: &Machine) -> Result<Vec<String>> {
        let mut qemu = Command::new("qemu");
        machine.arguments(&mut qemu)?;
        let arguments = qemu
            .get_args()
            .map(|part| part.to_string_lossy().into_owned());
        Ok(arguments.collect())
    }

    fn with_ssd(folder: &Path, change: impl FnOnce(&mut Ssd)) -> Machine {
        let mut ssd = Ssd {
            namespaces: vec![Namespace {
                image: folder.join("a,b.img"),
                size: Some(1 << 20),
                block: 4096,
                errors: Vec::new(),
            }],
            ..Ssd::default()
        };
        change(&mut ssd);
        Machine {
            ssds: vec![ssd],
            ..Machine::default()
        }
    }

    #[test]
    fn a_drive_has_its_port_image_and_faults() {
        let folder = tempfile::tempdir().expect("folder");
        let machine = with_ssd(folder.path(), |ssd| {
            ssd.transfer = Some(1 << 20);
            ssd.namespaces[0].errors.push(Inject {
                access: Access::Read,
                lba: 3,
                once: true,
            });
        });
        let all = line(&machine).expect("a command line").join("\n");
        for part in [
            r#""driver":"pcie-root-port","id":"port0""#,
            r#""bus":"port0","driver":"nvme","id":"ssd0","mdts":8,"serial":"FB0000""#,
            r#""inject-error":[{"errno":5,"event":"read_aio","iotype":"read","once":true,"sector":24}]"#,
            r#""drive":"ssd0-raw1","driver":"nvme-ns","logical_block_size":4096"#,
            "a,b.img\"",
        ] {
            assert!(all.contains(part), "`{part}` is not in {all}");
        }
        let made = fs::metadata(folder.path().join("a,b.img")).expect("made");
        assert_eq!(made.len(), 1 << 20);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let folder = tempfile::tempdir().expect("folder");
        let small = with_ssd(folder.path(), |ssd| ssd.transfer = Some(4096));
        assert!(line(&small).is_err_and(|error| error.to_string().contains("no limit")));
        let folder = tempfile::tempdir().expect("folder");
        let odd = with_ssd(folder.path(), |ssd| ssd.namespaces[0].size = Some(5000));
        assert!(line(&odd).is_err_and(|error| error.to_string().contains("whole blocks")));
        let missing = with_ssd(&folder.path().join("no"), |ssd| {
            ssd.namespaces[0].size = None
        });
        assert!(line(&missing).is_err_and(|error| error.to_string().contains("no/a,b.img")));
        let socket = Machine {
            devices: vec![folder.path().join("a,b.img")],
            ..Machine::default()
        };
        assert!(line(&socket).is_err_and(|error| error.to_string().contains("socket")));
        let small = Machine {
            memory: 1 << 20,
            ..Machine::default()
        };
        assert!(line(&small).is_err_and(|error| error.to_string().contains("384 MiB")));
    }
}
