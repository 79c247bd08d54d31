// SPDX-License-Identifier: Apache-2.0
//! Several drives as one address space: what lies where.

use std::fmt;

use forebay_spec::store::member;
use forebay_spec::streamer::{regs, window};
use forebay_spec::stripes::{STRIPE_UNIT_MOST, Stripes, cut};
use serde::Serialize;

use crate::error::Error;
use crate::facts::Namespace;
use crate::options::ArrayOptions;

/// Stripe units alternate between the drives, the first on drive 0, the next on drive 1; or, in a
/// linear array, each drive has a region to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Layout {
    #[serde(flatten)]
    stripes: Stripes,
    linear: bool,
    /// Bytes of a drive's region, known with the drives; 0 unless linear.
    region: u64,
}

impl Layout {
    /// One drive, of which nothing is cut.
    pub const ONE: Self = Self {
        stripes: Stripes {
            drives: 1,
            stripe_unit: STRIPE_UNIT_MOST,
            parity: false,
        },
        linear: false,
        region: 0,
    };

    /// Checks what was asked for.
    ///
    /// # Errors
    /// Where there are none or too many drives, or the streamer does not support the stripe unit.
    pub fn new(options: ArrayOptions) -> Result<Self, Error> {
        let ArrayOptions {
            drives,
            stripe_unit,
            parity,
            missing,
            linear,
        } = options;
        let stripes = Stripes {
            drives: drives.into(),
            stripe_unit,
            parity,
        };
        let refused =
            |parameter, value: u64, limit: &str| Err(Error::parameter(parameter, value, limit));
        if let Err(error) = stripes.check() {
            return refused(error.field, error.value, error.limit);
        }
        let drives = stripes.drives;
        if let Some(missing) = missing.filter(|one| !parity || u64::from(*one) >= drives) {
            let limit = match parity {
                true => format!("the drives are 0 to {}", drives - 1),
                false => "no drive may be missing without parity".into(),
            };
            return refused("number of the missing drive", missing.into(), &limit);
        }
        if parity && linear {
            let limit = "parity needs stripes over all drives, which a linear array has not";
            return refused("number of drives", drives, limit);
        }
        Ok(Self {
            stripes,
            linear,
            region: 0,
        })
    }

    /// How many drives, the one with the parity among them.
    pub const fn drives(&self) -> u64 {
        self.stripes.drives
    }

    /// Whether the last drive holds the parity of the others.
    pub const fn parity(&self) -> bool {
        self.stripes.parity
    }

    /// Payload bytes of a stripe, in an array with parity: each write starts and ends at a
    /// multiple.
    pub const fn stripe(&self) -> Option<u64> {
        match self.parity() {
            true => Some(self.stripes.data_drives() * self.stripe_unit()),
            false => None,
        }
    }

    /// How its drives make one address space, where they have stripes.
    pub fn stripes(&self) -> Option<Stripes> {
        (self.drives() > 1 && !self.linear).then_some(self.stripes)
    }

    /// Bytes of each drive's region in a linear array.
    pub const fn region(&self) -> Option<u64> {
        match self.region {
            0 => None,
            bytes => Some(bytes),
        }
    }

    /// Sets the size of the regions of a linear array that has this number of sectors.
    pub(crate) const fn measured(self, sectors: u64) -> Self {
        let region = match self.linear && self.drives() > 1 {
            true => (sectors << 9) / self.drives(),
            false => 0,
        };
        Self { region, ..self }
    }

    /// Bytes of a stripe unit.
    pub const fn stripe_unit(&self) -> u64 {
        self.stripes.stripe_unit
    }

    /// The streamer's register with this in it.
    pub(crate) const fn register(&self, bits: u64) -> u64 {
        let pages_m1 = self.stripe_unit() / window::PAGE_BYTES - 1;
        let bits = regs::layout::DRIVES_M1.set(bits, self.drives() - 1);
        let bits = regs::layout::PARITY.set(bits, self.parity() as u64);
        regs::layout::CHUNK_M1.set(bits, pages_m1)
    }

