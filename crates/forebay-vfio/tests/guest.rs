// SPDX-License-Identifier: Apache-2.0
//! The driver through VFIO on QEMU's NVMe controller, behind a translating IOMMU.
//!
//! These tests run in the guest, where tests/vm takes them; elsewhere they would take a drive.

#[path = "../../forebay-driver/tests/it/support/bent.rs"]
mod bent;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bent::{Bend, Bent};
use forebay_driver::peer::{self, Memory, Method, Way};
use forebay_driver::{
    Bus, BusError, DmaBuffer, Options, PciAddress, QueuePlacement, Session, Span, bring_up,
};
use forebay_vfio::{Settings, Sysfs, VfioBus};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

const DRIVE: PciAddress = PciAddress::new(1, 0, 0);
/// A drive with memory of its own (CMB) in BAR 2.
const PEER: PciAddress = PciAddress::new(2, 0, 0);
const CMB: u8 = 2;
const LIMIT: Duration = Duration::from_secs(60);
const TRANSFER: usize = 256 << 10;

fn open(devices: &[PciAddress], stop: &Arc<AtomicBool>) -> VfioBus {
    let settings = Settings {
        devices: devices.to_vec(),
        stop: Arc::clone(stop),
        ..Settings::default()
    };
    VfioBus::open(&Sysfs::default(), settings)
        .unwrap_or_else(|error| panic!("{error}\n{}", error.remedy()))
}

fn driver_of(device: PciAddress) -> Option<String> {
    Sysfs::default()
        .function(device)
        .expect("a function")
        .driver
}

fn start(bus: &mut VfioBus, nsid: u32) -> Session {
    let options = Options {
        nvme: Some(DRIVE),
        placement: QueuePlacement::Host,
        queue_entries: 64,
        nsid: Some(nsid),
        ..Options::default()
    };
    bring_up(bus, &options).unwrap_or_else(|failure| panic!("{failure}\n{}", failure.remedy()))
}

/// Writes both namespaces full of random bytes, reads them back; the host compares the images.
#[test]
#[ignore = "takes a drive: tests/vm runs it in a guest"]
fn a_drive_is_filled_and_read_back() {
    let stop = Arc::default();
    let mut bus = open(&[DRIVE], &stop);
    assert_eq!(driver_of(DRIVE).as_deref(), Some("vfio-pci"));
    for nsid in [1, 2] {
        let mut session = start(&mut bus, nsid);
        for step in session.steps() {
            println!("{step}");
        }
        let namespace = session.facts().namespace;
        let most = usize::try_from(session.facts().transfer_bytes).expect("small");
        let step = TRANSFER.min(most);
        let buffer = bus.dma_alloc(step, 4096).expect("memory");
        let mut random = Pcg64Mcg::seed_from_u64(nsid.into());
        let mut expected = vec![0; usize::try_from(namespace.bytes()).expect("small")];
        random.fill_bytes(&mut expected);
        let pair = session.queue_pair().expect("in host memory");
        for write in [true, false] {
            for (index, part) in expected.chunks(step).enumerate() {
                let blocks = (part.len() as u64 / namespace.block_bytes()) as u32;
                let lba = (index * step) as u64 / namespace.block_bytes();
                let span = Span {
                    buffer: &buffer,
                    offset: 0,
                };
                if write {
                    bus.dma_write(&buffer, 0, part).expect("memory");
                    pair.write(&mut bus, &namespace, lba, blocks, span, false)
                } else {
                    bus.dma_write(&buffer, 0, &vec![0xee; part.len()])
                        .expect("memory");
                    pair.read(&mut bus, &namespace, lba, blocks, span)
                }
                .expect("submitted");
                let mut done = Vec::new();
                pair.finish(&mut bus, LIMIT, &mut done).expect("completes");
                assert!(done.iter().all(|done| done.status.is_success()), "{done:?}");
                if !write {
                    let mut back = vec![0; part.len()];
                    bus.dma_read(&buffer, 0, &mut back).expect("memory");
                    assert!(back == part, "namespace {nsid}: bytes at LBA {lba} differ");
                }
            }
        }
        bus.dma_free(buffer);
        session.shutdown(&mut bus).expect("shuts down");
        std::fs::write(format!("namespace{nsid}.bin"), &expected).expect("a file for the host");
        println!("namespace {nsid}: {} bytes, 0 differ", expected.len());
    }
    drop(bus);
    assert_eq!(driver_of(DRIVE).as_deref(), Some("nvme"), "given back");
}

