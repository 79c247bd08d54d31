// SPDX-License-Identifier: Apache-2.0
//! Where the streamer's apertures lie in BAR 0, as its RTL decodes them.

use std::ops::{Range, RangeInclusive};

use forebay_rtl::Source;
use forebay_spec::streamer::{bar0, window};

use crate::error::{Error, Result};

/// What an access is to. Statistics and the watchdog count these separately where they share a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Payload; on chip, the PRP lists behind it too.
    Payload,
    /// PRP lists that have an aperture of their own.
    Lists,
    Queues,
    /// The streamer's registers.
    Control,
    /// The host port's staging window.
    Staging,
    HostControl,
    Net,
    Recorder,
    /// Registers of processing elements.
    Elements,
    /// The admin window of a bring-up without a CPU.
    Admin,
    /// None of these.
    Nothing,
}

impl Place {
    /// How many there are.
    pub const COUNT: usize = Self::Nothing as usize + 1;

    /// What moves there brings a transaction nearer to its end.
    pub const fn is_work(self) -> bool {
        matches!(
            self,
            Self::Payload | Self::Lists | Self::Queues | Self::Staging
        )
    }
}

/// Where the payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    Chip,
    Board,
    Host,
}

/// Offsets in BAR 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Apertures {
    /// Bytes of BAR 0.
    pub bytes: u64,
    /// Payload that is reached through the card; on chip, and its PRP lists.
    pub payload: Range<u64>,
    /// PRP lists that have an aperture of their own.
    pub lists: Range<u64>,
    pub queues: Range<u64>,
}

impl Apertures {
    /// Of RTL with these parameters; what is not set has the defaults of our tops.
    pub fn new(rtl: &Source, memory: Memory) -> Result<Self> {
        let depths = window::QUEUE_DEPTH_LEAST..=window::QUEUE_DEPTH_MOST;
        let limit = "the queues have 2 to 1024 entries: give it as a decimal number";
        let depth = parameter(rtl, "QueueDepth", 64, depths, limit)?;
        let limit = "there are 1 to 8 drives: give it as a decimal number";
        let drives = parameter(rtl, "Drives", 1, 1..=window::DRIVES_MOST, limit)?;
        let place = bar0::queues(depth, drives);
        let queues = place..place + window::queue_window_bytes(depth, drives);
        let lists = bar0::PRP_LISTS..bar0::PRP_LISTS + window::PRP_LISTS_BYTES;
        let (bytes, payload, lists) = match memory {
            Memory::Chip => {
                let counts = window::BUFFER_PAGES_LEAST..=window::BUFFER_PAGES_MOST;
                let limit = "the buffer has 16 to 4096 pages: give it as a decimal number";
                let pages = parameter(rtl, "Pages", window::BUFFER_PAGES, counts, limit)?;
                let bytes = window::data_window_bytes(pages);
                let place = bar0::data(bytes);
                (bar0::BYTES, place..place + bytes, 0..0)
            }
            Memory::Board => {
                let end = bar0::DATA_DRAM + window::DRAM_WINDOW_BYTES;
                (bar0::BYTES_DRAM, bar0::DATA_DRAM..end, lists)
            }
            Memory::Host => (bar0::BYTES, 0..0, lists),
        };
        Ok(Self {
            bytes,
            payload,
            lists,
            queues,
        })
    }
}

/// The value of a parameter of the top module.
fn parameter(
    rtl: &Source,
    name: &'static str,
    default: u64,
    values: RangeInclusive<u64>,
    limit: &'static str,
) -> Result<u64> {
    let Some(text) = rtl.parameter_value(name) else {
        return Ok(default);
    };
    let value = text.trim().parse().ok();
    value
        .filter(|value| values.contains(value))
        .ok_or_else(|| Error::Setting {
            field: name,
            value: text.to_owned(),
            limit,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parameters: &[(&str, &str)], memory: Memory) -> Result<Apertures> {
        let source = Source::new("top");
        let all = parameters.iter();
        let source = all.fold(source, |rtl, (name, value)| rtl.parameter(*name, value));
        Apertures::new(&source, memory)
    }

    #[test]
    fn apertures_follow_from_the_parameters() {
        let chip = of(&[], Memory::Chip).expect("defaults");
        assert_eq!(chip.bytes, 64 << 20);
        assert_eq!(chip.payload, 0x100_0000..0x180_0000);
        assert!(chip.lists.is_empty());
        assert_eq!(chip.queues, 0x6_0000..0x6_2000);
        let large = of(&[("Pages", "4096")], Memory::Chip).expect("largest");
        assert_eq!(large.payload, 0x200_0000..0x400_0000);
        let board = of(&[("QueueDepth", "1024")], Memory::Board).expect("deep");
        assert_eq!(board.bytes, 256 << 20);
        assert_eq!(board.payload, 0x800_0000..0x1000_0000);
        assert_eq!(board.lists, 0x80_0000..0x100_0000);
        assert_eq!(board.queues, 0x8_0000..0xa_0000);
        let host = of(&[("QueueDepth", "128"), ("Drives", "8")], Memory::Host);
        let host = host.expect("many queues");
        assert!(host.payload.is_empty());
        assert_eq!(host.queues, 0x8_0000..0xa_0000);
        let three = of(&[("Drives", "3")], Memory::Host).expect("rounded up");
        assert_eq!(three.queues, 0x6_0000..0x6_8000);
    }

    #[test]
    fn parameters_that_cannot_be_are_refused() {
        for (name, values) in [
            ("QueueDepth", ["1", "1025"]),
            ("Drives", ["0", "9"]),
            ("Pages", ["8", "13'd4096"]),
        ] {
            for value in values {
                let error = of(&[(name, value)], Memory::Chip).expect_err("refused");
                let text = error.to_string();
                assert!(text.starts_with(&format!("{name} = {value}, ")), "{text}");
            }
        }
        // Elsewhere the buffer has one size.
        assert!(of(&[("Pages", "8")], Memory::Board).is_ok());
    }
}
