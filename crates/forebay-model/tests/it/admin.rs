// SPDX-License-Identifier: Apache-2.0
//! Bring-up and admin commands: what is offered, what is refused and with which status.

use crate::support::Rig;
use forebay_model::{FaultAction, FaultPlan, MICROSECOND, SECOND, Trigger};
use forebay_spec::nvme::identify::{self, IdentifyController, IdentifyNamespace, cns};
use forebay_spec::nvme::log::{self, Smart};
use forebay_spec::nvme::regs::{self, Cap, Cc, Csts, Shutdown, ShutdownStatus};
use forebay_spec::nvme::{AdminOpcode, IoOpcode, Sqe, Status, feature};

fn enabled() -> Rig {
    let mut rig = Rig::cold("ideal", |_| {});
    rig.enable();
    rig
}

fn admin(opcode: AdminOpcode, nsid: u32, cdw10: u32, cdw11: u32) -> Sqe {
    let cdw = [cdw10, cdw11, 0, 0, 0, 0];
    Sqe {
        opcode: opcode.number(),
        nsid,
        cdw,
        ..Sqe::default()
    }
}

fn csts(rig: &mut Rig) -> Csts {
    Csts::from_bits(rig.read32(regs::CSTS))
}

#[test]
fn registers_say_what_the_profile_says() {
    let mut rig = Rig::cold("ideal", |ssd| ssd.controller.doorbell_stride = 2);
    let bytes = rig.read(regs::CAP, 8).unwrap();
    let cap = Cap::from_bits(u64::from_le_bytes(bytes[..].try_into().unwrap()));
    assert_eq!(
        (cap.max_queue_entries, cap.doorbell_stride, cap.timeout),
        (65536, 2, 1)
    );
    assert!(cap.contiguous_queues && cap.nvm_command_set);
    assert_eq!(rig.read32(regs::VS), regs::VERSION_1_4);
    assert_eq!(csts(&mut rig), Csts::default());
    assert_eq!(rig.ssd.config_read(8) >> 8, forebay_spec::pci::CLASS_NVME);
}

#[test]
fn ready_comes_in_its_time_and_within_what_is_announced() {
    let mut rig = Rig::cold("990pro-2tb", |_| {});
    rig.enable();
    let ready = rig.now;
    let controller = rig.ssd.profile().controller;
    assert!(ready >= controller.ready && ready < controller.ready + 10 * MICROSECOND);
    assert!(ready < controller.timeout_500ms as u64 * SECOND / 2);
    rig.write32(regs::CC, 0);
    while csts(&mut rig).ready {
        assert!(rig.wait());
    }
    assert!(rig.now >= ready + controller.ready);
}

#[test]
fn a_bad_configuration_is_fatal_and_a_reset_heals_it() {
    let mut rig = Rig::cold("ideal", |_| {});
    let cc = Cc {
        enable: true,
        page: 3,
        sqe_shift: 6,
        cqe_shift: 4,
        ..Cc::default()
    };
    rig.write32(regs::CC, cc.bits());
    assert!(csts(&mut rig).fatal);
    rig.write32(regs::CC, 0);
    assert_eq!(csts(&mut rig), Csts::default());
    rig.enable();
    assert!(csts(&mut rig).ready);
}

#[test]
fn shutdown_is_acknowledged_and_stops_commands() {
    let mut rig = enabled();
    let cc = Cc::from_bits(rig.read32(regs::CC));
    rig.write32(
        regs::CC,
        Cc {
            shutdown: Shutdown::Normal,
            ..cc
        }
        .bits(),
    );
    assert_eq!(csts(&mut rig).shutdown, ShutdownStatus::Complete);
    rig.write32(regs::DOORBELLS, 1);
    assert_eq!(rig.ssd.stats().invalid_doorbells, 1);
}

