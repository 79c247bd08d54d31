// SPDX-License-Identifier: Apache-2.0
//! The driver through VFIO on QEMU's NVMe controller, behind a translating IOMMU.
//!
//! These tests run in the guest, where tests/vm takes them; elsewhere they would take a drive.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay_driver::{Bus, BusError, Options, PciAddress, QueuePlacement, Session, Span, bring_up};
use forebay_vfio::{Settings, Sysfs, VfioBus};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

const DRIVE: PciAddress = PciAddress::new(1, 0, 0);
const LIMIT: Duration = Duration::from_secs(60);
const TRANSFER: usize = 256 << 10;

fn open(stop: &Arc<AtomicBool>) -> VfioBus {
    let settings = Settings {
        devices: vec![DRIVE],
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
    let mut bus = open(&stop);
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
            for (index, piece) in expected.chunks(step).enumerate() {
                let blocks = (piece.len() as u64 / namespace.block_bytes()) as u32;
                let lba = (index * step) as u64 / namespace.block_bytes();
                let span = Span {
                    buffer: &buffer,
                    offset: 0,
                };
                if write {
                    bus.dma_write(&buffer, 0, piece).expect("memory");
                    pair.write(&mut bus, &namespace, lba, blocks, span, false)
                } else {
                    bus.dma_write(&buffer, 0, &vec![0xee; piece.len()])
                        .expect("memory");
                    pair.read(&mut bus, &namespace, lba, blocks, span)
                }
                .expect("submitted");
                let mut done = Vec::new();
                pair.finish(&mut bus, LIMIT, &mut done).expect("completes");
                assert!(done.iter().all(|done| done.status.is_success()), "{done:?}");
                if !write {
                    let mut back = vec![0; piece.len()];
                    bus.dma_read(&buffer, 0, &mut back).expect("memory");
                    assert!(back == piece, "namespace {nsid}: bytes at LBA {lba} differ");
                }
            }
        }
        bus.dma_free(buffer);
        session.shutdown(&mut bus).expect("shuts down");
        println!("namespace {nsid}: {} bytes, 0 differ", expected.len());
    }
    drop(bus);
    assert_eq!(driver_of(DRIVE).as_deref(), Some("nvme"), "given back");
}

#[test]
#[ignore = "takes a drive: tests/vm runs it in a guest"]
fn interrupts_memory_and_registers_behave() {
    let stop = Arc::new(AtomicBool::new(false));
    let mut bus = open(&stop);
    let vectors = bus.interrupts(DRIVE, 2).expect("interrupts");
    assert!(!vectors[1].wait(Duration::from_millis(10)).expect("waits"));
    bus.trigger(DRIVE, 1).expect("signals");
    assert!(vectors[1].wait(LIMIT).expect("waits"));
    assert!(!vectors[0].wait(Duration::ZERO).expect("waits"));
    bus.interrupts(DRIVE, 0).expect("switched off");
    let error = bus.interrupts(DRIVE, 5000).expect_err("refused");
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
    assert!(matches!(bus.relax(), Err(BusError::Interrupted)));
    drop(bus);
    assert_eq!(driver_of(DRIVE).as_deref(), Some("nvme"), "given back");
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
    assert!(
        error.to_string().contains("nvme0n1 is mounted at /mnt"),
        "{error}"
    );
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
}
