// SPDX-License-Identifier: Apache-2.0
//! The driver against a third party's controller: QEMU's NVMe device, over qtest.
//!
//! What our model and our driver might both misunderstand shows here.

use std::path::Path;
use std::time::Duration;

use crate::support::Random;
use crate::support::bent::{Bend, Bent};
use crate::support::qtest::{Image, Qtest, available};
use forebay_driver::peer::{self, Method, Way};
use forebay_driver::{
    Done, Namespace, Options, QueuePair, QueuePlacement, Session, Span, StepName, bring_up,
};

const IMAGE_BYTES: usize = 8 << 20;
const LIMIT: Duration = Duration::from_secs(20);

fn options() -> Options {
    Options {
        placement: QueuePlacement::Host,
        queue_entries: 64,
        ..Options::default()
    }
}

fn start(directory: &Path, devices: Vec<String>) -> Qtest {
    Qtest::start(directory, &devices).expect("QEMU starts")
}

/// A machine with one drive of one namespace.
fn one_drive(directory: &Path, block: u32, more: &str, seed: u64) -> (Qtest, Image, Random) {
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let image = Image::new(directory, "drive.img", IMAGE_BYTES, &mut random).expect("image");
    let mut devices = Vec::from(image.drive("d0"));
    devices.push("-device".into());
    devices.push(format!(
        "nvme,serial=FB0001,drive=d0,logical_block_size={block},physical_block_size={block}{more}"
    ));
    (start(directory, devices), image, random)
}

/// Ends the machine; QEMU must have had nothing to say against the driver.
fn end(bus: Qtest) {
    let complaints = bus.complaints().expect("log");
    assert!(complaints.is_empty(), "{complaints:#?}");
}

fn bring_up_shown(bus: &mut Qtest, options: &Options) -> Session {
    let session = bring_up(bus, options).unwrap_or_else(|failure| {
        panic!("{failure}\n{}\n{:#?}", failure.remedy(), failure.before);
    });
    for step in session.steps() {
        println!("{step}");
    }
    session
}

/// Random writes of every PRP shape, read back in one sweep out of order, and again from the file.
fn hammer(
    bus: &mut Qtest,
    pair: &mut QueuePair,
    namespace: &Namespace,
    expected: &mut [u8],
    random: &mut Random,
    commands: usize,
) {
    use forebay_driver::Bus;
    let most = pair.transfer_bytes().min(1 << 20);
    let block = namespace.block_bytes();
    let buffers: Vec<_> = (0..16)
        .map(|_| bus.dma_alloc(most as usize + 8192, 4096).expect("memory"))
        .collect();
    let mut shapes = [0usize; 3];
    for round in 0..commands.div_ceil(buffers.len()) {
        let write = round % 2 == 0;
        let mut pending = Vec::new();
        let mut taken: Vec<std::ops::Range<usize>> = Vec::new();
        for buffer in &buffers {
            // One page, two pages, or a list; with and without an offset in the first page.
            let most_blocks = (match random.below(3) {
                0 => 4096,
                1 => 8192,
                _ => most,
            } / block)
                .clamp(1, most / block);
            let blocks = (1 + random.below(most_blocks)) as u32;
            let offset = [0, (random.below(1024) * 4) as usize][random.below(2) as usize];
            let lba = random.below(namespace.blocks - u64::from(blocks) + 1);
            let length = (u64::from(blocks) * block) as usize;
            let at = (lba * block) as usize;
            let range = at..at + length;
            // Commands in flight together may run in any order: give each its own blocks.
            if taken
                .iter()
                .any(|other| other.start < range.end && range.start < other.end)
            {
                continue;
            }
            taken.push(range.clone());
            shapes[match (offset + length).div_ceil(4096) {
                1 => 0,
                2 => 1,
                _ => 2,
            }] += 1;
            let span = Span { buffer, offset };
            let cid = if write {
                let data = random.bytes(length);
                bus.dma_write(buffer, offset, &data).expect("memory");
                expected[range.clone()].copy_from_slice(&data);
                let fua = random.below(4) == 0;
                pair.write(bus, namespace, lba, blocks, span, fua)
            } else {
                bus.dma_write(buffer, offset, &vec![0xee; length])
                    .expect("memory");
                pair.read(bus, namespace, lba, blocks, span)
            };
            pending.push((cid.expect("submitted"), buffer, offset, range));
        }
        let mut done: Vec<Done> = Vec::new();
        pair.finish(bus, LIMIT, &mut done).expect("completes");
        assert_eq!(done.len(), pending.len());
        assert!(done.iter().all(|done| done.status.is_success()), "{done:?}");
        for (cid, buffer, offset, range) in pending.iter().filter(|_| !write) {
            assert_eq!(done.iter().filter(|done| done.cid == *cid).count(), 1);
            let mut data = vec![0; range.len()];
            bus.dma_read(buffer, *offset, &mut data).expect("memory");
            assert!(data == expected[range.clone()], "bytes {range:?} differ");
        }
    }
    assert!(
        commands < 48 || shapes.iter().all(|count| *count > 0),
        "PRP shapes {shapes:?}"
    );
    assert_eq!(pair.rogues(), Default::default());
    let mut done = Vec::new();
    pair.flush(bus, namespace).expect("submitted");
    pair.finish(bus, LIMIT, &mut done).expect("flushed");
    assert!(done[0].status.is_success(), "{done:?}");
}

