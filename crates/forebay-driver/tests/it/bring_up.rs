// SPDX-License-Identifier: Apache-2.0
//! Bring-up and shutdown against a scripted drive that does as it should, and as it should not.

use std::time::Duration;

use crate::support::fake::{FPGA, FPGA_BAR, Fake, NVME, NVME_BAR};
use forebay_driver::{
    Error, Failure, Options, Outbound, QueuePlacement, Session, StepName, bring_up,
    bring_up_observed,
};
use forebay_spec::nvme::Status;
use forebay_spec::streamer::{bar0, regs, window};

fn up(fake: &mut Fake, options: &Options) -> Session {
    bring_up(fake, options)
        .unwrap_or_else(|failure| panic!("{failure}: {}\n{:#?}", failure.remedy(), failure.before))
}

fn host() -> Options {
    Options {
        placement: QueuePlacement::Host,
        ..Options::default()
    }
}

/// Brings up a drive that was changed by `change`; it has to fail, and to leave nothing behind.
fn fails(options: &Options, change: impl FnOnce(&mut Fake)) -> Failure {
    let mut fake = Fake::new();
    change(&mut fake);
    let failure = bring_up(&mut fake, options).expect_err("has to fail");
    assert!(
        !fake.bus_master() || fake.faults.removed_at.is_some(),
        "left as bus master"
    );
    assert_eq!(fake.taken, 0, "memory is lost");
    assert!(!failure.remedy().is_empty());
    println!("{failure}. {}", failure.remedy());
    failure
}

#[test]
fn queues_in_the_fpga() {
    let mut fake = Fake::new();
    let mut seen = Vec::new();
    let options = Options {
        timeout_cycles: 77,
        ..Options::default()
    };
    let session =
        bring_up_observed(&mut fake, &options, &mut |step| seen.push(step.name)).expect("comes up");
    use StepName::*;
    let expected = [
        Discover,
        Attach,
        Disable,
        Capabilities,
        Enable,
        IdentifyController,
        Namespaces,
        IdentifyNamespace,
        QueueCount,
        CompletionQueue,
        SubmissionQueue,
        Configure,
        Start,
    ];
    assert_eq!(seen, expected);
    assert_eq!(session.steps().len(), seen.len());
    let facts = session.facts();
    assert_eq!(facts.controller.model, "A scripted drive");
    assert_eq!((facts.queue_entries, facts.transfer_bytes), (64, 1 << 20));
    let link = facts.nvme.express.expect("capability");
    assert_eq!(
        (link.generation, link.lanes, link.payload, link.read_request),
        (4, 4, 256, 512)
    );
    let queue = fake.queues[&1];
    assert_eq!(queue.sq, FPGA_BAR + bar0::QUEUES);
    assert_eq!(queue.cq, queue.sq + window::cq_offset(64));
    assert_eq!(queue.entries, 64);
    for (offset, value) in [
        (regs::sq_doorbell::OFFSET, NVME_BAR + 0x1008),
        (regs::cq_doorbell::OFFSET, NVME_BAR + 0x100c),
        (regs::data_window::OFFSET, FPGA_BAR + bar0::DATA),
        (regs::nsid::OFFSET, 1),
        (regs::block_shift::OFFSET, 9),
        (regs::transfer_pages::OFFSET, 256),
        (regs::namespace_sectors::OFFSET, 2048),
        (regs::timeout_cycles::OFFSET, 77),
        (regs::retry_limit::OFFSET, 3),
        (regs::queue_entries::OFFSET, 64),
        (regs::chunk::OFFSET, regs::chunk::RESET),
        (regs::enable::OFFSET, 1),
    ] {
        assert_eq!(fake.streamer[&offset], value, "register {offset:#x}");
    }
    let steps = session.shutdown(&mut fake).expect("shuts down");
    assert_eq!(
        steps.iter().map(|step| step.name).collect::<Vec<_>>(),
        [Stop, DeleteQueues, Shutdown]
    );
    assert_eq!(fake.streamer[&regs::enable::OFFSET], 0);
    assert!(fake.queues.is_empty() && !fake.bus_master());
    assert_eq!(fake.taken, 0);
}

