// SPDX-License-Identifier: Apache-2.0
//! The guest's part where the streamer's RTL is a card of the guest: our driver brings it up beside
//! a drive, through VFIO behind a translating IOMMU, and waits until it has streamed.

use std::time::Duration;

use forebay_driver::{Bus, Options, PciAddress, bring_up};
use forebay_spec::streamer::regs;
use forebay_vfio::{Settings, Sysfs, VfioBus};

/// Both cards, in whichever order the machine has them.
const CARDS: [PciAddress; 2] = [PciAddress::new(1, 0, 0), PciAddress::new(2, 0, 0)];
/// Looks at the streamer without anything new, after which it counts as done.
const CALM: u32 = 100;

#[test]
#[ignore = "takes a drive: it is run in a guest, with `forebay vm serve streamer` outside"]
fn the_streamer_streams() {
    let settings = Settings {
        devices: CARDS.to_vec(),
        ..Settings::default()
    };
    let mut bus = VfioBus::open(&Sysfs::default(), settings)
        .unwrap_or_else(|error| panic!("{error}\n{}", error.remedy()));
    let session = bring_up(&mut bus, &Options::default())
        .unwrap_or_else(|failure| panic!("{failure}\n{}", failure.remedy()));
    for step in session.steps() {
        println!("{step}");
    }
    let streamer = session.streamer().expect("a card").clone();
    let mut calm = 0;
    while calm < CALM {
        std::thread::sleep(Duration::from_millis(20));
        bus.relax(Duration::ZERO).expect("not stopped");
        let mut count = |offset| streamer.read(&mut bus, offset).expect("a register");
        let writes = count(regs::write_commands::OFFSET);
        let reads = count(regs::read_commands::OFFSET);
        let done = count(regs::completions::OFFSET);
        let all = reads > 0 && done == writes + reads;
        calm = if all { calm + 1 } else { 0 };
        assert_eq!(count(regs::failed_commands::OFFSET), 0);
    }
    let steps = session.shutdown(&mut bus).expect("shuts down");
    println!("{} steps of shutdown", steps.len());
}