    /// The drive and the byte address on it of a byte of the array.
    pub const fn place(&self, address: u64) -> (usize, u64) {
        if self.drives() == 1 {
            return (0, address);
        }
        match self.region() {
            Some(region) => ((address / region) as usize, address % region),
            None => self.stripes.place(address),
        }
    }

    /// Splits a range of the array at the borders of stripe units: drive, byte address on it,
    /// bytes.
    pub fn split(
        &self,
        address: u64,
        bytes: u64,
    ) -> impl Iterator<Item = (usize, u64, u64)> + use<> {
        let layout = *self;
        let unit = match self.drives() {
            1 => u64::MAX,
            _ => self.stripe_unit(),
        };
        cut(unit, address, bytes).map(move |(at, bytes)| {
            let (drive, place) = layout.place(at);
            (drive, place, bytes)
        })
    }

    /// Sectors of all drives together, parity included, that hold `sectors` of the user.
    pub(crate) const fn stretched(&self, sectors: u64) -> u64 {
        sectors / self.stripes.data_drives() * self.drives()
    }

    /// Sectors for the user: as many stripe units of each drive as the smallest has, where several have
    /// stripes in front of the [member superblocks](member).
    ///
    /// # Errors
    /// Where the logical blocks differ, or the smallest drive is smaller than a stripe unit.
    pub fn sectors(&self, namespaces: &[Namespace]) -> Result<u64, Error> {
        let Some(first) = namespaces.first() else {
            return Ok(0);
        };
        if let Some(other) = namespaces
            .iter()
            .find(|n| n.block_shift != first.block_shift)
        {
            return Err(Error::Refused {
                field: "the logical block of the array's drives",
                value: format!("{} and {} bytes", first.block_bytes(), other.block_bytes()),
                limit: "all drives of an array have the same".into(),
                remedy: "format one of them like the others: nvme format --lbaf=N (this erases it)",
            });
        }
        let least = namespaces.iter().map(|n| n.sectors).min().unwrap_or(0);
        if self.drives() == 1 {
            return Ok(least);
        }
        let room = match self.linear {
            true => least << 9,
            false => member::room(least << 9),
        };
        let each = self.stripes.each(room) >> 9;
        // Less than 2^48 sectors of up to eight drives; the streamer counts to 2^48.
        let all = each * self.drives();
        if all == 0 || all >= 1 << 48 {
            return Err(Error::Refused {
                field: "the capacity of the array",
                value: format!("{} drives of {least} sectors", self.drives()),
                limit: format!(
                    "at least a stripe unit of {} sectors each, less than 2^48 in all",
                    self.stripe_unit() >> 9
                ),
                remedy: "choose a smaller stripe unit, or other drives",
            });
        }
        Ok(each * self.stripes.data_drives())
    }
}

/// What an array was found to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArrayFacts {
    /// How its drives make one address space.
    pub layout: Layout,
    /// Bytes that it holds.
    pub bytes: u64,
    /// Bytes of the drives together that it does not use: they differ, or end inside a stripe unit.
    pub unused_bytes: u64,
}