#[test]
fn offsets_of_outbound_addresses() {
    let mut options = Options::default();
    options.fpga.outbound = Outbound {
        doorbells: 0x7000,
        memory: 3 << 26,
    };
    let mut fake = Fake::new();
    up(&mut fake, &options);
    assert_eq!(fake.streamer[&regs::doorbell_offset::OFFSET], 0x7000);
    assert_eq!(fake.streamer[&regs::memory_offset::OFFSET], 3 << 26);
    // What the registers cannot hold is refused.
    for (doorbells, memory, limit) in [
        (0x7100, 0, "doorbell_offset"),
        (0, 1 << 25, "memory_offset"),
    ] {
        options.fpga.outbound = Outbound { doorbells, memory };
        let refused = bring_up(&mut Fake::new(), &options).expect_err("refused");
        assert!(refused.to_string().contains(limit), "{refused}");
    }
}

#[test]
fn a_command_is_given_up_after_seconds_unless_told_otherwise() {
    let mut fake = Fake::new();
    bring_up(&mut fake, &Options::default()).expect("comes up");
    assert_eq!(
        fake.streamer[&regs::timeout_cycles::OFFSET],
        5 * 300_000_000
    );
}

#[test]
fn small_limits_are_honoured() {
    let mut fake = Fake::new();
    fake.set_cap(|cap| {
        cap.max_queue_entries = 2;
        cap.doorbell_stride = 2;
    });
    fake.set_controller(|controller| controller.mdts = 1);
    fake.set_namespace(256, 12, 0);
    let session = up(&mut fake, &Options::default());
    assert_eq!(session.facts().queue_entries, 2);
    for (offset, value) in [
        (regs::sq_doorbell::OFFSET, NVME_BAR + 0x1020),
        (regs::cq_doorbell::OFFSET, NVME_BAR + 0x1030),
        (regs::block_shift::OFFSET, 12),
        (regs::transfer_pages::OFFSET, 2),
        (regs::namespace_sectors::OFFSET, 2048),
        (regs::queue_entries::OFFSET, 2),
    ] {
        assert_eq!(fake.streamer[&offset], value, "register {offset:#x}");
    }
    session.shutdown(&mut fake).expect("shuts down");
}

#[test]
fn a_streamer_with_snaccs_registers() {
    let mut fake = Fake::new();
    fake.streamer.insert(regs::version::OFFSET, 0);
    let session = up(&mut fake, &Options::default());
    assert_eq!(session.facts().queue_entries, 64);
    assert_eq!(fake.streamer[&regs::enable::OFFSET], 1);
    assert_eq!(
        fake.streamer[&regs::block_shift::OFFSET],
        0,
        "it has no such register"
    );
    let failure = fails(&Options::default(), |fake| {
        fake.streamer.insert(regs::version::OFFSET, 0);
        fake.set_namespace(256, 12, 0);
    });
    assert_eq!(failure.step, StepName::Configure);
}

#[test]
fn a_halted_streamer_recovers() {
    let mut fake = Fake::new();
    // An earlier program left it running.
    fake.streamer.insert(regs::enable::OFFSET, 1);
    let session = up(&mut fake, &Options::default());
    let session = session.recover(&mut fake, &mut |_| {}).expect("recovers");
    assert_eq!(fake.streamer[&regs::enable::OFFSET], 1);
    session.shutdown(&mut fake).expect("shuts down");
    assert_eq!(fake.taken, 0);
    assert!(
        !fake.reset_under_streamer,
        "it rings doorbells of a drive in reset"
    );
}

#[test]
fn a_controller_that_never_gets_ready() {
    let failure = fails(&host(), |fake| fake.faults.never_ready = true);
    assert_eq!(failure.step, StepName::Enable);
    let Error::Timeout { limit, .. } = *failure.error else {
        panic!("{failure}")
    };
    // CAP.TO is 4, in units of 500 ms.
    assert_eq!(limit, Duration::from_secs(2));
    assert!(failure.took >= limit && failure.took < limit + Duration::from_millis(10));
    let failure = fails(&host(), |fake| {
        fake.faults.never_disabled = true;
        fake.set_cap(|cap| cap.timeout = 0);
    });
    assert_eq!(failure.step, StepName::Disable);
    assert!(failure.took >= Duration::from_millis(500), "{failure}");
}

