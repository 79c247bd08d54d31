// SPDX-License-Identifier: Apache-2.0
//! Registers of processing elements, on a card that is nothing but these.

use std::time::Duration;

use forebay_driver::elements::{Chain, Elements, RegisterWrite};
use forebay_driver::{Bus, BusError, BusResult, DmaBuffer, Error, PciAddress};
use forebay_spec::recorder::elements::{
    CHAIN, IDENTITY, IDENTITY_AT, PRESENT_AT, REFUSED_AT, SILENT_AT,
};

use crate::support::registers::registers_only;

const CARD: PciAddress = PciAddress::new(1, 0, 0);
const BASE: u64 = 0xd_0000;
const CHAIN_OF_CARD: Chain = Chain {
    registers: 0b101,
    per_stream: 0x80,
};

/// Elements 0 and 2 have registers; that at 0x20 of the latter cannot be written.
#[derive(Default)]
struct Card {
    written: Vec<(u64, u64)>,
    refused: u64,
    gone: bool,
}

impl Bus for Card {
    registers_only!(CARD);

    fn bar_read64(&mut self, _: PciAddress, _: u8, offset: u64) -> BusResult<u64> {
        Ok(match offset.wrapping_sub(BASE + CHAIN) {
            _ if self.gone => u64::MAX,
            IDENTITY_AT => IDENTITY.into(),
            PRESENT_AT => 0x8005,
            // Modulo 2^32, as the card counts.
            REFUSED_AT => 0xffff_ffff & (0xffff_ffff + self.refused),
            SILENT_AT => 0b100,
            _ => u64::MAX,
        })
    }

    fn bar_write64(&mut self, _: PciAddress, _: u8, offset: u64, value: u64) -> BusResult<()> {
        self.refused += u64::from(offset == BASE + 0x2020);
        self.gone |= offset == BASE + 0x2030;
        self.written.push((offset, value));
        Ok(())
    }

    fn now(&mut self) -> Duration {
        Duration::ZERO
    }

    fn relax(&mut self, _: Duration) -> BusResult<()> {
        Ok(())
    }
}

fn write(writes: &[(u64, &[u8])]) -> (Card, Result<(), Error>) {
    let mut card = Card::default();
    let elements = Elements::attach(&mut card, CARD, 0, BASE).expect("they are there");
    let writes = writes.iter().map(|(offset, data)| RegisterWrite {
        offset: *offset,
        data: data.to_vec().into(),
    });
    let done = elements.write(&mut card, CHAIN_OF_CARD, &writes.collect::<Vec<_>>());
    (card, done)
}

#[test]
fn words_go_where_they_belong_in_order() {
    let (card, done) = write(&[(0x10, &[1, 2, 3, 4, 5, 6, 7, 8]), (0x8400, &[9, 0, 0, 0])]);
    done.expect("all are taken");
    let expected = [(0x10, 0x0403_0201), (0x14, 0x0807_0605), (0x8400, 9)];
    assert_eq!(card.written, expected.map(|(at, word)| (BASE + at, word)));
}

#[test]
fn what_cannot_be_written_is_refused_before_anything_is() {
    for (offset, data) in [
        (2, vec![0; 4]),
        (0, vec![0; 3]),
        (0xfffc, vec![0; 8]),
        (u64::MAX - 3, vec![0; 8]),
    ] {
        let (card, done) = write(&[(0, &[0; 4]), (offset, &data)]);
        assert!(matches!(done, Err(Error::Parameter { .. })), "{done:?}");
        assert!(card.written.is_empty());
    }
}

#[test]
fn words_that_are_not_taken_are_told() {
    let (_, done) = write(&[(0, &[0; 4]), (0x201c, &[0; 12])]);
    let said = done.expect_err("one word is not taken").to_string();
    assert!(
        said.contains("1 words without effect, from 0x201c on"),
        "{said}"
    );
    assert!(said.contains("answer: 2"), "{said}");
}

#[test]
fn a_card_that_goes_is_noticed() {
    let (_, done) = write(&[(0x2030, &[0; 4])]);
    assert!(done.is_err());
}

#[test]
fn a_card_without_them_is_refused() {
    let found = Elements::attach(&mut Card::default(), CARD, 0, BASE + 4);
    assert!(matches!(found, Err(Error::NotFound { .. })), "{found:?}");
}

#[test]
fn nothing_shows_what_is_written() {
    let write = RegisterWrite {
        offset: 0x40,
        data: vec![0xaa; 16].into(),
    };
    assert_eq!(format!("{write:?}"), "16 bytes at 0x40");
}