#[test]
fn identify_in_its_forms() {
    let mut rig = Rig::cold("ideal", |ssd| {
        let mut second = ssd.namespaces[0];
        second.block_shift = 12;
        ssd.namespaces.push(second);
    });
    rig.enable();
    let identify = |cns: u8, nsid| admin(AdminOpcode::Identify, nsid, cns as u32, 0);
    let (cqe, data) = rig.admin_read(identify(cns::CONTROLLER, 0));
    assert!(cqe.status.is_success());
    let bytes: &[u8; identify::BYTES] = data[..].try_into().unwrap();
    let controller = IdentifyController::from_bytes(bytes);
    assert_eq!(
        (controller.model_text(), controller.mdts),
        ("Forebay ideal", 8)
    );
    assert_eq!(
        (controller.namespaces, controller.vwc, controller.sqes),
        (2, 7, 0x66)
    );
    let (_, data) = rig.admin_read(identify(cns::NAMESPACE, 2));
    let namespace = IdentifyNamespace::from_bytes(data[..].try_into().unwrap());
    assert_eq!(
        (namespace.current().shift, namespace.size),
        (12, 2_000_398_934_016 >> 12)
    );
    assert_eq!((namespace.format_count, namespace.format), (2, 1));
    let shifts = [namespace.formats[0].shift, namespace.formats[1].shift];
    assert_eq!(shifts, [9, 12]);
    // Structures of the NVM command set, and of no other.
    for cns in [cns::COMMAND_SET_NAMESPACE, cns::COMMAND_SET_CONTROLLER] {
        let (cqe, data) = rig.admin_read(identify(cns, 1));
        assert!(cqe.status.is_success() && data[..4096].iter().all(|byte| *byte == 0));
        let zoned = admin(AdminOpcode::Identify, 1, cns as u32, 2 << 24);
        assert_eq!(rig.admin(zoned).status, Status::INVALID_FIELD);
    }
    let (_, data) = rig.admin_read(identify(cns::INDEPENDENT_NAMESPACE, 2));
    assert_eq!(data[14], 1);
    let (_, data) = rig.admin_read(identify(cns::ACTIVE_NAMESPACES, 0));
    assert!(identify::active_list(data[..].try_into().unwrap()).eq([1, 2]));
    let (_, data) = rig.admin_read(identify(cns::DESCRIPTORS, 1));
    assert_eq!(
        identify::descriptors(data[..].try_into().unwrap()).count(),
        1
    );
    assert_eq!(rig.admin(identify(0x7f, 0)).status, Status::INVALID_FIELD);
    assert_eq!(
        rig.admin(identify(cns::NAMESPACE, 3)).status,
        Status::INVALID_NAMESPACE
    );
    let odd = Sqe {
        prp1: 0x1_0000_0002,
        ..identify(cns::CONTROLLER, 0)
    };
    assert_eq!(rig.admin(odd).status, Status::INVALID_PRP_OFFSET);
}

#[test]
fn identify_crosses_a_page_by_its_second_entry() {
    let mut rig = enabled();
    let (first, second) = (
        rig.host.alloc(4096, 4096).unwrap(),
        rig.host.alloc(4096, 4096).unwrap(),
    );
    let sqe = admin(AdminOpcode::Identify, 0, cns::CONTROLLER as u32, 0);
    let cqe = rig.admin(sqe.with_prps(first + 4096 - 512, second));
    assert!(cqe.status.is_success());
    let mut sqes = [0];
    assert!(rig.host.read(second, &mut sqes));
    assert_eq!(sqes[0], 0x66);
}