/// CC.EN must not be cleared while CSTS.RDY is 0 (3.1.3.5).
#[test]
fn a_controller_that_is_still_starting_is_reset_only_once_it_is_ready() {
    const READY: Duration = Duration::from_millis(300);
    let mut fake = Fake::new();
    fake.leave_enabled();
    fake.faults.ready_at = READY;
    let session = up(&mut fake, &host());
    assert!(!fake.reset_while_starting);
    let disable = &session.steps()[1];
    assert_eq!(disable.name, StepName::Disable);
    assert_eq!(disable.found, "was enabled");
    assert!(disable.duration + Duration::from_millis(10) > READY);

    let failure = fails(&host(), |fake| {
        fake.leave_enabled();
        fake.faults.never_ready = true;
    });
    assert_eq!(failure.step, StepName::Disable);
    let text = failure.to_string();
    assert!(text.contains("CC.EN is 1") && text.contains("2s"), "{text}");
    assert!(failure.took >= Duration::from_secs(2), "CAP.TO: {failure}");
}

#[test]
fn a_controller_that_cannot_become_ready_any_more_is_reset_at_once() {
    let at_once = |session: &Session| {
        let disable = session.steps().iter().find(|s| s.name == StepName::Disable);
        disable.is_some_and(|step| step.duration < Duration::from_millis(10))
    };
    let mut fake = Fake::new();
    fake.leave_enabled();
    fake.faults.fatal_until_reset = true;
    let session = up(&mut fake, &host());
    assert!(at_once(&session), "after a fatal status");
    fake.faults.shutdown_ends_ready = true;
    session.shutdown(&mut fake).expect("shuts down");
    assert!(fake.enabled());
    let session = up(&mut fake, &host());
    assert!(at_once(&session), "after a shutdown");
    // It was ready, and stops: that is no start to wait for.
    fake.faults.never_ready = true;
    let failure = session.recover(&mut fake, &mut |_| {}).expect_err("dead");
    assert_eq!(failure.step, StepName::Enable, "{failure}");
    assert_eq!(fake.taken, 0);
}

#[test]
fn a_drive_is_no_bus_master_before_it_is_reset() {
    for options in [host(), Options::default()] {
        let mut fake = Fake::new();
        fake.leave_enabled();
        let session = up(&mut fake, &options);
        assert!(!fake.master_before_reset && fake.bus_master());
        let session = session.recover(&mut fake, &mut |_| {}).expect("recovers");
        assert!(!fake.master_before_reset && fake.bus_master());
        session.shutdown(&mut fake).expect("shuts down");
        assert!(!fake.bus_master());
    }
}

#[test]
fn no_device_stays_bus_master_where_another_cannot_be_enabled() {
    for device in [FPGA, NVME] {
        let failure = fails(&Options::default(), |fake| {
            fake.faults.deaf_command = Some(device);
        });
        assert_eq!(failure.step, StepName::Discover);
        let text = failure.to_string();
        assert!(text.contains(&device.to_string()), "{text}");
    }
}

#[test]
fn memory_that_runs_out_is_given_back() {
    // Three buffers of the admin queue, then three of the I/O queue.
    for short_at in 0..6 {
        let failure = fails(&host(), |fake| fake.faults.short_at = Some(short_at));
        assert!(failure.to_string().contains("no memory"), "{failure}");
        assert_eq!(failure.step == StepName::Enable, short_at < 3);
    }
    up(&mut Fake::new(), &host());
}

#[test]
fn the_callers_limit_holds_against_a_patient_drive() {
    let mut options = host();
    options.limits.ready = Duration::from_millis(100);
    let failure = fails(&options, |fake| {
        fake.faults.never_ready = true;
        fake.set_cap(|cap| cap.timeout = 255);
    });
    assert!(failure.took < Duration::from_millis(200), "{failure}");
}

#[test]
fn a_bus_without_time_is_found_out() {
    let failure = fails(&host(), |fake| {
        fake.faults.never_ready = true;
        fake.frozen = true;
    });
    assert!(
        failure.to_string().contains("time stands still"),
        "{failure}"
    );
}

