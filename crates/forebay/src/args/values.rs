// SPDX-License-Identifier: Apache-2.0
//! Values as people write them on the command line.

use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

pub use forebay_app::compare::PeerMemory;
pub use forebay_app::inject::{
    FaultSpec, StallSpec, dram_fault, dram_fault_text, fault, stall, stalls,
};
pub use forebay_pipeline::units::{length, rate, size, time};

/// Result of reading a value: the error is a sentence for clap to show behind the option's name.
type Read<T> = Result<T, String>;

/// Numbers of objects, the least and the greatest: `7`, `5..9`, `5..`.
pub fn objects(text: &str) -> Read<(u64, u64)> {
    let bad = || format!("`{text}` is no number of objects; write 7, 5..9 with both ends, or 5..");
    let number = |text: &str| text.trim().parse().map_err(|_| bad());
    let (first, last) = match text.split_once("..") {
        None => (number(text)?, number(text)?),
        Some((first, "")) => (number(first)?, u64::MAX),
        Some((first, last)) => (number(first)?, number(last)?),
    };
    match first <= last {
        true => Ok((first, last)),
        false => Err(format!(
            "`{text}` ends before it begins; write {last}..{first}"
        )),
    }
}

/// What a value is called on a command line.
pub fn name_of(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// One of a few values, each with its name and what it means.
pub fn named<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [(T, &'static str, &'static str); N],
) -> impl TypedValueParser<Value = T> {
    let names = all.map(|(_, name, meaning)| PossibleValue::new(name).help(meaning));
    PossibleValuesParser::new(names).try_map(move |name| {
        let found = all.iter().find(|(_, known, _)| *known == name);
        found
            .map(|(value, ..)| *value)
            .ok_or("there is no such value")
    })
}

/// A duration of a second to a day.
pub fn duration(text: &str) -> Read<Duration> {
    let limit = Duration::from_secs(1)..=Duration::from_secs(86_400);
    match Duration::from_nanos(time(text)? / forebay_model::NANOSECOND) {
        duration if limit.contains(&duration) => Ok(duration),
        _ => Err(format!(
            "`{text}` is not from 1s to 24h; choose such a time"
        )),
    }
}

/// A length in whole pages.
pub fn pages(text: &str) -> Read<u64> {
    match length(text)? {
        bytes if bytes.is_multiple_of(4096) => Ok(bytes),
        bytes => Err(format!(
            "{bytes} bytes are no multiple of 4096; give 4KiB, 8KiB, …"
        )),
    }
}

/// A limit that MDTS can express: a power of two of pages, two or more (one is no limit at all).
pub fn mdts(text: &str) -> Read<u64> {
    match length(text)? {
        bytes if bytes.is_power_of_two() && (8192..=1 << 20).contains(&bytes) => Ok(bytes),
        bytes => Err(format!(
            "MDTS cannot be {bytes} bytes; give 8KiB, 16KiB, … 1MiB"
        )),
    }
}

/// A name that may stand in any file: letters, digits, `-`, `_` and `.`, at most 64.
pub fn name(text: &str) -> Read<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match text.len() {
        1..=64 if text.chars().all(plain) && !text.starts_with('.') => Ok(text.to_owned()),
        _ => Err("give 1 to 64 letters, digits, - or _".into()),
    }
}

/// A share in percent: 0 to 1000, with a fraction.
pub fn percent(text: &str) -> Read<f64> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..=1000.0).contains(&percent) => Ok(percent),
        _ => Err("give percent from 0 to 1000, such as 10 or 2.5".into()),
    }
}

/// Reads `--peer`: ADDRESS:BAR:OFFSET\[:SIZE\].
pub fn peer(text: &str) -> Read<PeerMemory> {
    let bad = |what: &str| {
        format!("`{text}` {what}; write ADDRESS:BAR:OFFSET[:SIZE], such as 0000:01:00.0:2:0x1000")
    };
    // Colons are in the address, too: what follows the function begins at the first behind its dot.
    let dot = text.find('.').ok_or_else(|| bad("names no device"))?;
    let (_, rest) = text.split_at(dot);
    let (function, rest) = rest.split_once(':').ok_or_else(|| bad("lacks a BAR"))?;
    let device = text[..dot + function.len()]
        .parse()
        .map_err(|error| format!("{error}"))?;
    let mut parts = rest.splitn(3, ':');
    let bar = parts.next().and_then(|bar| bar.parse().ok());
    let Some(bar @ 0..=5) = bar else {
        return Err(bad("names no BAR from 0 to 5"));
    };
    let offset = size(parts.next().ok_or_else(|| bad("lacks an offset"))?)?;
    let size = parts.next().map(length).transpose()?;
    for number in [Some(offset), size].into_iter().flatten() {
        if !number.is_multiple_of(4096) {
            return Err(bad("has numbers that are no multiples of 4096"));
        }
    }
    Ok(PeerMemory {
        device,
        bar,
        offset,
        size,
    })
}

#[cfg(test)]
mod tests {
    use forebay_driver::PciAddress;

    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        for text in ["0s", "999ms", "25h", "5"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn memory_of_a_device() {
        let memory = |size| PeerMemory {
            device: PciAddress::new(1, 0, 2),
            bar: 2,
            offset: 4096,
            size,
        };
        assert_eq!(peer("0000:01:00.2:2:0x1000"), Ok(memory(None)));
        assert_eq!(peer("01:00.2:2:4KiB:1MiB"), Ok(memory(Some(1 << 20))));
        for text in [
            "",
            "01:00.0",
            "01:00.0:2",
            "01:00.0:6:0",
            "01:00.0:2:1",
            "01:00.0:2:0:0",
            "01:00.0:2:0:100",
            "1.0:2:0",
            "01:00.0:x:0",
            "01:00.0:2:0:4096:1",
        ] {
            assert!(peer(text).is_err(), "{text}");
        }
    }
}