/// The drive takes its payload from another device's memory, and puts it there: no byte of it is
/// in host memory on the way.
#[test]
#[ignore = "takes two drives: tests/vm runs it in a guest"]
fn peer_to_peer_bytes_arrive_in_both_directions() {
    const BYTES: usize = 8192;
    let stop = Arc::default();
    let mut bus = open(&[DRIVE, PEER], &stop);
    let mut session = start(&mut bus, 1);
    let namespace = session.facts().namespace;
    let blocks = (BYTES as u64 / namespace.block_bytes()) as u32;
    // A handle on memory that is not the host's.
    let there = DmaBuffer {
        address: bus.bar_address(PEER, CMB).expect("mapped"),
        len: BYTES,
    };
    let here = bus.dma_alloc(BYTES, 4096).expect("memory");
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let words: Vec<u64> = (0..BYTES / 8).map(|_| random.next_u64()).collect();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let pair = session.queue_pair().expect("in host memory");
    let mut transfer = |bus: &mut VfioBus, buffer: &DmaBuffer, lba: u64, write: bool| {
        let span = Span { buffer, offset: 0 };
        match write {
            true => pair.write(bus, &namespace, lba, blocks, span, false),
            false => pair.read(bus, &namespace, lba, blocks, span),
        }
        .expect("submitted");
        let mut done = Vec::new();
        pair.finish(bus, LIMIT, &mut done).expect("completes");
        assert!(done[0].status.is_success(), "{done:?}");
    };

    // From the peer to the drive. The status proves nothing: compare.
    for (index, word) in words.iter().enumerate() {
        bus.bar_write64(PEER, CMB, 8 * index as u64, *word)
            .expect("written");
    }
    transfer(&mut bus, &there, 0, true);
    transfer(&mut bus, &here, 0, false);
    let mut back = vec![0; BYTES];
    bus.dma_read(&here, 0, &mut back).expect("memory");
    assert!(back == bytes, "bytes from the peer differ");

    // From the drive to the peer.
    let turned: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
    bus.dma_write(&here, 0, &turned).expect("memory");
    transfer(&mut bus, &here, 16, true);
    transfer(&mut bus, &there, 16, false);
    for (index, word) in words.iter().enumerate() {
        let seen = bus.bar_read64(PEER, CMB, 8 * index as u64).expect("read");
        assert_eq!(seen, !word, "word {index} at the peer");
    }
    bus.dma_free(here);
    session.shutdown(&mut bus).expect("shuts down");
}

/// The peer's BAR is mapped, but the drive is told another address: the IOMMU keeps it out, and
/// QEMU's controller reports success.
#[test]
#[ignore = "takes two drives: tests/vm runs it in a guest"]
fn an_unreachable_peer_is_noticed() {
    let mut bus = open(&[DRIVE, PEER], &Arc::default());
    let mut session = start(&mut bus, 1);
    let memory = Memory {
        device: PEER,
        bar: CMB,
        offset: 0,
        bytes: 64 << 10,
    };
    let settings = peer::Settings {
        largest: 8192,
        ..peer::Settings::default()
    };
    let mut bent = Bent {
        bus: &mut bus,
        device: PEER,
        bar: CMB,
        bend: Bend::Elsewhere(1 << 37),
    };
    let report = peer::check(&mut bent, &mut session, &memory, &settings).expect("can be made");
    for test in &report.tests {
        println!("{test:?}");
    }
    let ways = [Way::HostAndPeer, Way::DriveToPeer, Way::PeerToDrive];
    let seen = ways.map(|way| report.way(way) == Some(true));
    assert_eq!(seen, [true, false, false]);
    let read = report.tests.iter().find(|test| test.method == Method::Read);
    let read = read.expect("a Read");
    assert_eq!(read.different, read.compared, "no byte arrived");
    println!("status of the Read that moved nothing: {:?}", read.status);
    session.shutdown(&mut bus).expect("shuts down");
}

#[test]
#[ignore = "takes a drive: tests/vm runs it in a guest"]
fn interrupts_memory_and_registers_behave() {
    let stop = Arc::new(AtomicBool::new(false));
    let mut bus = open(&[DRIVE], &stop);
    let vectors = bus.interrupts_of(DRIVE, 2).expect("interrupts");
    assert_eq!(
        vectors[1].wait(Duration::from_millis(10)).expect("waits"),
        0
    );
    bus.trigger(DRIVE, 1).expect("signals");
    assert_eq!(vectors[1].wait(LIMIT).expect("waits"), 1);
    assert_eq!(vectors[0].wait(Duration::ZERO).expect("waits"), 0);
    bus.interrupts_of(DRIVE, 0).expect("switched off");
    let error = bus.interrupts_of(DRIVE, 5000).expect_err("refused");
    assert!(error.to_string().contains("MSI-X"), "{error}");

    // Other devices reach the drive's registers at an address of their own.
    assert!(bus.bar_address(DRIVE, 0).expect("mapped") >= 1 << 32);
    assert!(matches!(
        bus.bar_address(DRIVE, 5),
        Err(BusError::OutsideBar { .. })
    ));
    let outside = bus.bar_read32(DRIVE, 0, 1 << 30);
    assert!(
        matches!(outside, Err(BusError::OutsideBar { .. })),
        "{outside:?}"
    );
    let elsewhere = PciAddress::new(9, 0, 0);
    assert_eq!(bus.config_read32(elsewhere, 0).ok(), Some(u32::MAX));

    let first = bus.dma_alloc(100, 4096).expect("memory");
    let second = bus.dma_alloc(1 << 20, 1 << 20).expect("memory");
    assert!(second.address.is_multiple_of(1 << 20));
    bus.dma_free(first.clone());
    assert!(bus.dma_read(&first, 0, &mut [0]).is_err(), "given back");
    let again = bus.dma_alloc(100, 4096).expect("memory");
    assert_eq!(again.address, first.address);
    let mut zeros = [1; 100];
    bus.dma_read(&again, 0, &mut zeros).expect("memory");
    assert_eq!(zeros, [0; 100]);

    stop.store(true, Ordering::Relaxed);
    assert!(matches!(
        bus.relax(Duration::ZERO),
        Err(BusError::Interrupted)
    ));
    drop(bus);
    assert_eq!(driver_of(DRIVE).as_deref(), Some("nvme"), "given back");
}

