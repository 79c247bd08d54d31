// SPDX-License-Identifier: Apache-2.0
//! The program that brings drives up without a CPU, interpreted, on a third party's root port, switch
//! and drives: QEMU's.

mod gone;
mod tree;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use forebay_qtest::available;
use forebay_seq::boot::{Boot, Drive, PROGRAM, Root, Settings, Told};
use forebay_seq::{End, Interpreter, assemble};
use forebay_spec::boot::{Code, port, state};
use forebay_spec::nvme::{Cqe, Sqe};
use forebay_vm::guest::{Namespace, Ssd};
use forebay_vm::root::{QemuRoot, SETTINGS, attach, qemu};
use tempfile::TempDir;

const IMAGE_BYTES: u64 = 4 << 20;
/// Where data of the tests' commands are in guest memory: behind all queues.
const DATA: u64 = 0x80_0000;
const DOORBELLS: u64 = 0x1000;
const LIMIT: Duration = Duration::from_secs(20);

/// How a run of the program ended, and what is left of it.
struct Ran {
    boot: Boot<QemuRoot>,
    end: End,
    folder: TempDir,
}

impl Ran {
    fn drives(&self) -> Vec<Drive> {
        Drive::all(self.boot.ram())
    }

    /// The program stopped, and QEMU has nothing to say against it.
    fn good(mut self) -> Self {
        let console = self.boot.console();
        assert_eq!(self.end.code, 0, "at word {}: {console}", self.end.place);
        assert_eq!(self.boot.told().state, state::READY, "{console}");
        self.quiet();
        self
    }

    fn quiet(&mut self) {
        let complaints = self.boot.root().machine().complaints().expect("log");
        assert_eq!(complaints, [""; 0], "{}", self.boot.console());
    }

    /// The program failed with this code, which was counted once, and only it.
    fn failed(&mut self, code: Code) {
        let console = self.boot.console();
        let number = code.number();
        assert_eq!(
            self.end.code, number,
            "at word {}: {console}",
            self.end.place
        );
        assert_eq!(self.counted(), [number], "{console}");
        assert!(
            console.contains(&format!(": ERROR {number} at ")),
            "{console}"
        );
    }

    fn counted(&self) -> Vec<u8> {
        counted(self.boot.told())
    }
}

/// Each code as often as it was counted.
fn counted(told: &Told) -> Vec<u8> {
    let codes = (0..=u8::MAX).zip(told.codes);
    codes
        .flat_map(|(code, count)| std::iter::repeat_n(code, count as usize))
        .collect()
}

/// Runs the program over these spaces, as after a reset.
fn run(boot: &mut Boot<impl Root>) -> End {
    let program = assemble(PROGRAM).unwrap_or_else(|error| panic!("{error}: {}", error.remedy));
    let mut running = Interpreter::new(program.words());
    let end = running.run(boot, 1_000_000);
    end.unwrap_or_else(|| panic!("endless at word {}", running.place()))
}

/// Starts QEMU and runs the program.
fn boot(qemu: Command, settings: Settings) -> Ran {
    let folder = tempfile::tempdir().expect("folder");
    boot_in(folder, qemu, settings)
}

fn boot_in(folder: TempDir, qemu: Command, settings: Settings) -> Ran {
    let root = QemuRoot::start(folder.path(), qemu).expect("QEMU starts");
    let mut boot = Boot::new(root, settings);
    let end = run(&mut boot);
    Ran { boot, end, folder }
}

/// A drive with an image to be made.
fn ssd(folder: &Path, name: &str, block: u32) -> Ssd {
    Ssd {
        serial: Some(name.into()),
        namespaces: vec![Namespace {
            image: folder.join(name),
            size: Some(IMAGE_BYTES),
            block,
            errors: Vec::new(),
        }],
        ..Ssd::default()
    }
}

/// QEMU with these devices below the root port.
fn with(devices: &[&str]) -> Command {
    let mut qemu = qemu();
    for device in devices {
        qemu.args(["-device", device]);
    }
    qemu
}

/// The queues that the program made for a drive, used as a streamer would.
struct Queues<'a> {
    root: &'a mut QemuRoot,
    drive: &'a Drive,
    sq: u64,
    cq: u64,
    used: u64,
}