#[test]
fn queues_are_checked_when_made_and_deleted() {
    let mut rig = Rig::cold("ideal", |ssd| {
        ssd.controller.io_queues = 4;
        ssd.controller.max_queue_entries = 64;
    });
    rig.enable();
    let page = rig.host.alloc(4096, 4096).unwrap();
    let mut create = |opcode, id: u32, entries: u32, cdw11: u32, prp1: u64| {
        let sqe = admin(opcode, 0, (entries - 1) << 16 | id, cdw11);
        rig.admin(Sqe { prp1, ..sqe }).status
    };
    use AdminOpcode::{CreateIoCq, CreateIoSq, DeleteIoCq, DeleteIoSq};
    assert_eq!(create(CreateIoCq, 0, 8, 1, page), Status::INVALID_QUEUE_ID);
    assert_eq!(create(CreateIoCq, 5, 8, 1, page), Status::INVALID_QUEUE_ID);
    assert_eq!(
        create(CreateIoCq, 1, 1, 1, page),
        Status::INVALID_QUEUE_SIZE
    );
    assert_eq!(
        create(CreateIoCq, 1, 65, 1, page),
        Status::INVALID_QUEUE_SIZE
    );
    assert_eq!(create(CreateIoCq, 1, 8, 0, page), Status::INVALID_FIELD);
    assert_eq!(
        create(CreateIoCq, 1, 8, 1, page + 8),
        Status::INVALID_PRP_OFFSET
    );
    assert_eq!(
        create(CreateIoCq, 1, 8, 99 << 16 | 3, page),
        Status::INVALID_INTERRUPT_VECTOR
    );
    assert_eq!(create(CreateIoCq, 1, 8, 1, page), Status::SUCCESS);
    assert_eq!(create(CreateIoCq, 1, 8, 1, page), Status::INVALID_QUEUE_ID);
    assert_eq!(create(CreateIoSq, 1, 8, 1, page), Status::INVALID_QUEUE_ID);
    assert_eq!(
        create(CreateIoSq, 1, 8, 2 << 16 | 1, page),
        Status::CQ_INVALID
    );
    assert_eq!(create(CreateIoSq, 1, 8, 1 << 16 | 1, page), Status::SUCCESS);
    assert_eq!(
        create(DeleteIoCq, 1, 1, 0, 0),
        Status::INVALID_QUEUE_DELETION
    );
    assert_eq!(create(DeleteIoSq, 1, 1, 0, 0), Status::SUCCESS);
    assert_eq!(create(DeleteIoSq, 1, 1, 0, 0), Status::INVALID_QUEUE_ID);
    assert_eq!(create(DeleteIoCq, 1, 1, 0, 0), Status::SUCCESS);
    assert_eq!(create(DeleteIoCq, 0, 1, 0, 0), Status::INVALID_QUEUE_ID);
}

#[test]
fn features_are_set_and_got() {
    let mut rig = enabled();
    let mut set = |feature: u8, value, flags: u32| {
        rig.admin(admin(
            AdminOpcode::SetFeatures,
            0,
            feature as u32 | flags,
            value,
        ))
    };
    let cqe = set(feature::NUMBER_OF_QUEUES, 0x0001_0003, 0);
    assert_eq!(feature::QueueCount::from_bits(cqe.result).submission, 4);
    assert_eq!(feature::QueueCount::from_bits(cqe.result).completion, 2);
    let cqe = set(feature::NUMBER_OF_QUEUES, 0xfffe_fffe, 0);
    assert_eq!(feature::QueueCount::from_bits(cqe.result).submission, 64);
    let all = set(feature::NUMBER_OF_QUEUES, 0xffff_ffff, 0);
    assert_eq!(all.status, Status::INVALID_FIELD);
    assert!(set(feature::ASYNC_EVENT, 0x1f, 0).status.is_success());
    assert_eq!(
        set(feature::ASYNC_EVENT, 0, 1 << 31).status,
        Status::FEATURE_NOT_SAVEABLE
    );
    assert_eq!(set(0x7f, 0, 0).status, Status::INVALID_FIELD);
    assert!(set(feature::VOLATILE_WRITE_CACHE, 0, 0).status.is_success());
    let mut get = |feature: u8, select: u32| {
        rig.admin(admin(
            AdminOpcode::GetFeatures,
            0,
            feature as u32 | select << 8,
            0,
        ))
    };
    assert_eq!(get(feature::ASYNC_EVENT, 0).result, 0x1f);
    assert_eq!(get(feature::ASYNC_EVENT, 1).result, 0);
    assert_eq!(get(feature::ASYNC_EVENT, 3).result, 4);
    assert_eq!(get(feature::VOLATILE_WRITE_CACHE, 0).result, 0);
    assert_eq!(get(0x7f, 0).status, Status::INVALID_FIELD);
    // Once there are queues their number is fixed.
    rig.create_queue(1, 4);
    let late = rig.admin(admin(
        AdminOpcode::SetFeatures,
        0,
        feature::NUMBER_OF_QUEUES as u32,
        0,
    ));
    assert_eq!(late.status, Status::COMMAND_SEQUENCE_ERROR);
}

