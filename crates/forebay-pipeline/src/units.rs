// SPDX-License-Identifier: Apache-2.0
//! Quantities as people write and read them, in files and on the command line: bytes, rates, times.

use forebay_model::{MICROSECOND, MILLISECOND, NANOSECOND, SECOND, Time};

/// Result of reading a quantity: the error is a sentence, to show behind the name of the key or
/// option.
pub type Read<T> = Result<T, String>;

/// Reads a number of bytes: `4096`, `0x1000`, `64KiB`, `1.5 MiB`, `2GB`.
pub fn size(text: &str) -> Read<u64> {
    const UNITS: [(&str, u64); 13] = [
        ("TiB", 1 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("kB", 1_000),
        ("KB", 1_000),
        ("G", 1 << 30),
        ("M", 1 << 20),
        ("K", 1 << 10),
        ("B", 1),
    ];
    let text = text.trim();
    let bad = || format!("`{text}` is no size; write bytes (4096, 0x1000) or a unit (64KiB, 1MiB)");
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).map_err(|_| bad());
    }
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?.trim_end(), *unit)))
        .unwrap_or((text, 1));
    if let Ok(whole) = number.parse::<u64>() {
        return whole
            .checked_mul(unit)
            .ok_or_else(|| format!("`{text}` is more than 2^64 bytes"));
    }
    let number: f64 = number.parse().map_err(|_| bad())?;
    let bytes = number * unit as f64;
    // A fraction of a byte means that the unit was mistaken.
    if !(0.0..9e15).contains(&bytes) || bytes.fract() != 0.0 {
        return Err(bad());
    }
    Ok(bytes as u64)
}

/// A length that is not zero.
pub fn length(text: &str) -> Read<u64> {
    match size(text)? {
        0 => Err("the length is zero; give at least 1 byte".into()),
        bytes => Ok(bytes),
    }
}

/// Bytes per second: `1GB/s`, `2.5 MiB/s`; in bits: `10Gb/s`, `100Mbit/s`.
pub fn rate(text: &str) -> Read<u64> {
    let bad = || format!("`{text}` is no rate; write bytes a second (1GB/s) or bits (10Gb/s)");
    let each = text.trim();
    let each = each.strip_suffix("/s").unwrap_or(each).trim_end();
    let bits = each.strip_suffix("bit").or_else(|| each.strip_suffix('b'));
    let rate = match bits {
        Some(bits) => size(&format!("{bits}B")).map_err(|_| bad())? / 8,
        None => size(each).map_err(|_| bad())?,
    };
    match rate {
        0 => Err("the rate is less than a byte a second".into()),
        rate => Ok(rate),
    }
}

/// A simulated time: `500us`, `2ms`.
pub fn time(text: &str) -> Read<Time> {
    let units = [
        ("ns", NANOSECOND),
        ("us", MICROSECOND),
        ("ms", MILLISECOND),
        ("s", SECOND),
    ];
    units
        .iter()
        .find_map(|(name, unit)| {
            let number: u64 = text.strip_suffix(name)?.trim_end().parse().ok()?;
            number.checked_mul(*unit)
        })
        .ok_or_else(|| format!("`{text}` is no time; write for example 500us or 2ms"))
}

/// Generations of PCIe, and transfers per second of a lane.
const GENERATIONS: [(&str, u64); 3] = [
    ("gen3", 8_000_000_000),
    ("gen4", 16_000_000_000),
    ("gen5", 32_000_000_000),
];

/// A name of a link of so many bytes per second.
pub fn link_name(rate: u64) -> Option<String> {
    let lanes = ["x1", "x2", "x4", "x8", "x16"];
    let names = GENERATIONS
        .iter()
        .flat_map(|(name, _)| lanes.map(|lanes| format!("{name}{lanes}")));
    names.into_iter().find(|name| link(name) == Ok(rate))
}

/// Bytes per second of a PCIe link: `gen3x16`, `gen4x8`.
pub fn link(text: &str) -> Read<u64> {
    // Of the bits of a lane 128 of 130 are data.
    let bad = || format!("`{text}` is no link; write gen3, gen4 or gen5 and x1, x2, x4, x8 or x16");
    let (generation, lanes) = text.split_once('x').ok_or_else(bad)?;
    let known = GENERATIONS.iter().find(|(name, _)| *name == generation);
    let (_, rate) = known.ok_or_else(bad)?;
    match lanes {
        "1" | "2" | "4" | "8" | "16" => {
            let lanes: u64 = lanes.parse().map_err(|_| bad())?;
            Ok(rate / 8 * lanes * 128 / 130)
        }
        _ => Err(bad()),
    }
}

/// Bytes with a binary unit: `8.0 MiB`, `512 B`.
#[must_use]
pub fn bytes(count: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match UNITS.iter().find(|(_, shift)| count >= 1 << shift) {
        Some((unit, shift)) => format!("{:.1} {unit}", count as f64 / (1u64 << shift) as f64),
        None => format!("{count} B"),
    }
}

/// A count with its thousands set apart: `16,777,216`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("0x1000", 4096),
            ("64KiB", 65536),
            ("64 KiB", 65536),
            ("1.5MiB", 3 << 19),
            ("2GB", 2_000_000_000),
            ("3M", 3 << 20),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "KiB",
            "1 parsec",
            "-1",
            "1.0001KiB",
            "0x",
            "20000000TiB",
            "nan",
            "1e400",
        ] {
            assert!(size(text).is_err(), "{text}");
        }
        assert!(length("0").unwrap_err().contains("zero"));
    }

    #[test]
    fn rates() {
        for (text, bytes) in [
            ("1GB/s", 1_000_000_000),
            ("2.5 MiB/s", 5 << 19),
            ("12GB", 12_000_000_000),
            ("4096", 4096),
            ("10Gb/s", 1_250_000_000),
            ("100 Mbit/s", 12_500_000),
            ("12.5Gb", 1_562_500_000),
            ("9b/s", 1),
        ] {
            assert_eq!(rate(text), Ok(bytes), "{text}");
        }
        for text in [
            "", "/s", "b", "bit/s", "fast", "0", "7b/s", "-1MB/s", "1GB/h", "1e400b",
        ] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
