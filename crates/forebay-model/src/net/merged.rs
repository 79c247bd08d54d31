// SPDX-License-Identifier: Apache-2.0
//! Several senders on one wire.

use super::counters::FrameCounts;
use super::error::NetError;
use super::source::{Next, Source};
use crate::Time;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Several sources whose frames come one at a time in any order, each source's in its own: what a
/// switch makes of senders that do not know of each other.
pub struct Merged {
    sources: Vec<Box<dyn Source>>,
    random: Pcg64Mcg,
}

impl std::fmt::Debug for Merged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Merged")
            .field("sources", &self.sources.len())
            .finish_non_exhaustive()
    }
}

impl Merged {
    /// These, in an order by chance from a seed.
    #[must_use]
    pub fn new(sources: Vec<Box<dyn Source>>, seed: u64) -> Self {
        Self {
            sources,
            random: Pcg64Mcg::seed_from_u64(seed),
        }
    }
}

impl Source for Merged {
    fn next(&mut self, now: Time) -> Next {
        let count = self.sources.len();
        let first = self.random.next_u64() as usize % count.max(1);
        let mut answer = Next::End;
        for number in 0..count {
            let Some(source) = self.sources.get_mut((first + number) % count) else {
                continue;
            };
            answer = match (source.next(now), answer) {
                (frame @ Next::Frame(_), _) => return frame,
                (Next::End, other) | (other, Next::End) => other,
                (Next::Waiting, _) | (_, Next::Waiting) => Next::Waiting,
                (Next::NotBefore(one), Next::NotBefore(other)) => Next::NotBefore(one.min(other)),
                (_, other @ Next::Frame(_)) => other,
            };
        }
        answer
    }

    fn failure(&self) -> Option<&NetError> {
        self.sources.iter().find_map(|source| source.failure())
    }

    fn left_out(&self) -> FrameCounts {
        let counts = self.sources.iter().map(|source| source.left_out());
        counts.fold(FrameCounts::default(), |a, b| a + b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Frame, Frames, Paced};
    use proptest::prelude::*;

    fn frames(sender: u8, count: usize) -> impl Iterator<Item = Frame> {
        (0..count).map(move |number| {
            let mut bytes = vec![sender; 60];
            bytes[..8].copy_from_slice(&(number as u64).to_le_bytes());
            Frame::new(bytes).expect("long enough")
        })
    }

    proptest! {
        #[test]
        fn each_frame_comes_once_in_its_order(counts in prop::collection::vec(0_usize..40, 0..6), seed: u64) {
            let boxed = |(sender, count): (usize, &usize)| -> Box<dyn Source> {
                let sent: Vec<Frame> = frames(sender as u8, *count).collect();
                Box::new(Frames::new(sent))
            };
            let mut merged = Merged::new(counts.iter().enumerate().map(boxed).collect(), seed);
            let mut came = vec![Vec::new(); counts.len()];
            while let Next::Frame(frame) = merged.next(0) {
                came[usize::from(frame.bytes()[59])].push(frame);
            }
            for (sender, (came, count)) in came.iter().zip(&counts).enumerate() {
                prop_assert_eq!(came, &frames(sender as u8, *count).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_sender_that_waits_holds_no_other_up() {
        let paced = |sender, rate| -> Box<dyn Source> {
            let sent: Vec<Frame> = frames(sender, 3).collect();
            Box::new(Paced::new(Frames::new(sent), rate).expect("a rate"))
        };
        let mut merged = Merged::new(vec![paced(0, 1_000), paced(1, 1_000_000)], 7);
        let (mut now, mut came) = (0, Vec::new());
        loop {
            match merged.next(now) {
                Next::Frame(frame) => came.push(frame.bytes()[59]),
                Next::NotBefore(time) => {
                    assert!(time > now, "time goes on");
                    now = time;
                }
                Next::Waiting => panic!("no sender waits without a time"),
                Next::End => break,
            }
        }
        came[..2].sort_unstable();
        assert_eq!(came, [0, 1, 1, 1, 0, 0]);
    }
}