/// The host pulls the drive out as soon as it reads of it in the kernel's log.
#[test]
#[ignore = "takes a drive: tests/vm runs it in a guest"]
fn pulled_out_under_load() {
    let mut bus = open(&[DRIVE], &Arc::default());
    let mut session = start(&mut bus, 1);
    let namespace = session.facts().namespace;
    let buffer = bus.dma_alloc(4096, 4096).expect("memory");
    let pair = session.queue_pair().expect("in host memory");
    let blocks = (4096 / namespace.block_bytes()) as u32;
    std::fs::write("/dev/kmsg", "the drive is read\n").expect("written");
    let started = Instant::now();
    let mut reads = 0;
    let error = loop {
        assert!(started.elapsed() < LIMIT, "no error after {reads} reads");
        let span = Span {
            buffer: &buffer,
            offset: 0,
        };
        let mut done = Vec::new();
        let read = pair
            .read(&mut bus, &namespace, 0, blocks, span)
            .and_then(|_| pair.finish(&mut bus, LIMIT, &mut done));
        match read {
            Ok(()) => reads += 1,
            Err(error) => break error,
        }
        // A program that looks at nothing but completions would never learn of it.
        if let Err(error) = (0..4000).try_for_each(|_| bus.relax(Duration::ZERO)) {
            break error.into();
        }
    };
    println!("after {reads} reads: {error}");
    assert!(reads > 0);
    assert!(
        error.to_string().contains("wants 0000:01:00.0 back"),
        "{error}"
    );
    drop(bus);
    while Sysfs::default().function(DRIVE).is_ok() {
        assert!(started.elapsed() < LIMIT, "the drive is still there");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Ends without a chance to give anything back, as by `kill -9`.
#[test]
#[ignore = "takes a drive: tests/vm runs it in a guest"]
fn killed_in_the_middle() {
    let settings = Settings {
        devices: vec![DRIVE],
        huge_pages: true,
        ..Settings::default()
    };
    let mut bus = VfioBus::open(&Sysfs::default(), settings).expect("opens");
    let session = start(&mut bus, 1);
    let buffer = bus.dma_alloc(4096, 4096).expect("a huge page");
    assert!(buffer.address.is_multiple_of(2 << 20), "{buffer:?}");
    println!("{} is up", session.facts().controller.model);
    std::process::abort();
}

/// The guest has a file system of this drive mounted.
#[test]
#[ignore = "needs a mounted drive: tests/vm runs it in a guest"]
fn a_mounted_drive_is_not_touched() {
    let settings = Settings {
        devices: vec![DRIVE],
        ..Settings::default()
    };
    let error = VfioBus::open(&Sysfs::default(), settings).expect_err("refused");
    println!("{error}");
    assert!(error.to_string().contains("is mounted at /mnt"), "{error}");
    assert_eq!(driver_of(DRIVE).as_deref(), Some("nvme"));
}

/// There is no IOMMU in this guest.
#[test]
#[ignore = "needs a machine without an IOMMU: tests/vm runs it in a guest"]
fn without_an_iommu_the_drive_stays_with_its_driver() {
    let settings = Settings {
        devices: vec![DRIVE],
        ..Settings::default()
    };
    let error = VfioBus::open(&Sysfs::default(), settings).expect_err("refused");
    println!("{error}\n{}", error.remedy());
    assert!(error.remedy().contains("IOMMU"), "{error}");
    assert_eq!(driver_of(DRIVE).as_deref(), Some("nvme"));

    // Debian's kernel lacks the mode without one.
    let settings = Settings {
        devices: vec![DRIVE],
        no_iommu: true,
        ..Settings::default()
    };
    let error = VfioBus::open(&Sysfs::default(), settings).expect_err("refused");
    assert!(error.to_string().contains("CONFIG_VFIO_NOIOMMU"), "{error}");
    assert_eq!(driver_of(DRIVE).as_deref(), Some("nvme"));
}
