// SPDX-License-Identifier: Apache-2.0
//! Bytes over time: each extent's payload is spread over the time in which it came.
//!
//! The index says when an extent began. It ended at the latest when the next one of its stream
//! began; after a burst it ended sooner, so that the pace of the extent before bounds it, too.

use std::collections::BTreeMap;

use forebay_spec::store::index::{FAILED, Row, SKIPPED};

/// How many times as slow as the one before an extent is taken to come at most.
const SLACK: u64 = 2;

/// What became of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// They were stored.
    Stored,
    /// There was no room.
    Skipped,
    /// The drive did not take them.
    Failed,
}

impl Fate {
    fn of(row: &Row) -> Self {
        match (row.flags & SKIPPED != 0, row.flags & FAILED != 0) {
            (true, _) => Self::Skipped,
            (_, true) => Self::Failed,
            _ => Self::Stored,
        }
    }
}

/// Bytes, and when they came: nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// When the first came.
    pub from: u64,
    /// When the last had come; as `from` where nothing is known of it.
    pub to: u64,
    /// How many.
    pub bytes: u64,
    /// What became of them.
    pub fate: Fate,
}

impl Span {
    /// Parts of it by bins of `width` ns, the first of which begins at `first`: number and bytes.
    pub fn bins(&self, first: u64, width: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (from, to) = (
            self.from.saturating_sub(first),
            self.to.saturating_sub(first),
        );
        let (bytes, length) = (u128::from(self.bytes), u128::from((to - from).max(1)));
        // All that came before a time, so that rounding loses nothing.
        let before = move |time: u64| {
            let since = u128::from(time.clamp(from, to) - from);
            if to == from {
                bytes
            } else {
                bytes * since / length
            }
        };
        (from / width..=to / width).filter_map(move |bin| {
            let begins = (bin * width).max(from);
            let until = before((bin + 1).saturating_mul(width));
            let since = if begins == from { 0 } else { before(begins) };
            (until > since).then(|| (bin, (until - since) as u64))
        })
    }
}

/// The latest extent of a stream, and the pace of the one before.
#[derive(Clone, Copy, Debug)]
struct Latest {
    span: Span,
    /// Nanoseconds and bytes.
    pace: Option<(u64, u64)>,
}

impl Latest {
    /// How long it took at most, by the pace of the one before.
    fn bound(&self) -> Option<u64> {
        let (time, bytes) = self.pace?;
        let took = u128::from(time) * u128::from(self.span.bytes) * u128::from(SLACK);
        u64::try_from(took / u128::from(bytes.max(1))).ok()
    }

    fn ended(self, to: Option<u64>) -> Span {
        let bound = self.bound().map(|took| self.span.from.saturating_add(took));
        let to = match (to, bound) {
            (Some(to), Some(bound)) => to.min(bound),
            (to, bound) => to.or(bound).unwrap_or(self.span.from),
        };
        Span { to, ..self.span }
    }
}

/// Finds out, record by record, when bytes came.
#[derive(Debug, Default)]
pub(crate) struct Spans(BTreeMap<u16, Latest>);

impl Spans {
    /// The next index record; returns the extent before it in its stream.
    pub fn push(&mut self, row: &Row) -> Option<Span> {
        let span = Span {
            from: row.time,
            to: row.time,
            bytes: row.length.into(),
            fate: Fate::of(row),
        };
        let before = self.0.remove(&row.stream);
        let ended = before.map(|before| {
            // One that began before its predecessor says nothing of when that ended.
            before.ended(Some(row.time).filter(|time| *time > before.span.from))
        });
        let pace = ended.filter(|span| span.to > span.from && span.bytes > 0);
        let pace = pace.map(|span| (span.to - span.from, span.bytes));
        self.0.insert(row.stream, Latest { span, pace });
        ended
    }

    /// Those that no index record has ended.
    pub fn rest(self) -> impl Iterator<Item = Span> {
        self.0.into_values().map(|latest| latest.ended(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes by bin of `width` ns of extents of one stream: times and bytes.
    fn drawn(extents: &[(u64, u32)], width: u64) -> BTreeMap<u64, u64> {
        let (mut spans, mut all) = (Spans::default(), Vec::new());
        for &(time, length) in extents {
            all.extend(spans.push(&Row {
                time,
                length,
                ..Row::default()
            }));
        }
        all.extend(spans.rest());
        let mut bins = BTreeMap::new();
        for (bin, bytes) in all.iter().flat_map(|span| span.bins(extents[0].0, width)) {
            *bins.entry(bin).or_default() += bytes;
        }
        bins
    }

    #[test]
    fn no_bin_has_more_than_the_wire_brought() {
        // 16 MiB each at 12.4 GB/s, in bins that are shorter than an extent and no part of it.
        let extents: Vec<_> = (0..16).map(|n| (n * 1_353_000, 16 << 20)).collect();
        for width in [90_000, 700_000, 2_000_000] {
            let bins = drawn(&extents, width);
            let most = bins.values().max().copied().unwrap_or(0) as f64 / width as f64;
            assert!((11.0..12.5).contains(&most), "{most} GB/s at {width}");
            assert_eq!(bins.values().sum::<u64>(), 16 * (16 << 20));
        }
    }

    #[test]
    fn a_burst_ends_where_its_pace_does() {
        // Three in succession, and after a second the same again.
        let burst = |from: u64| (0..3).map(move |n| (from + n * 1000, 1000));
        let extents: Vec<_> = burst(0).chain(burst(1_000_000)).collect();
        let bins = drawn(&extents, 10_000);
        assert_eq!(bins.keys().copied().collect::<Vec<_>>(), [0, 100]);
    }

    #[test]
    fn absurd_times_lose_no_byte() {
        for extents in [
            vec![(5, 100)],
            vec![(u64::MAX, 7), (0, 9), (u64::MAX, 11)],
            vec![(3, 0), (3, 0), (3, u32::MAX)],
        ] {
            let (mut spans, mut bytes) = (Spans::default(), 0);
            let mut add = |span: Span| {
                bytes += span
                    .bins(0, u64::MAX / 240 + 1)
                    .map(|bin| bin.1)
                    .sum::<u64>();
            };
            for &(time, length) in &extents {
                spans
                    .push(&Row {
                        time,
                        length,
                        ..Row::default()
                    })
                    .into_iter()
                    .for_each(&mut add);
            }
            spans.rest().for_each(&mut add);
            let all: u64 = extents.iter().map(|extent| u64::from(extent.1)).sum();
            assert_eq!(bytes, all);
        }
    }
}