#[test]
fn log_pages_tell_what_went_wrong() {
    let (mut rig, mut queue) = Rig::with_queue("ideal", 8, |_| {});
    let page = rig.host.alloc(4096, 4096).unwrap();
    let read = |slba| Sqe::transfer(IoOpcode::Read, 1, slba, 1).with_prps(page, 0);
    assert!(rig.run(&mut queue, &read(0)).status.is_success());
    let beyond = read(u64::MAX - 1);
    assert_eq!(
        rig.run(&mut queue, &beyond).status,
        Status::LBA_OUT_OF_RANGE
    );
    let get = |page: u8, bytes: u32, offset: u32| {
        let mut sqe = admin(
            AdminOpcode::GetLogPage,
            0,
            page as u32 | (bytes / 4 - 1) << 16,
            0,
        );
        sqe.cdw[2] = offset;
        sqe
    };
    let (_, data) = rig.admin_read(get(log::ERROR_INFORMATION, 64, 0));
    assert_eq!(data[..12], [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(data[16..24], beyond.slba().to_le_bytes());
    let (_, data) = rig.admin_read(get(log::SMART, 512, 0));
    let smart = Smart::from_bytes(data[..512].try_into().unwrap());
    assert_eq!((smart.host_reads, smart.error_entries), (1, 1));
    let (_, data) = rig.admin_read(get(log::FIRMWARE_SLOT, 512, 8));
    assert_eq!(data[..5], *b"0.1.0");
    let (_, data) = rig.admin_read(get(log::COMMANDS, 4096, 0));
    let effects = |at: usize| u32::from_le_bytes(data[4 * at..4 * at + 4].try_into().unwrap());
    // Identify, Format NVM; Write, Read, Compare, Write Uncorrectable.
    assert_eq!((effects(0x06), effects(0x80)), (1, 0x2_0007));
    assert_eq!((effects(257), effects(258), effects(261)), (3, 1, 1));
    assert_eq!(effects(260), 0);
    assert_eq!(rig.admin(get(0x7f, 64, 0)).status, Status::INVALID_LOG_PAGE);
    assert_eq!(
        rig.admin(get(log::SMART, 64, 4096)).status,
        Status::INVALID_FIELD
    );
    assert_eq!(
        rig.admin(get(log::SMART, 64, 2)).status,
        Status::INVALID_FIELD
    );
}

#[test]
fn bad_doorbells_are_reported_as_events() {
    let (mut rig, _queue) = Rig::with_queue("ideal", 8, |_| {});
    let request = |cid| Sqe {
        cid,
        ..admin(AdminOpcode::AsyncEventRequest, 0, 0, 0)
    };
    let mut queue = std::mem::replace(&mut rig.admin, rig_queue());
    rig.submit(&mut queue, &request(100));
    assert_eq!(rig.poll(&mut queue), None);
    rig.write32(regs::sq_doorbell(1, 0), 8);
    let cqe = rig.take(&mut queue).unwrap();
    assert_eq!(
        (cqe.cid, cqe.result),
        (100, log::event::INVALID_DOORBELL_VALUE)
    );
    // The type is masked until the log page is read.
    rig.submit(&mut queue, &request(101));
    rig.write32(regs::sq_doorbell(9, 0), 1);
    assert_eq!(rig.take(&mut queue), None);
    let page = rig.host.alloc(4096, 4096).unwrap();
    let read = admin(AdminOpcode::GetLogPage, 0, log::ERROR_INFORMATION as u32, 0);
    rig.run(&mut queue, &read.with_prps(page, 0));
    rig.submit(&mut queue, &request(102));
    let cqe = rig.take(&mut queue).unwrap();
    assert_eq!((cqe.cid, cqe.result), (101, log::event::INVALID_DOORBELL));
    assert_eq!(rig.ssd.stats().invalid_doorbells, 2);
    for cid in 103..106 {
        rig.submit(&mut queue, &request(cid));
    }
    rig.submit(&mut queue, &request(106));
    let cqe = rig.take(&mut queue).unwrap();
    assert_eq!(
        (cqe.cid, cqe.status),
        (106, Status::ASYNC_EVENT_LIMIT_EXCEEDED)
    );
}

/// A stand-in for the admin queue while a test holds it.
fn rig_queue() -> crate::support::Queue {
    crate::support::Queue {
        id: 0,
        entries: 2,
        sq: 0,
        cq: 0,
        tail: 0,
        head: 0,
        phase: true,
    }
}

#[test]
fn unknown_commands_are_refused() {
    let (mut rig, mut queue) = Rig::with_queue("ideal", 8, |_| {});
    let unknown = Sqe {
        opcode: 0x7f,
        nsid: 1,
        ..Sqe::default()
    };
    assert_eq!(rig.admin(unknown).status, Status::INVALID_OPCODE);
    assert_eq!(rig.run(&mut queue, &unknown).status, Status::INVALID_OPCODE);
    let sgl = Sqe {
        flags: 0x40,
        ..Sqe::transfer(IoOpcode::Read, 1, 0, 1)
    };
    assert_eq!(rig.run(&mut queue, &sgl).status, Status::INVALID_FIELD);
}

#[test]
fn a_format_changes_the_block_and_forgets_the_data() {
    let (mut rig, mut queue) = Rig::with_queue("ideal", 8, |ssd| {
        ssd.namespaces[0].bytes = 1 << 20;
        ssd.namespaces.push(ssd.namespaces[0]);
    });
    let page = rig.host.alloc(4096, 4096).unwrap();
    let io =
        |opcode, nsid, slba, blocks| Sqe::transfer(opcode, nsid, slba, blocks).with_prps(page, 0);
    let format = |nsid, setting| admin(AdminOpcode::FormatNvm, nsid, setting, 0);
    for nsid in [1, 2] {
        rig.host.write(page, &[nsid as u8; 512]);
        let cqe = rig.run(&mut queue, &io(IoOpcode::Write, nsid, 2047, 1));
        assert!(cqe.status.is_success());
    }
    assert!(rig.admin(format(1, 1)).status.is_success());
    let shape = |rig: &mut Rig, nsid| {
        let identify = admin(AdminOpcode::Identify, nsid, cns::NAMESPACE as u32, 0);
        let (_, data) = rig.admin_read(identify);
        let namespace = IdentifyNamespace::from_bytes(data[..].try_into().unwrap());
        (namespace.current().shift, namespace.size)
    };
    assert_eq!(shape(&mut rig, 1), (12, 256));
    assert_eq!(shape(&mut rig, 2), (9, 2048));
    // The last block of each: forgotten, kept.
    for (nsid, slba, byte) in [(1, 255, 0), (2, 2047, 2)] {
        let cqe = rig.run(&mut queue, &io(IoOpcode::Read, nsid, slba, 1));
        assert!(cqe.status.is_success());
        let mut data = [0xff; 512];
        assert!(rig.host.read(page, &mut data));
        assert_eq!(data, [byte; 512]);
    }
    let beyond = rig.run(&mut queue, &io(IoOpcode::Read, 1, 256, 1));
    assert_eq!(beyond.status, Status::LBA_OUT_OF_RANGE);
    // All namespaces, with their data erased.
    assert!(rig.admin(format(u32::MAX, 1 << 9)).status.is_success());
    assert_eq!(shape(&mut rig, 1), (9, 2048));
    for (nsid, setting, status) in [
        (1, 2, Status::INVALID_FORMAT),
        (1, 1 << 12, Status::INVALID_FORMAT),
        (1, 1 << 5, Status::INVALID_FORMAT),
        (1, 2 << 9, Status::INVALID_FIELD),
        (3, 0, Status::INVALID_NAMESPACE),
        (0, 0, Status::INVALID_NAMESPACE),
    ] {
        let cqe = rig.admin(format(nsid, setting));
        assert_eq!(cqe.status, status, "{setting:#x}");
    }
}

#[test]
fn a_namespace_in_use_is_not_formatted() {
    let (mut rig, mut queue) = Rig::with_queue("ideal", 8, |_| {});
    let never = FaultPlan::none().once(Trigger::Nth(1), FaultAction::Drop);
    rig.ssd.set_faults(never);
    rig.submit(&mut queue, &Sqe::transfer(IoOpcode::Read, 1, 0, 1));
    rig.step();
    let format = admin(AdminOpcode::FormatNvm, 1, 0, 0);
    assert_eq!(rig.admin(format).status, Status::COMMAND_SEQUENCE_ERROR);
}

#[test]
fn masked_interrupts_wait() {
    let mut rig = enabled();
    let place = *rig.ssd.msix_table();
    let (table, pending) = (place.table as u64, place.pending as u64);
    rig.ssd.config_write(0x80, 0x8000_0000);
    rig.send(table, &0xfee0_0000u64.to_le_bytes());
    rig.send(table + 8, &0x1_0000_0055u64.to_le_bytes());
    let get = admin(AdminOpcode::GetFeatures, 0, feature::ARBITRATION as u32, 0);
    rig.admin(get);
    assert_eq!((rig.host.take_interrupt(), rig.read32(pending)), (None, 1));
    // The vector is unmasked, but now the whole function is masked.
    rig.ssd.config_write(0x80, 0xc000_0000);
    rig.send(table + 12, &0u32.to_le_bytes());
    rig.step();
    assert_eq!((rig.host.take_interrupt(), rig.read32(pending)), (None, 1));
    rig.ssd.config_write(0x80, 0x8000_0000);
    assert_eq!(rig.ssd.next_event(), Some(0));
    rig.step();
    assert_eq!(rig.host.take_interrupt(), Some(0x55));
    assert_eq!((rig.read32(pending), rig.ssd.next_event()), (0, None));
}

#[test]
fn a_function_reset_leaves_nothing_but_the_data() {
    let (mut rig, mut queue) = Rig::with_queue("ideal", 8, |_| {});
    let page = rig.host.alloc(4096, 4096).unwrap();
    rig.host.write(page, &[7; 512]);
    let write = Sqe::transfer(IoOpcode::Write, 1, 3, 1).with_prps(page, 0);
    assert!(rig.run(&mut queue, &write).status.is_success());
    rig.ssd.function_reset();
    assert_eq!(rig.ssd.bar_range(), None);
    assert_eq!(rig.ssd.config_read(4) as u16, 0);
    for register in [regs::CC, regs::CSTS] {
        assert_eq!(rig.ssd.bar_read(register, 4)[..], [0; 4]);
    }
    assert_eq!(rig.ssd.medium().read(3 * 512, 512).unwrap()[..], [7; 512]);
}

#[test]
fn interrupts_are_sent_where_enabled() {
    let mut rig = enabled();
    rig.ssd.config_write(0x80, 0x8000_0000);
    let table = rig.ssd.config_read(0x84) as u64;
    rig.send(table, &0xfee0_0000u64.to_le_bytes());
    rig.send(table + 8, &0x55u64.to_le_bytes());
    rig.admin(admin(
        AdminOpcode::GetFeatures,
        0,
        feature::ARBITRATION as u32,
        0,
    ));
    rig.step();
    assert_eq!(rig.host.take_interrupt(), Some(0x55));
    assert_eq!(rig.host.take_interrupt(), None);
}

#[test]
fn nothing_is_sent_before_bus_mastering_is_allowed() {
    let mut rig = Rig::cold("ideal", |_| {});
    rig.ssd.config_write(4, 2);
    rig.enable();
    let mut queue = std::mem::replace(&mut rig.admin, rig_queue());
    rig.submit(&mut queue, &admin(AdminOpcode::GetFeatures, 0, 1, 0));
    assert_eq!(rig.take(&mut queue), None);
}