impl<'a> Queues<'a> {
    fn of(ran: &'a mut Ran, drive: &'a Drive, number: u64) -> Self {
        let sq = SETTINGS.queue_base + number * SETTINGS.queue_step;
        Self {
            root: ran.boot.root(),
            drive,
            sq,
            cq: sq + SETTINGS.queue_step / 2,
            used: 0,
        }
    }

    /// Carries out one command on queue 1; data are one page at [`DATA`].
    fn command(&mut self, opcode: u8, lba: u64, blocks: u16) {
        let mut entry = [0; Sqe::BYTES];
        let cid = 0x4000 + self.used as u16;
        entry[0] = opcode;
        entry[2..4].copy_from_slice(&cid.to_le_bytes());
        entry[4..8].copy_from_slice(&self.drive.nsid.to_le_bytes());
        entry[24..32].copy_from_slice(&DATA.to_le_bytes());
        entry[40..48].copy_from_slice(&lba.to_le_bytes());
        entry[48..50].copy_from_slice(&(blocks - 1).to_le_bytes());
        let machine = self.root.machine();
        let place = self.used % u64::from(self.drive.entries);
        let at = self.sq + place * entry.len() as u64;
        machine.write_memory(at, &entry).expect("memory");
        self.used += 1;
        let tail = (self.used % u64::from(self.drive.entries)) as u32;
        let doorbells = self.drive.bar + DOORBELLS;
        assert!(self.root.memory_write(doorbells + 8, tail));
        let start = Instant::now();
        let done = loop {
            let mut bytes = [0; Cqe::BYTES];
            let at = self.cq + place * bytes.len() as u64;
            let machine = self.root.machine();
            machine.read_memory(at, &mut bytes).expect("memory");
            let done = Cqe::from_bytes(&bytes);
            if done.phase {
                break done;
            }
            assert!(start.elapsed() < LIMIT, "no completion of {opcode:#x}");
            std::thread::sleep(Duration::from_micros(100));
        };
        assert!(done.status.is_success(), "{done:?}");
        assert_eq!((done.cid, done.sq_id), (cid, 1));
        assert!(self.root.memory_write(doorbells + 12, tail));
    }

    /// Writes one page of a pattern and reads it back; the image has it.
    fn round_trip(&mut self, image: &Path, seed: u8) {
        let blocks = (4096 / self.drive.block_bytes) as u16;
        let lba = 8 * u64::from(blocks);
        let data: Vec<u8> = (0..4096u32)
            .map(|at| ((at * 7) >> 3) as u8 ^ seed)
            .collect();
        let machine = self.root.machine();
        machine.write_memory(DATA, &data).expect("memory");
        self.command(0x01, lba, blocks);
        let machine = self.root.machine();
        machine.write_memory(DATA, &[0xee; 4096]).expect("memory");
        self.command(0x02, lba, blocks);
        let mut found = vec![0; 4096];
        let machine = self.root.machine();
        machine.read_memory(DATA, &mut found).expect("memory");
        assert!(found == data, "what was read differs");
        let image = fs::read(image).expect("image");
        assert_eq!(image.len() as u64, IMAGE_BYTES);
        assert!(image[8 * 4096..][..4096] == data, "the image differs");
        let rest = image[..8 * 4096].iter().chain(&image[9 * 4096..]);
        assert!(rest.copied().all(|byte| byte == 0), "a stray write");
    }
}

