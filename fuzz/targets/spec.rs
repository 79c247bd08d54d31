// SPDX-License-Identifier: Apache-2.0
//! Structures from a device, in any bytes: reading never fails, and what is written reads the same.
#![no_main]

use forebay_driver::trace::TraceRecord;
use forebay_driver::{ControllerFacts, Namespace};
use forebay_spec::net::Pause;
use forebay_spec::net::header::{self, Header};
use forebay_spec::nvme::identify::{self, IdentifyController, IdentifyNamespace};
use forebay_spec::nvme::regs::{Aqa, Cap, Cc, Csts};
use forebay_spec::nvme::{Cqe, Sqe, Status};
use forebay_spec::streamer::{self, ReadCommand, WriteCommand};
use libfuzzer_sys::fuzz_target;

/// The first bytes, and zeros where there are not enough.
fn head<const N: usize>(data: &[u8]) -> [u8; N] {
    let mut head = [0; N];
    let length = data.len().min(N);
    head[..length].copy_from_slice(&data[..length]);
    head
}

fuzz_target!(|data: &[u8]| {
    entries(data);
    frames(data);
    registers(u64::from_le_bytes(head(data)));
    pages(&head(data));
});

fn entries(data: &[u8]) {
    let sqe = Sqe::from_bytes(&head(data));
    assert_eq!(Sqe::from_bytes(&sqe.to_bytes()), sqe);
    let _ = (sqe.blocks(), sqe.slba(), sqe.fuse(), sqe.psdt(), sqe.fua());
    let cqe = Cqe::from_bytes(&head(data));
    assert_eq!(Cqe::from_bytes(&cqe.to_bytes()), cqe);
    let _ = cqe.status.to_string();
    let read = ReadCommand::decode(&head(data));
    assert_eq!(ReadCommand::decode(&read.encode()), read);
    let write = WriteCommand::decode(&head(data));
    assert_eq!(WriteCommand::decode(&write.encode()), write);
}

fn frames(data: &[u8]) {
    if let Ok((found, payload)) = Header::split(data) {
        assert_eq!(found.to_bytes(), data[..header::BYTES]);
        assert_eq!(payload, &data[header::BYTES..]);
    }
    if let Some(pause) = Pause::from_frame(data) {
        assert_eq!(Pause::from_frame(&pause.to_frame([0; 6])), Some(pause));
    }
}

fn registers(word: u64) {
    let half = word as u32;
    assert_eq!(
        Cap::from_bits(Cap::from_bits(word).bits()),
        Cap::from_bits(word)
    );
    assert_eq!(
        Cc::from_bits(Cc::from_bits(half).bits()),
        Cc::from_bits(half)
    );
    assert_eq!(
        Csts::from_bits(Csts::from_bits(half).bits()),
        Csts::from_bits(half)
    );
    assert_eq!(
        Aqa::from_bits(Aqa::from_bits(half).bits()),
        Aqa::from_bits(half)
    );
    let _ = Status::from_bits(word as u16).to_string();
    let _ = streamer::UserError::from_code(word as u8).map(|error| error.to_string());
    let _ = TraceRecord::new(half, word);
}

fn pages(page: &[u8; identify::BYTES]) {
    let mut written = [0; identify::BYTES];
    let controller = IdentifyController::from_bytes(page);
    controller.write_to(&mut written);
    assert_eq!(IdentifyController::from_bytes(&written), controller);
    let _ = ControllerFacts::new(page);
    let namespace = IdentifyNamespace::from_bytes(page);
    let _ = namespace.current();
    let mut written = [0; identify::BYTES];
    namespace.write_to(&mut written);
    assert_eq!(IdentifyNamespace::from_bytes(&written), namespace);
    if let Ok(namespace) = Namespace::new(1, page) {
        assert!(namespace.blocks > 0 && namespace.bytes() >> namespace.block_shift > 0);
    }
    assert!(identify::active_list(page).count() <= identify::BYTES / 4);
    assert!(identify::descriptors(page).count() <= identify::BYTES / 4);
}