#[test]
fn a_fatal_status_is_told_from_a_time_out() {
    for at in 0..6 {
        let failure = fails(&host(), |fake| fake.faults.fatal_at = Some(at));
        assert!(matches!(*failure.error, Error::Fatal { .. }), "{failure}");
        assert!(
            failure.took < Duration::from_secs(1),
            "seen late: {failure}"
        );
    }
}

#[test]
fn an_unanswered_command_is_named() {
    for (at, step) in [
        (0, StepName::IdentifyController),
        (1, StepName::Namespaces),
        (2, StepName::IdentifyNamespace),
        (3, StepName::QueueCount),
        (4, StepName::CompletionQueue),
        (5, StepName::SubmissionQueue),
    ] {
        let failure = fails(&host(), |fake| fake.faults.silent_at = Some(at));
        assert_eq!(failure.step, step);
        assert!(failure.to_string().contains("within 10s"), "{failure}");
    }
    let failure = fails(&host(), |fake| fake.faults.wrong_phase = true);
    assert!(
        failure
            .to_string()
            .contains("Identify Controller is unanswered"),
        "{failure}"
    );
}

#[test]
fn completions_of_unknown_commands_are_ignored_and_counted() {
    let mut fake = Fake::new();
    fake.faults.rogue_cids = 3;
    let mut session = up(&mut fake, &host());
    assert_eq!(session.admin().rogue, 3 * 6);
    // More than the queue holds: the true completion is overwritten or comes too late.
    let failure = fails(&host(), |fake| {
        fake.faults.rogue_cids = 4;
        fake.faults.silent_at = Some(2);
    });
    assert!(
        failure.to_string().contains("0 completions fitted no"),
        "{failure}"
    );
}

#[test]
fn a_status_is_told_in_words() {
    let failure = fails(&host(), |fake| {
        fake.faults.status = Some((0x05, Status::INVALID_QUEUE_SIZE));
    });
    assert_eq!(failure.step, StepName::CompletionQueue);
    let text = failure.to_string();
    assert!(
        text.contains("Create I/O Completion Queue failed: Invalid Queue Size"),
        "{text}"
    );
    assert!(failure.remedy().contains("CAP.MQES"));
}

#[test]
fn a_controller_without_a_namespace_list_has_all_active() {
    let mut fake = Fake::new();
    fake.set_controller(|controller| controller.namespaces = 3);
    fake.faults.no_namespace_list = true;
    let session = up(&mut fake, &host());
    assert_eq!(session.facts().namespaces, [1, 2, 3]);
}

#[test]
fn a_namespace_list_is_read_as_far_as_it_ascends() {
    let mut fake = Fake::new();
    fake.active[..16].copy_from_slice(&[3, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0]);
    let session = up(&mut fake, &host());
    assert_eq!(session.facts().namespaces, [3, 5]);
    assert_eq!(session.facts().namespace.nsid, 3);
    let failure = fails(&host(), |fake| fake.active.fill(0));
    assert!(failure.to_string().contains("lists none"), "{failure}");
}

#[test]
fn absurd_capabilities_are_refused() {
    type Change = fn(&mut Fake);
    let cases: [(Change, &str); 6] = [
        (|fake| fake.set_cap(|cap| cap.max_queue_entries = 1), "MQES"),
        (
            |fake| fake.set_cap(|cap| cap.nvm_command_set = false),
            "CAP.CSS",
        ),
        (
            |fake| fake.set_cap(|cap| (cap.page_min, cap.page_max) = (1, 4)),
            "MPSMIN",
        ),
        (|fake| fake.set_cap(|cap| cap.doorbell_stride = 15), "DSTRD"),
        (
            |fake| {
                fake.bar_bytes.insert(NVME, 0x1000);
            },
            "BAR 0",
        ),
        (
            |fake| {
                fake.bar_bytes.insert(NVME, 0);
            },
            "BAR 0",
        ),
    ];
    for (change, word) in cases {
        let failure = fails(&host(), change);
        assert!(
            failure.to_string().contains(word),
            "`{word}` is not in {failure}"
        );
    }
}