#[test]
fn a_drive_on_the_root_port_stores_data() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let mut qemu = qemu();
    let mut drive = ssd(folder.path(), "A1", 512);
    drive.transfer = Some(64 << 10);
    attach(&mut qemu, &[drive], false).expect("drive");
    let mut ran = boot_in(folder, qemu, SETTINGS).good();
    let drives = ran.drives();
    let [drive] = drives.as_slice() else {
        panic!("{drives:#?}")
    };
    assert_eq!((drive.ecam, drive.code), (0x10_0000, 0));
    assert_eq!((drive.bar, drive.bar_bytes), (SETTINGS.room_first, 0x4000));
    assert_eq!((drive.nsid, drive.blocks), (1, IMAGE_BYTES / 512));
    assert_eq!((drive.block_bytes, drive.transfer_bytes), (512, 64 << 10));
    assert_eq!(drive.entries, SETTINGS.queue_entries);
    assert_eq!((&*drive.model, &*drive.serial), ("QEMU NVMe Ctrl", "A1"));
    assert!(!drive.firmware.is_empty());
    assert_eq!(ran.boot.told().drives_ready, 1);
    assert_eq!(ran.counted(), [0; 0]);
    let console = ran.boot.console();
    for words in [
        "INFO: PCIe Root Port link is established as Gen",
        "--00:00.0 - Device/Vendor:0x000c1b36 - Class 0x060400\n",
        "------01:00.0 - Device/Vendor:0x00101b36 - Class 0x010802\n",
        "------01:00.0 - BAR0 64 bit - size: 0x00004000 - addr: 0xc0000000\n",
        "INFO: NVMe SSD Controller is QEMU NVMe Ctrl (Rev ",
        ") (S/N A1)\n",
        "INFO: Namespace 1 has a total size of 4194304 (0x000000400000) bytes.\n",
    ] {
        assert!(console.contains(words), "`{words}` is not in {console}");
    }
    assert!(!console.contains("ERROR"), "{console}");
    let image = ran.folder.path().join("A1");
    Queues::of(&mut ran, drive, 0).round_trip(&image, 0x5a);
    ran.quiet();
}

/// A second run begins with PERST#: what the first left does not matter.
#[test]
fn the_program_runs_again() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let mut qemu = qemu();
    attach(&mut qemu, &[ssd(folder.path(), "A1", 4096)], true).expect("drive");
    let mut ran = boot_in(folder, qemu, SETTINGS).good();
    let first = ran.drives();
    ran.end = run(&mut ran.boot);
    let mut ran = ran.good();
    assert_eq!(ran.drives(), first);
    let image = ran.folder.path().join("A1");
    Queues::of(&mut ran, &first[0], 0).round_trip(&image, 0);
    ran.quiet();
}

#[test]
fn drives_behind_a_switch_with_an_empty_port() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let images = ["A1", "A-serial-of-20-chars"].map(|name| folder.path().join(name));
    let mut qemu = with(&[
        "x3130-upstream,id=switch,bus=root",
        "xio3130-downstream,id=p0,bus=switch,chassis=2,slot=0,addr=1.0",
        "xio3130-downstream,id=p1,bus=switch,chassis=3,slot=1,addr=3.0",
        "xio3130-downstream,id=p2,bus=switch,chassis=4,slot=2,addr=5.0",
    ]);
    for (image, device) in images.iter().zip([
        "bus=p0,serial=A1,drive=A1,logical_block_size=4096,physical_block_size=4096",
        "bus=p2,serial=A-serial-of-20-chars,drive=A-serial-of-20-chars,logical_block_size=4096,\
         physical_block_size=4096,mdts=3,cmb_size_mb=4",
    ]) {
        fs::write(image, vec![0; IMAGE_BYTES as usize]).expect("image");
        let id = image.file_name().expect("name").display();
        let drive = format!("file={},if=none,id={id},format=raw", image.display());
        qemu.args(["-drive", &drive]);
        qemu.args(["-device", &format!("nvme,{device}")]);
    }
    let mut ran = boot_in(folder, qemu, SETTINGS).good();
    let drives = ran.drives();
    let [a, b] = drives.as_slice() else {
        panic!("{drives:#?}")
    };
    // Buses: 1 above the switch, 2 in it, 3 to 5 below its ports, 4 empty.
    assert_eq!((a.ecam, b.ecam), (0x30_0000, 0x50_0000));
    assert_eq!(a.bar % 0x10_0000, 0);
    assert_eq!(b.bar % 0x10_0000, 0);
    assert!(b.bar > a.bar);
    for drive in [a, b] {
        assert_eq!(
            (drive.block_bytes, drive.blocks),
            (4096, IMAGE_BYTES / 4096)
        );
    }
    assert_eq!(b.transfer_bytes, 32 << 10);
    assert_eq!(b.serial, "A-serial-of-20-chars");
    let console = ran.boot.console();
    assert!(
        console.contains("(S/N A-serial-of-20-chars)\n"),
        "{console}"
    );
    assert_eq!(ran.boot.told().drives_ready, 0b11);
    for (number, (drive, image)) in drives.iter().zip(&images).enumerate() {
        Queues::of(&mut ran, drive, number as u64).round_trip(image, number as u8);
    }
    ran.quiet();
}