/// Bring-up, random traffic, shutdown, and the image compared with what was written.
fn round_trip(block: u32, more: &str, seed: u64, check: impl FnOnce(&Session)) {
    if !available() {
        return;
    }
    let directory = tempfile::tempdir().expect("directory");
    let (mut bus, mut image, mut random) = one_drive(directory.path(), block, more, seed);
    let mut session = bring_up_shown(&mut bus, &options());
    let facts = session.facts();
    assert_eq!(facts.controller.model, "QEMU NVMe Ctrl");
    assert_eq!(facts.controller.serial, "FB0001");
    assert_eq!(facts.namespace.block_bytes(), u64::from(block));
    assert_eq!(facts.namespace.bytes(), IMAGE_BYTES as u64);
    check(&session);
    let namespace = facts.namespace;
    let pair = session.queue_pair().expect("in host memory");
    hammer(
        &mut bus,
        pair,
        &namespace,
        &mut image.expected,
        &mut random,
        256,
    );
    let steps = session.shutdown(&mut bus).expect("shuts down");
    assert_eq!(steps.last().map(|step| step.name), Some(StepName::Shutdown));
    end(bus);
    assert_eq!(image.difference().expect("image"), None);
}

#[test]
fn blocks_of_512_bytes_reach_the_image() {
    round_trip(512, "", 1, |session| {
        // QEMU's default MDTS is 7: 512 KiB.
        assert_eq!(session.facts().transfer_bytes, 512 << 10);
        assert_eq!(session.facts().capabilities.doorbell_stride, 4);
        assert_eq!(session.facts().queue_entries, 64);
        assert_eq!(session.facts().capabilities.queue_entries, 2048);
    });
}

#[test]
fn blocks_of_4096_bytes_reach_the_image() {
    round_trip(4096, "", 2, |session| {
        assert_eq!(session.facts().namespace.blocks, 2048)
    });
}

#[test]
fn commands_of_two_pages_at_most() {
    round_trip(512, ",mdts=1", 3, |session| {
        assert_eq!(session.facts().transfer_bytes, 8192)
    });
}

#[test]
fn commands_of_any_size() {
    round_trip(4096, ",mdts=0", 4, |session| {
        assert_eq!(session.facts().controller.transfer_bytes, None);
        assert_eq!(session.facts().transfer_bytes, 2 << 20);
    });
}

#[test]
fn namespaces_of_both_block_sizes_do_not_touch_each_other() {
    if !available() {
        return;
    }
    let directory = tempfile::tempdir().expect("directory");
    let mut random = Random::new(5);
    let mut images: Vec<_> = (0..3)
        .map(|n| {
            let name = format!("ns{n}.img");
            Image::new(directory.path(), &name, IMAGE_BYTES, &mut random).expect("image")
        })
        .collect();
    let mut devices = vec!["-device".to_owned(), "nvme,id=ctl,serial=FB0002".to_owned()];
    for (n, (nsid, block)) in [(1, 512), (2, 4096), (7, 512)].iter().enumerate() {
        devices.extend(images[n].drive(&format!("d{n}")));
        devices.push("-device".into());
        devices.push(format!(
            "nvme-ns,bus=ctl,drive=d{n},nsid={nsid},logical_block_size={block},\
             physical_block_size={block}"
        ));
    }
    let mut bus = start(directory.path(), devices);
    let options = Options {
        nsid: Some(2),
        more_queues: 1,
        ..options()
    };
    let mut session = bring_up_shown(&mut bus, &options);
    assert_eq!(session.facts().namespaces, [1, 2, 7]);
    assert_eq!(session.facts().namespace.block_shift, 12);
    // The second queue pair stands beside the first, and its commands name their namespace.
    let mut second = session.create_queue_pair(&mut bus, 8).expect("queue pair");
    assert_eq!((second.id(), second.room()), (2, 7));
    for (n, nsid) in [1, 2, 7].into_iter().enumerate() {
        let namespace = session.namespace(&mut bus, nsid).expect("namespace");
        let pair = session.queue_pair().expect("in host memory");
        hammer(
            &mut bus,
            pair,
            &namespace,
            &mut images[n].expected,
            &mut random,
            48,
        );
    }
    let namespace = session.namespace(&mut bus, 7).expect("namespace");
    let error = second.flush(&mut bus, &namespace).and_then(|_| {
        let mut done = Vec::new();
        second.finish(&mut bus, LIMIT, &mut done)
    });
    error.expect("flushed");
    session
        .delete_queue_pair(&mut bus, second)
        .expect("deleted");
    session.shutdown(&mut bus).expect("shuts down");
    end(bus);
    for image in &images {
        assert_eq!(
            image.difference().expect("image"),
            None,
            "{}",
            image.path.display()
        );
    }
}

