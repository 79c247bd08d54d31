// SPDX-License-Identifier: Apache-2.0
//! The link falls, or what is below it vanishes, while the program runs.

use std::collections::BTreeSet;

use forebay_qtest::available;
use forebay_seq::boot::{Boot, Drive, Root, Settings};
use forebay_spec::boot::Code;
use forebay_vm::root::{QemuRoot, SETTINGS, attach, qemu};

use super::{counted, run, ssd};

/// What becomes of accesses after the last good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The link is down: the bridge answers in error.
    LinkFalls,
    /// What is below the port is gone, and the link stays up: reads yield all ones.
    Vanishes,
    /// As before, but the bridge answers in error.
    Errors,
}

/// A root port below which something happens after a number of accesses.
struct Cut<'a> {
    below: &'a mut QemuRoot,
    good: u32,
    fate: Fate,
    skipped_us: u64,
}

impl Cut<'_> {
    fn cut(&mut self) -> bool {
        self.good = self.good.saturating_sub(1);
        self.good == 0
    }

    fn answer(&self) -> Option<u32> {
        (self.fate == Fate::Vanishes).then_some(u32::MAX)
    }
}

impl Root for Cut<'_> {
    fn config_read(&mut self, ecam: u32) -> Option<u32> {
        match self.cut() && ecam >= 0x10_0000 {
            true => self.answer(),
            false => self.below.config_read(ecam),
        }
    }

    fn config_write(&mut self, ecam: u32, value: u32) -> bool {
        match self.cut() && ecam >= 0x10_0000 {
            true => self.answer().is_some(),
            false => self.below.config_write(ecam, value),
        }
    }

    fn memory_read(&mut self, address: u64) -> Option<u32> {
        match self.cut() {
            true => self.answer(),
            false => self.below.memory_read(address),
        }
    }

    fn memory_write(&mut self, address: u64, value: u32) -> bool {
        match self.cut() {
            true => self.answer().is_some(),
            false => self.below.memory_write(address, value),
        }
    }

    fn link_up(&mut self) -> bool {
        self.below.link_up() && (self.good > 0 || self.fate != Fate::LinkFalls)
    }

    fn perst(&mut self, asserted: bool) {
        self.below.perst(asserted);
    }

    fn window_read(&mut self, offset: u16, data: &mut [u8]) {
        self.below.window_read(offset, data);
    }

    fn window_write(&mut self, offset: u16, data: &[u8]) {
        self.below.window_write(offset, data);
    }

    fn now_us(&mut self) -> u64 {
        self.below.now_us() + self.skipped_us
    }

    fn wait_us(&mut self, us: u64) {
        match self.good {
            0 => self.skipped_us += 100 * us,
            _ => self.below.wait_us(us),
        }
    }
}

/// Whatever is gone after whichever access: the program ends, with a code that says so, and no drive of
/// an earlier run is left.
#[test]
fn what_is_gone_is_told() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let mut qemu = qemu();
    attach(&mut qemu, &[ssd(folder.path(), "A1", 512)], true).expect("drive");
    let mut root = QemuRoot::start(folder.path(), qemu).expect("QEMU starts");
    let settings = Settings {
        watch: true,
        ..SETTINGS
    };
    let mut all = BTreeSet::new();
    for (fate, step) in [(Fate::LinkFalls, 1), (Fate::Vanishes, 4), (Fate::Errors, 4)] {
        let mut watched = 0;
        // From the first access to some while the drive is watched.
        for good in (1..10_000).step_by(step) {
            let cut = Cut {
                below: &mut root,
                good,
                fate,
                skipped_us: 0,
            };
            let mut boot = Boot::new(cut, settings);
            let end = run(&mut boot);
            let drives = Drive::all(boot.ram());
            let codes = counted(boot.told());
            let ready = boot.told().drives_ready;
            let expected: &[Code] = match fate {
                Fate::LinkFalls => &[Code::LinkLost],
                _ if ready == 1 => &[Code::DriveDied],
                _ => &[Code::NoDrive],
            };
            let code = Code::from_number(end.code).expect("a code");
            assert!(expected.contains(&code), "{fate:?} {good}: {code:?}");
            assert_eq!(codes.iter().filter(|one| **one == end.code).count(), 1);
            let kinds: BTreeSet<_> = codes.iter().collect();
            assert!(kinds.len() <= 3, "{fate:?} {good}: {codes:?}");
            all.extend(codes);
            watched += ready;
            // Again, and the link falls at once.
            boot.root().fate = Fate::LinkFalls;
            boot.root().good = 2;
            assert_eq!(run(&mut boot).code, Code::LinkLost.number());
            assert_eq!(Drive::all(boot.ram()), []);
            assert_eq!(boot.told().drives_ready, 0);
            if watched == 3 {
                assert_eq!(drives.len(), 1);
                break;
            }
        }
        assert_eq!(watched, 3, "{fate:?}: the drive was never ready");
    }
    let named = [
        Code::CapabilityList,
        Code::BadBar,
        Code::NoDrive,
        Code::NoAnswer,
        Code::AdminLate,
        Code::LinkLost,
        Code::DriveDied,
    ];
    let named: BTreeSet<_> = named.map(Code::number).into();
    assert!(all.is_superset(&named), "{all:?}");
}
