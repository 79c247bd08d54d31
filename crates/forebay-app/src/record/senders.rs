// SPDX-License-Identifier: Apache-2.0
//! Link partners that send objects, each in a stream of its own.

use forebay_model::net::{Addresses, Merged, Object, Objects, Source, objects_of};

use crate::failure::Result;

/// Several peers at once: streams that follow each other, frames in any order.
#[derive(Clone, Debug)]
pub struct Senders {
    /// Who sends to whom.
    pub addresses: Addresses,
    /// Bytes of the longest IP packet.
    pub mtu: u32,
    /// The first one's stream.
    pub stream: u16,
    /// Bytes of each one's objects.
    pub object_bytes: Vec<u64>,
    /// Of the pattern, and of the order of their frames.
    pub seed: u64,
}

impl Senders {
    /// What they send: an equal share of `bytes` each, in objects of its size; the last one may take
    /// it a little above.
    ///
    /// # Errors
    /// An MTU that cannot be.
    pub fn source(&self, bytes: u64) -> Result<Box<dyn Source>> {
        let share = bytes.div_ceil(self.object_bytes.len().max(1) as u64);
        let objects = (0..).zip(&self.object_bytes).map(|(number, &length)| {
            let length = length.clamp(1, share.max(1));
            objects_of(share.div_ceil(length), length, seed_of(self.seed, number))
        });
        source((self.addresses, self.mtu), self.stream, self.seed, objects)
    }
}

/// Senders of these objects, each in a stream of its own, from `stream` on, frames in any order.
///
/// # Errors
/// An MTU that cannot be.
pub fn source(
    (addresses, mtu): (Addresses, u32),
    stream: u16,
    seed: u64,
    objects: impl IntoIterator<Item: IntoIterator<Item = Object, IntoIter: Send + 'static>>,
) -> Result<Box<dyn Source>> {
    let mut sources: Vec<Box<dyn Source>> = Vec::new();
    for (number, objects) in (0..).zip(objects) {
        let sender = Objects::new(addresses, mtu as usize, objects)?;
        sources.push(Box::new(sender.in_stream(stream.saturating_add(number), 0)));
    }
    Ok(Box::new(Merged::new(sources, seed)))
}

/// The seed of the pattern of a sender, counted from 0.
pub const fn seed_of(seed: u64, sender: u16) -> u64 {
    seed.wrapping_add(sender as u64)
}

/// Bytes of the objects of `senders` senders where the first one's have `bytes`: the others' are smaller
/// and smaller, so that ends meet everywhere.
pub fn falling(bytes: u64, senders: u16) -> Vec<u64> {
    let of = |part: u16| u128::from(bytes) * u128::from(part) / u128::from(senders.max(1));
    let sizes = (1..=senders).rev().map(of);
    sizes
        .map(|size| u64::try_from(size).unwrap_or(bytes).max(1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_and_are_never_nothing() {
        assert_eq!(falling(1 << 20, 1), [1 << 20]);
        assert_eq!(falling(1000, 4), [1000, 750, 500, 250]);
        assert_eq!(falling(1, 3), [1, 1, 1]);
        assert_eq!(falling(u64::MAX, 2), [u64::MAX, u64::MAX / 2]);
    }
}
