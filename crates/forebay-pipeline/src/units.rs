// SPDX-License-Identifier: Apache-2.0
//! Quantities as people write and read them, in files and on the command line: bytes, rates, times.

use forebay_model::{MICROSECOND, MILLISECOND, NANOSECOND, SECOND, Time};

/// Result of reading a quantity: the error is a sentence, to show behind the name of the key or
/// option.
pub type Read<T> = Result<T, String>;

/// What stands before the `B` of bytes and the `b` of bits.
const PREFIXES: [(&str, u64); 10] = [
    ("", 1),
    ("k", 1_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
];

/// Units of time, in picoseconds.
const TIMES: [(&str, Time); 6] = [
    ("ns", NANOSECOND),
    ("us", MICROSECOND),
    ("ms", MILLISECOND),
    ("s", SECOND),
    ("min", 60 * SECOND),
    ("h", 3600 * SECOND),
];

/// A number and the name behind it: `1.5 MiB` is `1.5` and `MiB`.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let digit = |c: char| c.is_ascii_digit() || c == '.';
    let (number, unit) = text.split_at(text.find(|c| !digit(c)).unwrap_or(text.len()));
    (number, unit.trim_start())
}

fn factor(name: &str, units: &[(&str, u64)]) -> Option<u64> {
    let found = units.iter().find(|(known, _)| *known == name);
    found.map(|(_, factor)| *factor)
}

/// A decimal number times its unit, exactly; none: no number, more than 2^64, or a fraction of the
/// least unit, which means that the unit was mistaken.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: u64 = [whole, fraction].concat().parse().ok()?;
    let parts = 10_u128.checked_pow(fraction.len().try_into().ok()?)?;
    let product = u128::from(digits) * u128::from(factor);
    let exact = product.is_multiple_of(parts);
    exact.then(|| (product / parts).try_into().ok()).flatten()
}

/// Reads a number of bytes: `4096`, `0x1000`, `64KiB`, `1.5 MiB`, `2GB`. KiB, MiB, GiB, TiB and, for
/// short, K, M, G, T are powers of 1024; kB, MB, GB, TB are powers of 1000.
pub fn size(text: &str) -> Read<u64> {
    let read = || {
        if let Some(hex) = text.trim().strip_prefix("0x") {
            return u64::from_str_radix(hex, 16).ok();
        }
        let (number, unit) = split(text);
        let unit = match (unit.strip_suffix('B'), unit) {
            (Some(prefix), _) => factor(prefix, &PREFIXES)?,
            (None, "") => 1,
            (None, "K" | "M" | "G" | "T") => factor(&format!("{unit}i"), &PREFIXES)?,
            (None, _) => return None,
        };
        scaled(number, unit)
    };
    read().ok_or_else(|| {
        format!(
            "`{text}` is no size below 2^64 bytes; write bytes (4096, 0x1000) or a unit (64KiB, 2GB)"
        )
    })
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
    let read = || {
        let (number, unit) = split(text.trim().strip_suffix("/s")?);
        let bits = unit.strip_suffix("bit").or_else(|| unit.strip_suffix('b'));
        let (prefix, bits) = match bits {
            Some(prefix) => (prefix, 1),
            None => (unit.strip_suffix('B')?, 8),
        };
        let rate = scaled(number, factor(prefix, &PREFIXES)?.checked_mul(bits)?)? / 8;
        (rate > 0).then_some(rate)
    };
    read().ok_or_else(|| {
        format!(
            "`{text}` is no rate of a byte a second or more; write bytes (12.5GB/s) or bits (100Gb/s) \
             a second"
        )
    })
}

/// A time in picoseconds: `500us`, `1.5ms`, `5s`, `2min`.
pub fn time(text: &str) -> Read<Time> {
    let (number, unit) = split(text);
    factor(unit, &TIMES)
        .and_then(|unit| scaled(number, unit))
        .ok_or_else(|| {
            format!("`{text}` is no time; write a number and ns, us, ms, s, min or h: 3ms, 5s")
        })
}

/// A frequency in hertz: `250MHz`, `1.5 GHz`.
pub fn frequency(text: &str) -> Read<u64> {
    let (number, unit) = split(text);
    let unit = unit.strip_suffix("Hz");
    unit.and_then(|prefix| scaled(number, factor(prefix, &PREFIXES[..5])?))
        .ok_or_else(|| format!("`{text}` is no frequency; write a number and Hz, kHz, MHz or GHz"))
}

/// Generations of PCIe, and transfers per second of a lane.
const GENERATIONS: [(&str, u64); 3] = [
    ("gen3", 8_000_000_000),
    ("gen4", 16_000_000_000),
    ("gen5", 32_000_000_000),
];

/// A name of a link of `rate` bytes per second.
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

/// A count with separators of thousands: `16,777,216`.
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
            ("5G", 5 << 30),
            ("5GB", 5_000_000_000),
            ("0.5K", 512),
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
            ("12.5GB/s", 12_500_000_000),
            ("100Gb/s", 12_500_000_000),
            ("4096B/s", 4096),
            ("100 Mbit/s", 12_500_000),
            ("12.5Gb/s", 1_562_500_000),
            ("9b/s", 1),
        ] {
            assert_eq!(rate(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "/s",
            "b/s",
            "bit/s",
            "fast",
            "0",
            "0B/s",
            "7b/s",
            "-1MB/s",
            "1GB/h",
            "1e400b/s",
            "12",
            "12/s",
            "12GB",
            "12Gb",
            "12G/s",
            "12gb/s",
            "99999999TiB/s",
            "1.B.0/s",
        ] {
            let refused = rate(text).expect_err(text);
            assert!(refused.contains("100Gb/s"), "{refused}");
        }
    }

    #[test]
    fn frequencies() {
        assert_eq!(frequency("250MHz"), Ok(250_000_000));
        assert_eq!(frequency("322.265625 MHz"), Ok(322_265_625));
        for bad in [
            "",
            "250",
            "250M",
            "MHz",
            "250MiHz",
            "0.5Hz",
            "99999999999GHz",
        ] {
            assert!(frequency(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times() {
        for (text, picoseconds) in [
            ("0ns", 0),
            ("500us", 500 * MICROSECOND),
            ("1.5 ms", 1_500 * MICROSECOND),
            ("5s", 5 * SECOND),
            ("2min", 120 * SECOND),
            ("1h", 3600 * SECOND),
        ] {
            assert_eq!(time(text), Ok(picoseconds), "{text}");
        }
        for text in [
            "",
            "5",
            "s",
            "5S",
            "5 sec",
            "-1s",
            "0.0001ns",
            "9999h9",
            "99999999h",
        ] {
            let refused = time(text).expect_err(text);
            assert!(refused.contains("5s"), "{refused}");
        }
    }
}