/// More drives than there is room for are listed, and left off.
#[test]
fn drives_beyond_the_most_are_left_off() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let names = ["d0", "d1", "d2"];
    let drives = names.map(|name| ssd(folder.path(), name, 512));
    let mut qemu = qemu();
    attach(&mut qemu, &drives, true).expect("drives");
    let settings = Settings {
        drives_most: 2,
        ..SETTINGS
    };
    let ran = boot_in(folder, qemu, settings).good();
    let serials: Vec<_> = ran.drives().into_iter().map(|drive| drive.serial).collect();
    assert_eq!(serials, ["d0", "d1"]);
    let console = ran.boot.console();
    assert_eq!(console.matches("Class 0x010802").count(), 3, "{console}");
}

#[test]
fn an_empty_root_port_has_no_link() {
    if available() {
        boot(qemu(), SETTINGS).failed(Code::NoLink);
    }
}

#[test]
fn a_device_that_is_no_drive_is_left_alone() {
    if !available() {
        return;
    }
    for device in ["e1000e,bus=root", "virtio-net-pci,bus=root"] {
        let mut ran = boot(with(&[device]), SETTINGS);
        ran.failed(Code::NoDrive);
        assert!(ran.drives().is_empty());
        // Its memory was not enabled.
        let command = ran.boot.root().config_read(0x10_0004);
        assert_eq!(command.map(|command| command & 6), Some(0), "{device}");
    }
}

#[test]
fn a_switch_without_a_drive() {
    if !available() {
        return;
    }
    let mut ran = boot(
        with(&[
            "x3130-upstream,id=switch,bus=root",
            "xio3130-downstream,id=p0,bus=switch,chassis=2,slot=0,addr=0.0",
        ]),
        SETTINGS,
    );
    ran.failed(Code::NoDrive);
}

/// Runs with one drive that fails, and none beside it.
fn one_fails(qemu: Command, code: Code) {
    let mut ran = boot(qemu, SETTINGS);
    let console = ran.boot.console();
    assert_eq!(ran.end.code, Code::NoDrive.number(), "{console}");
    assert_eq!(
        ran.counted(),
        [Code::NoDrive.number(), code.number()],
        "{console}"
    );
    let drives = ran.drives();
    assert_eq!(drives.len(), 1);
    assert_eq!(drives[0].code, code.number(), "{console}");
    let place = format!(": ERROR {} at 01:00.0\n", code.number());
    assert!(console.contains(&place), "{console}");
    assert_eq!(ran.boot.told().drives_ready, 0);
    ran.quiet();
}

#[test]
fn a_drive_without_a_namespace() {
    if available() {
        one_fails(with(&["nvme,bus=root,serial=A1"]), Code::NoNamespace);
    }
}

#[test]
fn a_format_with_metadata() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    one_fails(with_metadata(folder.path(), "root"), Code::Format);
}

/// A drive whose namespace has 8 bytes of metadata a block.
fn with_metadata(folder: &Path, bus: &str) -> Command {
    let image = folder.join("metadata");
    fs::write(&image, vec![0; IMAGE_BYTES as usize]).expect("image");
    let mut qemu = qemu();
    if bus != "root" {
        qemu.args(["-device", "x3130-upstream,id=switch,bus=root"]);
        let port = format!("xio3130-downstream,id={bus},bus=switch,chassis=9,slot=9,addr=0x9");
        qemu.args(["-device", &port]);
    }
    let drive = format!("file={},if=none,id=m0,format=raw", image.display());
    qemu.args(["-drive", &drive])
        .args(["-device", &format!("nvme,id=n0,bus={bus},serial=M0")])
        .args(["-device", "nvme-ns,bus=n0,drive=m0,ms=8"]);
    qemu
}