#[test]
fn absurd_identify_data_are_refused() {
    type Change = fn(&mut Fake);
    let cases: [(Change, &str); 10] = [
        (|fake| fake.set_controller(|c| c.sqes = 0x77), "SQES"),
        (|fake| fake.set_controller(|c| c.cqes = 0x33), "CQES"),
        (|fake| fake.set_controller(|c| c.namespaces = 0), "NN"),
        (|fake| fake.set_namespace(0, 9, 0), "NSZE"),
        (|fake| fake.set_namespace(u64::MAX, 12, 0), "2^48"),
        (|fake| fake.set_namespace(1 << 48, 9, 0), "2^48"),
        (|fake| fake.set_namespace(8, 12, 64), "64 of metadata"),
        (|fake| fake.set_namespace(8, 200, 0), "2^200"),
        (|fake| fake.namespace[26] = 5, "formats 0 to 0"),
        (|fake| fake.granted = 0xffff_0000, "queue 2"),
    ];
    for (change, word) in cases {
        let options = Options {
            queue_id: 2,
            ..host()
        };
        let failure = fails(&options, change);
        assert!(
            failure.to_string().contains(word),
            "`{word}` is not in {failure}"
        );
    }
}

#[test]
fn transfer_limits_from_the_least_to_none() {
    for (mdts, bytes) in [
        (1, 8192),
        (5, 128 << 10),
        (0, 2 << 20),
        (51, 2 << 20),
        (255, 2 << 20),
    ] {
        let mut fake = Fake::new();
        fake.set_controller(|controller| controller.mdts = mdts);
        let session = up(&mut fake, &host());
        assert_eq!(session.facts().transfer_bytes, bytes, "MDTS {mdts}");
        session.shutdown(&mut fake).expect("shuts down");
        up(&mut fake, &Options::default());
        let pages = fake.streamer[&regs::transfer_pages::OFFSET];
        assert_eq!(pages, (bytes / 4096).min(256), "MDTS {mdts}");
    }
}

#[test]
fn a_drive_that_is_pulled_out_at_any_moment() {
    let mut fake = Fake::new();
    up(&mut fake, &Options::default());
    let all = fake.accesses;
    for at in 0..all {
        let mut fake = Fake::new();
        fake.faults.removed_at = Some(at);
        let failure = bring_up(&mut fake, &Options::default()).expect_err("pulled out");
        assert!(failure.took < Duration::from_secs(60), "{failure}");
        assert_eq!(fake.taken, 0);
        assert!(
            fake.accesses < at + 100_000,
            "pulled out at {at}: {} accesses",
            fake.accesses
        );
    }
}

#[test]
fn a_shutdown_goes_on_after_a_failed_step() {
    let mut fake = Fake::new();
    let session = up(&mut fake, &Options::default());
    fake.faults.status = Some((0x00, Status::INVALID_QUEUE_ID));
    let failure = session.shutdown(&mut fake).expect_err("cannot delete");
    assert_eq!(failure.step, StepName::DeleteQueues);
    assert_eq!(fake.taken, 0);
    assert!(!fake.bus_master());

    let mut fake = Fake::new();
    let session = up(&mut fake, &Options::default());
    fake.faults.never_shut_down = true;
    let failure = session.shutdown(&mut fake).expect_err("never complete");
    assert_eq!(failure.step, StepName::Shutdown);
    assert!(failure.remedy().contains("do not switch power off"));
}