impl fmt::Display for ArrayFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (drives, stripe_unit) = (self.layout.drives(), self.layout.stripe_unit() >> 10);
        let Self {
            bytes,
            unused_bytes,
            ..
        } = self;
        write!(f, "{drives} drives, stripe units of {stripe_unit} KiB, ")?;
        if let Some(region) = self.layout.region() {
            write!(f, "each with {region} bytes to itself, ")?;
        }
        if let Some(stripe) = self.layout.stripe() {
            let stripe = stripe >> 10;
            write!(f, "the last with the parity of each {stripe} KiB, ")?;
        }
        write!(f, "{bytes} bytes, {unused_bytes} unused")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(sectors: u64) -> Namespace {
        Namespace {
            nsid: 1,
            block_shift: 9,
            blocks: sectors,
            sectors,
        }
    }

    fn layout(drives: u8, stripe_unit: u64) -> Layout {
        Layout::new(ArrayOptions::striped(drives, stripe_unit)).expect("good")
    }

    #[test]
    fn stripe_units_alternate() {
        let layout = layout(3, 8192);
        assert_eq!(layout.place(0), (0, 0));
        assert_eq!(layout.place(8191), (0, 8191));
        assert_eq!(layout.place(8192), (1, 0));
        assert_eq!(layout.place(3 * 8192 + 5), (0, 8192 + 5));
        let parts: Vec<_> = layout.split(4096, 16384).collect();
        assert_eq!(parts, [(0, 4096, 4096), (1, 0, 8192), (2, 0, 4096)]);
        assert_eq!(
            Layout::ONE.split(7, 5 << 20).collect::<Vec<_>>(),
            [(0, 7, 5 << 20)]
        );
        assert_eq!(layout.split(1, 0).count(), 0);
    }

    #[test]
    fn the_last_drive_holds_the_parity() {
        let parity = |drives| {
            let striped = ArrayOptions::striped(drives, 8192);
            Layout::new(ArrayOptions {
                parity: true,
                linear: false,
                ..striped
            })
        };
        let three = parity(3).expect("good");
        assert_eq!(three.stripe(), Some(16384));
        assert_eq!(three.place(8192 + 5), (1, 5));
        assert_eq!(three.place(16384), (0, 8192));
        // Two stripe units of each drive in front of 24 sectors; parity is not the user's.
        let sectors = three.sectors(&[namespace(57), namespace(64), namespace(74)]);
        assert_eq!(sectors.ok(), Some(64));
        assert_eq!(three.stretched(64), 96);
        assert_eq!(parity(2).expect("a mirror").stripe(), Some(8192));
        assert!(parity(1).is_err());
        let without = |parity, missing| {
            let striped = ArrayOptions::striped(3, 8192);
            Layout::new(ArrayOptions {
                parity,
                missing: Some(missing),
                ..striped
            })
        };
        assert!(without(true, 2).is_ok());
        for (parity, missing) in [(true, 3), (false, 0)] {
            let refused = without(parity, missing);
            assert!(matches!(refused, Err(Error::Parameter { .. })));
        }
    }

    #[test]
    fn regions_follow_each_other() {
        let asked = ArrayOptions {
            linear: true,
            ..ArrayOptions::striped(3, 8192)
        };
        let layout = Layout::new(asked).expect("good");
        let namespaces = [namespace(100), namespace(50), namespace(60)];
        // Three stripe units of each.
        let sectors = layout.sectors(&namespaces).expect("fits");
        assert_eq!(sectors, 3 * 48);
        let layout = layout.measured(sectors);
        assert_eq!(layout.region(), Some(24576));
        assert_eq!(layout.place(24575), (0, 24575));
        assert_eq!(layout.place(24576), (1, 0));
        assert_eq!(layout.place(2 * 24576 + 5), (2, 5));
        let parts: Vec<_> = layout.split(20480, 12288).collect();
        assert_eq!(parts, [(0, 20480, 4096), (1, 0, 8192)]);
        let both = ArrayOptions {
            parity: true,
            ..asked
        };
        assert!(matches!(Layout::new(both), Err(Error::Parameter { .. })));
    }

    #[test]
    fn odd_stripe_units_and_numbers_are_refused() {
        for (drives, stripe_unit) in [
            (0, 4096),
            (9, 4096),
            (2, 0),
            (2, 2048),
            (2, 12288),
            (2, 2 << 20),
        ] {
            let refused = Layout::new(ArrayOptions::striped(drives, stripe_unit));
            assert!(
                matches!(refused, Err(Error::Parameter { .. })),
                "{drives} {stripe_unit}"
            );
        }
    }

    #[test]
    fn the_smallest_drive_decides() {
        let layout = layout(2, 8192);
        assert_eq!(
            layout.sectors(&[namespace(100), namespace(74)]).ok(),
            Some(96)
        );
        assert!(layout.sectors(&[namespace(100), namespace(39)]).is_err());
        let mut other = namespace(100);
        other.block_shift = 12;
        assert!(layout.sectors(&[namespace(100), other]).is_err());
        let most = namespace((1 << 48) - 1);
        assert!(layout.sectors(&[most, most]).is_err());
    }
}