/// A drive that fails does not stop the other; where they are wanted together it does.
#[test]
fn one_drive_of_two_fails() {
    if !available() {
        return;
    }
    for together in [false, true] {
        let folder = tempfile::tempdir().expect("folder");
        let mut qemu = with_metadata(folder.path(), "p9");
        let image = folder.path().join("good");
        fs::write(&image, vec![0; IMAGE_BYTES as usize]).expect("image");
        qemu.args([
            "-device",
            "xio3130-downstream,id=p10,bus=switch,chassis=10,slot=10,addr=0xa",
        ]);
        let drive = format!("file={},if=none,id=g0,format=raw", image.display());
        qemu.args(["-drive", &drive]);
        qemu.args(["-device", "nvme,bus=p10,serial=G0,drive=g0"]);
        let settings = Settings {
            together,
            ..SETTINGS
        };
        let mut ran = boot_in(folder, qemu, settings);
        if together {
            assert_eq!(ran.end.code, Code::NoDrive.number());
            let both = [Code::NoDrive, Code::Format].map(Code::number);
            assert_eq!(ran.counted(), both);
            continue;
        }
        assert_eq!(ran.counted(), [Code::Format.number()]);
        ran = ran.good();
        let drives = ran.drives();
        let codes: Vec<_> = drives.iter().map(|drive| drive.code).collect();
        assert_eq!(codes, [Code::Format.number(), 0]);
        assert_eq!(ran.boot.told().drives_ready, 0b10);
        // Its queues are the streamer's first ones.
        Queues::of(&mut ran, &drives[1], 0).round_trip(&image, 3);
    }
}

#[test]
fn no_room_for_a_bar() {
    if !available() {
        return;
    }
    let settings = Settings {
        room_end: SETTINGS.room_first + 0x2000,
        ..SETTINGS
    };
    let mut ran = boot(with(&["nvme,bus=root,serial=A1"]), settings);
    assert_eq!(ran.end.code, Code::NoDrive.number());
    let both = [Code::NoRoom, Code::NoDrive].map(Code::number);
    assert_eq!(ran.counted(), both);
    assert_eq!(ran.drives()[0].code, Code::NoRoom.number());
    ran.quiet();
}

/// What QEMU's root is itself: the contract of a bridge.
#[test]
fn the_root_is_a_bridge() {
    use forebay_seq::Spaces;
    use forebay_spec::boot::space;
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let with = with(&["nvme,bus=root,serial=A1"]);
    let root = QemuRoot::start(folder.path(), with).expect("QEMU starts");
    let mut boot = Boot::new(root, SETTINGS);
    let vendor = |boot: &mut Boot<QemuRoot>, ecam| boot.read(space::CFG, ecam, 4);
    assert_eq!(vendor(&mut boot, 0), Some(0x000c_1b36));
    // Another function and another device of bus 0, though QEMU has its chipset there.
    assert_eq!(vendor(&mut boot, 0x1000), Some(0xffff_ffff));
    assert_eq!(vendor(&mut boot, 0x1f << 15), Some(0xffff_ffff));
    // Without numbers of the port there is no bus 1.
    assert_eq!(vendor(&mut boot, 0x10_0000), Some(0xffff_ffff));
    assert!(boot.write(space::CFG, 0x18, 4, 0x01_01_00));
    assert_eq!(vendor(&mut boot, 0x10_0000), Some(0x0010_1b36));
    assert_eq!(boot.read(space::PORT, port::LINK.into(), 8), Some(1));
    // The bridge passes on no memory outside the room.
    assert_eq!(boot.read(space::MMIO, SETTINGS.admin_base, 4), None);
    assert!(!boot.write(space::MMIO, SETTINGS.room_end, 4, 0));
    // PERST# resets what is below: its BAR is 0 again.
    assert!(boot.write(space::CFG, 0x10_0010, 4, 0xc000_0000));
    assert_eq!(boot.read(space::CFG, 0x10_0010, 4), Some(0xc000_0004));
    assert!(boot.write(space::PORT, port::PERST.into(), 8, 1));
    assert_eq!(boot.read(space::PORT, port::LINK.into(), 8), Some(0));
    assert_eq!(vendor(&mut boot, 0x10_0000), None);
    assert!(boot.write(space::PORT, port::PERST.into(), 8, 0));
    assert_eq!(boot.read(space::PORT, port::LINK.into(), 8), Some(1));
    assert_eq!(boot.read(space::CFG, 0x10_0010, 4), Some(4));
    let before = boot.now_us();
    boot.wait_us(100_000);
    assert!(boot.now_us() - before >= 100_000);
}
