// SPDX-License-Identifier: Apache-2.0
//! Several drives as one address space: stripe units that alternate between them.

use core::iter;

use serde::Serialize;

use crate::streamer::window::DRIVES_MOST;

/// Least bytes of a stripe unit.
pub const STRIPE_UNIT_LEAST: u64 = 4096;
/// Most bytes of a stripe unit: the longest command of the streamer.
pub const STRIPE_UNIT_MOST: u64 = 1 << 20;

/// How drives make one address space: the first stripe unit lies on drive 0, the next on drive 1 …, as in
/// RAID 0; with parity as in Linux's md, level 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Stripes {
    /// How many drives, the one with the parity among them: 1 to [`DRIVES_MOST`], with parity 2 or more.
    pub drives: u64,
    /// Bytes of a stripe unit: a power of two from [`STRIPE_UNIT_LEAST`] to [`STRIPE_UNIT_MOST`].
    pub stripe_unit: u64,
    /// The last drive holds the parity of the others.
    pub parity: bool,
}

/// What of a [`Stripes`] cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}, but {limit}")]
pub struct StripesError {
    /// Which.
    pub field: &'static str,
    /// What it is.
    pub value: u64,
    /// What it may be.
    pub limit: &'static str,
}

impl Stripes {
    /// Whether they can be.
    ///
    /// # Errors
    ///
    /// The first field that is out of its limits.
    pub const fn check(&self) -> Result<(), StripesError> {
        let Self {
            drives,
            stripe_unit,
            parity,
        } = *self;
        let (field, value, limit) = if drives == 0 || drives > DRIVES_MOST {
            ("number of drives", drives, "an array has 1 to 8 drives")
        } else if !stripe_unit.is_power_of_two()
            || stripe_unit < STRIPE_UNIT_LEAST
            || stripe_unit > STRIPE_UNIT_MOST
        {
            let limit = "a power of two from 4096 (4 KiB) to 1048576 (1 MiB) is needed";
            ("stripe unit in bytes", stripe_unit, limit)
        } else if parity && drives < 2 {
            let limit = "parity needs a drive of its own: 2 drives or more";
            ("number of drives", drives, limit)
        } else {
            return Ok(());
        };
        Err(StripesError {
            field,
            value,
            limit,
        })
    }

    /// How many drives hold what is written.
    #[must_use]
    pub const fn data_drives(&self) -> u64 {
        self.drives - self.parity as u64
    }

    /// The drive and the byte address on it of a byte of the address space.
    #[must_use]
    pub const fn place(&self, address: u64) -> (usize, u64) {
        let (number, inside) = (address / self.stripe_unit, address % self.stripe_unit);
        let (stripe, drive) = (number / self.data_drives(), number % self.data_drives());
        (drive as usize, stripe * self.stripe_unit + inside)
    }

    /// Bytes of each drive that hold stripe units, where the smallest has room for `room`.
    #[must_use]
    pub const fn each(&self, room: u64) -> u64 {
        room / self.stripe_unit * self.stripe_unit
    }
}

/// Splits a range at the multiples of `unit`: address and bytes of each part.
pub fn cut(unit: u64, address: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = address.saturating_add(bytes);
    let mut at = address;
    iter::from_fn(move || {
        let (here, count) = (at, (end - at).min(unit - at % unit));
        at += count;
        (count > 0).then_some((here, count))
    })
}
