// SPDX-License-Identifier: Apache-2.0
//! Trees of switches: numbers, windows, and how many there may be.

use forebay_qtest::available;
use forebay_seq::boot::{Root, Settings};
use forebay_spec::boot::Code;
use forebay_vm::root::{QemuRoot, SETTINGS};

use super::{boot, with};

/// A drive in each of two switches, one below the other, and one that is function 1 of its device.
#[test]
fn a_deep_tree() {
    if !available() {
        return;
    }
    let mut ran = boot(
        with(&[
            "x3130-upstream,id=a,bus=root",
            "xio3130-downstream,id=a0,bus=a,chassis=2,slot=0,addr=0.0",
            "xio3130-downstream,id=a1,bus=a,chassis=3,slot=0,addr=1.0",
            "x3130-upstream,id=b,bus=a0",
            "xio3130-downstream,id=b0,bus=b,chassis=4,slot=0,addr=7.0",
            "xio3130-downstream,id=b1,bus=b,chassis=5,slot=0,addr=1f.0",
            "e1000e,bus=b0,addr=0.0,multifunction=on",
            "nvme,bus=b0,serial=B0,addr=0.3",
            "nvme,bus=b1,serial=B1",
            "nvme,bus=a1,serial=A1",
        ]),
        SETTINGS,
    );
    let drives = ran.drives();
    let found: Vec<_> = drives
        .iter()
        .map(|drive| (drive.ecam, &*drive.serial))
        .collect();
    // Depth first: buses 1 and 2 are the first switch's, 3 and 4 the second's.
    assert_eq!(
        found,
        [(0x50_3000, "B0"), (0x60_0000, "B1"), (0x70_0000, "A1")]
    );
    // None has a namespace.
    let none = Code::NoNamespace.number();
    assert_eq!(ran.counted(), [Code::NoDrive.number(), none, none, none]);
    ran.quiet();
    // Numbers and windows of the bridges: all below, and no more.
    let root = ran.boot.root();
    let numbers = |root: &mut QemuRoot, ecam: u32| root.config_read(ecam + 0x18).expect("read");
    assert_eq!(numbers(root, 0), 0x07_01_00);
    assert_eq!(numbers(root, 0x10_0000), 0x07_02_01);
    assert_eq!(numbers(root, 0x20_0000), 0x06_03_02);
    assert_eq!(numbers(root, 0x30_0000), 0x06_04_03);
    assert_eq!(numbers(root, 0x20_8000), 0x07_07_02);
    let window = |root: &mut QemuRoot, ecam: u32| root.config_read(ecam + 0x20).expect("read");
    assert_eq!(window(root, 0), 0xc020_c000);
    assert_eq!(window(root, 0x20_0000), 0xc010_c000);
    assert_eq!(window(root, 0x20_8000), 0xc020_c020);
    for bridge in [0, 0x10_0000, 0x20_0000, 0x20_8000, 0x30_0000] {
        // Prefetchable memory is closed: its base is above its limit.
        let closed = root.config_read(bridge + 0x24).expect("read");
        assert!(
            closed & 0xfff0 > closed >> 16 & 0xfff0,
            "{bridge:#x}: {closed:#x}"
        );
        let command = root.config_read(bridge + 4).expect("read");
        assert_eq!(command & 7, 6, "{bridge:#x}");
    }
}

#[test]
fn the_root_port_s_own_bar() {
    if !available() {
        return;
    }
    let settings = Settings {
        root_bar: 0xe000_0000,
        ..SETTINGS
    };
    let mut ran = boot(with(&["e1000e,bus=root"]), settings);
    assert_eq!(ran.boot.root().config_read(0x10), Some(0xe000_0000));
}

#[test]
fn levels_and_buses_have_a_most() {
    if !available() {
        return;
    }
    // Each switch is two levels; the ninth is too deep.
    let mut devices = Vec::new();
    for number in 0..4 {
        let above = match number {
            0 => "root".to_owned(),
            _ => format!("p{}", number - 1),
        };
        devices.push(format!("x3130-upstream,id=s{number},bus={above}"));
        let chassis = number + 2;
        devices.push(format!(
            "xio3130-downstream,id=p{number},bus=s{number},chassis={chassis},slot=0,addr=0.0"
        ));
    }
    devices.push("e1000e,bus=p3".into());
    let all: Vec<_> = devices.iter().map(String::as_str).collect();
    boot(with(&all), SETTINGS).failed(Code::TooDeep);
    // Without the last port there are eight levels.
    boot(with(&all[..7]), SETTINGS).failed(Code::NoDrive);

    // One below the root port, one in the switch, and one below each of its ports.
    let switch = |id: &str, chassis: u32, bus: &str, ports: u32| {
        let up = format!("x3130-upstream,id={id},bus={bus}");
        let down = (0..ports).map(move |slot| {
            format!(
                "xio3130-downstream,id={id}{slot},bus={id},chassis={chassis},slot={slot},addr={slot:x}.0"
            )
        });
        [up].into_iter().chain(down.collect::<Vec<_>>())
    };
    let fast = Settings {
        reset_us: 1_000,
        ..SETTINGS
    };
    for (ports, code) in [(5, Code::NoDrive), (6, Code::TooManyBuses)] {
        let ports = switch("a", 2, "root", 32).chain(switch("b", 3, "a0", ports));
        let all: Vec<_> = ports.collect();
        let all: Vec<_> = all.iter().map(String::as_str).collect();
        boot(with(&all), fast).failed(code);
    }
}