#[test]
fn a_streamer_that_is_not_what_it_should_be() {
    type Change = fn(&mut Fake);
    let cases: [(Change, StepName, &str); 9] = [
        (
            |f| {
                f.config.remove(&FPGA);
            },
            StepName::Discover,
            "FPGA card",
        ),
        (
            |f| {
                f.bar_bytes.insert(FPGA, 1 << 20);
            },
            StepName::Attach,
            "BAR",
        ),
        (
            |f| {
                f.streamer.insert(regs::identity::OFFSET, 5);
            },
            StepName::Attach,
            "identity",
        ),
        (
            |f| {
                f.streamer.insert(regs::parameters::OFFSET, 0);
            },
            StepName::Attach,
            "depth 0",
        ),
        (
            |f| {
                f.streamer.insert(regs::parameters::OFFSET, u64::MAX);
            },
            StepName::Attach,
            "depth 65535",
        ),
        (
            |f| {
                let of = regs::parameters::PAGES;
                let bits = f.streamer[&regs::parameters::OFFSET];
                f.streamer
                    .insert(regs::parameters::OFFSET, of.set(bits, 8192));
            },
            StepName::Attach,
            "a buffer of 8192 units",
        ),
        (
            |f| {
                let of = regs::parameters::PAGES;
                let bits = f.streamer[&regs::parameters::OFFSET];
                f.streamer
                    .insert(regs::parameters::OFFSET, of.set(bits, 1000));
            },
            StepName::Attach,
            "a buffer of 1000 units",
        ),
        (
            |f| f.faults.deaf_register = Some(0x18),
            StepName::Configure,
            "nsid",
        ),
        (
            |f| f.faults.streamer_not_ready = true,
            StepName::Start,
            "status.ready",
        ),
    ];
    for (change, step, word) in cases {
        let failure = fails(&Options::default(), change);
        assert_eq!(failure.step, step, "{failure}");
        assert!(
            failure.to_string().contains(word),
            "`{word}` is not in {failure}"
        );
    }
}

#[test]
fn what_the_caller_asks_for_is_checked_too() {
    for options in [
        Options {
            queue_id: 0,
            ..host()
        },
        Options {
            queue_entries: 1,
            ..host()
        },
        Options {
            nsid: Some(2),
            ..host()
        },
        Options {
            nsid: Some(u32::MAX),
            ..host()
        },
        Options {
            nvme: Some(FPGA),
            ..host()
        },
        Options {
            retry_limit: 16,
            ..Options::default()
        },
        Options {
            chunk_pages: Some(0),
            ..Options::default()
        },
    ] {
        fails(&options, |_| {});
    }
}

#[test]
fn the_bus_is_left_as_it_was_found() {
    let other = "0000:03:00.0".parse().expect("address");
    let mut fake = Fake::new();
    // A second drive, which another driver uses.
    let mut space = fake.config[&NVME];
    space[1] |= 6;
    fake.config.insert(other, space);
    fake.bar_bytes.insert(other, 0x4000);
    let bars = fake.config[&NVME][4..6].to_vec();
    let options = Options {
        nvme: Some(NVME),
        ..host()
    };
    let session = up(&mut fake, &options);
    assert_eq!(fake.config[&other], space);
    assert_eq!(fake.config[&NVME][4..6], bars);
    let bar = session.facts().nvme.bar(0).expect("there");
    assert_eq!((bar.address, bar.size, bar.wide), (NVME_BAR, 0x4000, true));
}

#[test]
fn a_capability_list_that_bites_its_tail() {
    let mut fake = Fake::new();
    // The lowest two bits of pointers are reserved.
    fake.config.get_mut(&NVME).expect("there")[0x34 / 4] = 0x43;
    let session = up(&mut fake, &host());
    assert_eq!(session.facts().nvme.express.map(|link| link.lanes), Some(4));
    let mut fake = Fake::new();
    // 0x40 points to itself, and 0x40 is no PCI Express capability.
    fake.config.get_mut(&NVME).expect("there")[0x40 / 4] = 0x4001;
    let session = up(&mut fake, &host());
    assert_eq!(session.facts().nvme.express, None);
}

#[test]
fn packets_that_the_card_cannot_take_are_refused() {
    // The drive may send 512 bytes, the card takes 256; then the other way round.
    for (sender, receiver) in [(NVME, FPGA), (FPGA, NVME)] {
        let failure = fails(&Options::default(), |fake| {
            fake.config.get_mut(&sender).expect("there")[0x78 / 4] = 2 << 5;
            fake.config.get_mut(&receiver).expect("there")[0x74 / 4] = 1;
        });
        assert_eq!(failure.step, StepName::Discover);
        let text = failure.to_string();
        let from_to = format!("512 bytes at {sender}, but {receiver} takes 256");
        assert!(text.contains(&from_to), "{text}");
    }
}