#[test]
fn a_drive_comes_back_after_recovery_and_after_shutdown() {
    if !available() {
        return;
    }
    let directory = tempfile::tempdir().expect("directory");
    let (mut bus, mut image, mut random) = one_drive(directory.path(), 512, "", 6);
    let mut session = bring_up_shown(&mut bus, &options());
    for round in 0..3 {
        let namespace = session.facts().namespace;
        let pair = session.queue_pair().expect("in host memory");
        hammer(
            &mut bus,
            pair,
            &namespace,
            &mut image.expected,
            &mut random,
            48,
        );
        session = if round == 1 {
            session.shutdown(&mut bus).expect("shuts down");
            bring_up_shown(&mut bus, &options())
        } else {
            session
                .recover(&mut bus, &mut |step| println!("{step}"))
                .expect("recovers")
        };
    }
    session.shutdown(&mut bus).expect("shuts down");
    end(bus);
    assert_eq!(image.difference().expect("image"), None);
}

/// What the driver must refuse, and how it says so.
fn refusal(block: u32, more: &str, options: &Options, step: StepName, words: &[&str]) {
    if !available() {
        return;
    }
    let directory = tempfile::tempdir().expect("directory");
    let (mut bus, image, _) = one_drive(directory.path(), block, more, 7);
    let failure = bring_up(&mut bus, options).expect_err("is refused");
    let text = format!("{failure}. {}", failure.remedy());
    println!("{text}");
    assert_eq!(failure.step, step, "{text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    end(bus);
    assert_eq!(
        image.difference().expect("image"),
        None,
        "a refused drive was written to"
    );
}

#[test]
fn blocks_of_1024_bytes_are_refused() {
    let words = ["1024 bytes", "512 or 4096", "nvme format"];
    refusal(1024, "", &options(), StepName::IdentifyNamespace, &words);
}

#[test]
fn a_queue_that_is_not_granted_is_refused() {
    let options = Options {
        queue_id: 3,
        ..options()
    };
    let words = ["granted is 2", "queue 3", "lower"];
    refusal(
        512,
        ",max_ioqpairs=2",
        &options,
        StepName::QueueCount,
        &words,
    );
}

#[test]
fn a_namespace_that_is_not_there_is_refused() {
    let options = Options {
        nsid: Some(9),
        ..options()
    };
    refusal(
        512,
        "",
        &options,
        StepName::Namespaces,
        &["9 was asked for", "active are [1]"],
    );
}

#[test]
fn of_two_drives_none_is_guessed() {
    if !available() {
        return;
    }
    let directory = tempfile::tempdir().expect("directory");
    let mut random = Random::new(8);
    let mut devices = Vec::new();
    for name in ["a", "b"] {
        let image = Image::new(directory.path(), name, 1 << 20, &mut random).expect("image");
        devices.extend(image.drive(name));
        devices.extend([
            "-device".into(),
            format!("nvme,serial=FB{name},drive={name}"),
        ]);
    }
    let mut bus = start(directory.path(), devices);
    let failure = bring_up(&mut bus, &options()).expect_err("is refused");
    assert!(
        failure.to_string().contains("2 to choose from"),
        "{failure}"
    );
    let nvme = "0000:00:02.0".parse().ok();
    let session = bring_up_shown(&mut bus, &Options { nvme, ..options() });
    assert_eq!(session.facts().controller.serial, "FBb");
    session.shutdown(&mut bus).expect("shuts down");
    end(bus);
}

#[test]
fn two_drives_compare_bytes_of_one_s_memory() {
    if !available() {
        return;
    }
    let directory = tempfile::tempdir().expect("directory");
    println!("seed 10");
    let mut random = Random::new(10);
    let drive = Image::new(directory.path(), "a", 1 << 20, &mut random).expect("image");
    let peer = Image::new(directory.path(), "b", 1 << 20, &mut random).expect("image");
    let mut devices = Vec::from(drive.drive("a"));
    devices.extend(["-device".into(), "nvme,serial=FBa,drive=a".into()]);
    devices.extend(peer.drive("b"));
    let memory = "nvme,serial=FBb,drive=b,cmb_size_mb=1";
    devices.extend(["-device".into(), memory.into()]);
    let mut bus = start(directory.path(), devices);
    let nvme = "0000:00:01.0".parse().ok();
    let memory = peer::Memory {
        device: "0000:00:02.0".parse().expect("an address"),
        bar: 2,
        offset: 4096,
        bytes: 64 << 10,
    };
    let mut session = bring_up_shown(&mut bus, &Options { nvme, ..options() });
    let settings = peer::Settings {
        largest: 16 << 10,
        ..peer::Settings::default()
    };
    let report = peer::check(&mut bus, &mut session, &memory, &settings).expect("can be made");
    println!("{report:#?}");
    assert!(report.is_good());
    assert!(report.left_out.is_empty());
    assert!(drive.expected == std::fs::read(&drive.path).expect("an image"));

    // QEMU's controller says success whatever the peer's address leads to.
    let mut bent = Bent {
        bus: &mut bus,
        device: memory.device,
        bar: memory.bar,
        bend: Bend::Elsewhere(1 << 40),
    };
    let report = peer::check(&mut bent, &mut session, &memory, &settings).expect("can be made");
    println!("{report:#?}");
    assert_eq!(report.way(Way::HostAndPeer), Some(true));
    assert_eq!(report.way(Way::DriveToPeer), Some(false));
    assert_eq!(report.way(Way::PeerToDrive), Some(false));
    let read = report.tests.iter().find(|test| test.method == Method::Read);
    assert!(read.is_some_and(|test| test.different == test.compared));
    assert!(drive.expected == std::fs::read(&drive.path).expect("an image"));
    session.shutdown(&mut bus).expect("shuts down");
}

#[test]
fn an_error_of_the_medium_arrives_as_its_status() {
    if !available() {
        return;
    }
    let directory = tempfile::tempdir().expect("directory");
    let mut random = Random::new(9);
    let image = Image::new(directory.path(), "drive.img", 1 << 20, &mut random).expect("image");
    let config = directory.path().join("faults");
    // Every read of sector 8 (bytes 4096 to 4607) fails.
    let rules = "[inject-error]\nevent = \"read_aio\"\nerrno = \"5\"\nsector = \"8\"\n";
    std::fs::write(&config, rules).expect("rules");
    let (config, path) = (config.display(), image.path.display());
    let devices = vec![
        "-drive".into(),
        format!("file=blkdebug:{config}:{path},if=none,id=d0,format=raw"),
        "-device".into(),
        "nvme,serial=FB0003,drive=d0".into(),
    ];
    let mut bus = start(directory.path(), devices);
    let mut session = bring_up_shown(&mut bus, &options());
    let namespace = session.facts().namespace;
    let pair = session.queue_pair().expect("in host memory");
    let buffer = forebay_driver::Bus::dma_alloc(&mut bus, 4096, 4096).expect("memory");
    let mut done = Vec::new();
    for lba in [0, 8, 16] {
        let span = Span {
            buffer: &buffer,
            offset: 0,
        };
        pair.read(&mut bus, &namespace, lba, 1, span)
            .expect("submitted");
        pair.finish(&mut bus, LIMIT, &mut done).expect("completes");
    }
    println!("{done:?}");
    assert!(done[0].status.is_success() && done[2].status.is_success());
    assert_eq!((done[1].status.sct(), done[1].status.sc()), (2, 0x81));
    session.shutdown(&mut bus).expect("shuts down");
    // The one it injected, and so the proof that such a line would be seen in the other tests.
    let complaints = bus.complaints().expect("log");
    println!("{complaints:#?}");
    assert!(
        complaints
            .iter()
            .any(|line| line.contains("pci_nvme_err_aio"))
    );
}
