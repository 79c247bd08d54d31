// SPDX-License-Identifier: Apache-2.0
//! What a recording's index records come to over time: of any length, in memory that does not grow
//! with it.

use std::collections::BTreeMap;

use forebay_spec::store::index::{FAILED, Row, SKIPPED};
use forebay_spec::store::schema::Schema;
use serde::Serialize;

use crate::timeline::{Fate, Span, Spans};
use crate::{Cell, Entry, Recording, Results, Totals};

/// Bins of the time line.
pub const BINS: usize = 240;
/// Gaps that are listed: the greatest.
const GAPS: usize = 16;
/// Bins of a histogram: powers of two.
const POWERS: usize = 65;

/// What happened in a bin's time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bin {
    /// Bytes of payload that were stored.
    pub stored_bytes: u64,
    /// Bytes for which there was no room.
    pub skipped_bytes: u64,
    /// Bytes that the drive did not take.
    pub failed_bytes: u64,
    /// Extents that began.
    pub extents: u64,
    /// Frames that are missing.
    pub missing: u64,
}

/// What is known of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stream {
    /// Its number.
    pub stream: u16,
    /// Extents.
    pub extents: u64,
    /// Bytes of payload that were stored.
    pub stored_bytes: u64,
    /// Extents without room.
    pub skipped: u64,
    /// Extents that the drive did not take.
    pub failed: u64,
    /// Frames that are missing.
    pub missing: u64,
    /// Extents that began before the one in front of them.
    pub backwards: u64,
    #[serde(skip)]
    last: Option<u64>,
}

/// Results of a class: what the columns `class` and `score` say, where there are such.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Class {
    /// Its number.
    pub class: u16,
    /// Extents.
    pub extents: u64,
    /// Mean of the scores that are numbers.
    pub mean_score: Option<f64>,
    #[serde(skip)]
    scores: (f64, u64),
}

/// Frames that are missing in front of an extent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gap {
    /// Nanoseconds since 1970.
    pub time_ns: u64,
    /// Stream.
    pub stream: u16,
    /// Number of the object.
    pub object: u64,
    /// Frames; 2^32 − 1 stands for more.
    pub missing: u32,
}

/// Bars of a histogram.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// Values of at least this.
    pub from: u64,
    /// How many, up to twice that.
    pub count: u64,
}

/// Counts by power of two.
#[derive(Clone, Debug, PartialEq)]
struct Powers([u64; POWERS]);

impl Powers {
    fn add(&mut self, value: u64) {
        self.0[(u64::BITS - value.leading_zeros()) as usize] += 1;
    }

    /// From the first that has any to the last.
    fn bars(&self) -> Vec<Bar> {
        let from = |power: usize| if power == 0 { 0 } else { 1 << (power - 1) };
        let any = |count: &u64| *count > 0;
        let Some(first) = self.0.iter().position(any) else {
            return Vec::new();
        };
        let last = self.0.iter().rposition(any).unwrap_or(first);
        let bars = self.0[first..=last].iter().zip(first..);
        bars.map(|(count, power)| Bar {
            from: from(power),
            count: *count,
        })
        .collect()
    }
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// When the first bin begins: nanoseconds since 1970.
    pub first_ns: u64,
    /// Nanoseconds of a bin.
    pub bin_ns: u64,
    /// The time line.
    pub bins: Vec<Bin>,
    /// Each stream.
    pub streams: Vec<Stream>,
    /// Each class that there was, the most frequent first.
    pub classes: Vec<Class>,
    /// The greatest gaps, in order of time.
    pub gaps: Vec<Gap>,
    /// Extents that have a gap in front.
    pub gap_count: u64,
    /// Extents by bytes of payload.
    pub sizes: Vec<Bar>,
    /// Extents by nanoseconds since the one before in their stream began.
    pub intervals: Vec<Bar>,
}

struct Collector {
    all: Statistics,
    spans: Spans,
    streams: BTreeMap<u16, Stream>,
    classes: BTreeMap<u16, Class>,
    schema: Schema,
    sizes: Powers,
    intervals: Powers,
}

impl Statistics {
    /// Goes through the index once more, now that the first and last time are known.
    #[must_use]
    pub fn of(recording: &Recording<'_>, totals: &Totals) -> Self {
        let first = totals.first_ns.unwrap_or(0);
        let span = end(recording).saturating_sub(first);
        let mut collector = Collector {
            all: Self {
                first_ns: first,
                bin_ns: span / BINS as u64 + 1,
                bins: vec![Bin::default(); BINS],
                streams: Vec::new(),
                classes: Vec::new(),
                gaps: Vec::new(),
                gap_count: 0,
                sizes: Vec::new(),
                intervals: Vec::new(),
            },
            spans: Spans::default(),
            streams: BTreeMap::new(),
            classes: BTreeMap::new(),
            schema: recording.superblock().schema,
            sizes: Powers([0; POWERS]),
            intervals: Powers([0; POWERS]),
        };
        rows(recording).for_each(|row| collector.see(&row));
        collector.done()
    }

    /// Adds bytes to the bins in whose time they came.
    fn spread(&mut self, span: &Span) {
        for (bin, bytes) in span.bins(self.first_ns, self.bin_ns) {
            // The index may have changed since its end was looked for.
            let Some(bin) = self.bins.get_mut(bin as usize) else {
                return;
            };
            let kind = match span.fate {
                Fate::Stored => &mut bin.stored_bytes,
                Fate::Skipped => &mut bin.skipped_bytes,
                Fate::Failed => &mut bin.failed_bytes,
            };
            *kind = kind.saturating_add(bytes);
        }
    }
}

fn rows(recording: &Recording<'_>) -> impl Iterator<Item = Row> {
    recording.rows().filter_map(|entry| match entry {
        Entry::Row { row, .. } => Some(row),
        Entry::Damaged { .. } => None,
    })
}

/// When the last byte had come.
fn end(recording: &Recording<'_>) -> u64 {
    let mut spans = Spans::default();
    let ended = rows(recording)
        .filter_map(|row| spans.push(&row))
        .map(|span| span.to)
        .max();
    spans
        .rest()
        .map(|span| span.to)
        .max()
        .max(ended)
        .unwrap_or(0)
}

impl Collector {
    fn see(&mut self, row: &Row) {
        if let Some(span) = self.spans.push(row) {
            self.all.spread(&span);
        }
        let length = u64::from(row.length);
        let (skipped, failed) = (row.flags & SKIPPED != 0, row.flags & FAILED != 0);
        let missing = u64::from(row.missing);
        let bin = (row.time.saturating_sub(self.all.first_ns) / self.all.bin_ns) as usize;
        if let Some(bin) = self.all.bins.get_mut(bin) {
            bin.extents += 1;
            bin.missing = bin.missing.saturating_add(missing);
        }
        let stream = self.streams.entry(row.stream).or_default();
        stream.stream = row.stream;
        stream.extents += 1;
        stream.skipped += u64::from(skipped);
        stream.failed += u64::from(failed);
        stream.missing = stream.missing.saturating_add(missing);
        if row.stored() {
            stream.stored_bytes = stream.stored_bytes.saturating_add(length);
            self.sizes.add(length);
        }
        match stream.last.map(|last| row.time.checked_sub(last)) {
            Some(Some(since)) => self.intervals.add(since),
            Some(None) => stream.backwards += 1,
            None => {}
        }
        stream.last = Some(row.time);
        self.result(row);
        self.gap(row);
    }

    fn result(&mut self, row: &Row) {
        let result = Results::of(&self.schema, row);
        let Some(number) = result.class() else {
            return;
        };
        let class = self.classes.entry(number).or_default();
        class.class = number;
        class.extents += 1;
        if let Some(Cell::Float(score)) = result.get("score") {
            class.scores.0 += f64::from(*score);
            class.scores.1 += 1;
        }
    }

    fn gap(&mut self, row: &Row) {
        if row.missing == 0 {
            return;
        }
        self.all.gap_count += 1;
        let gaps = &mut self.all.gaps;
        gaps.push(Gap {
            time_ns: row.time,
            stream: row.stream,
            object: row.object,
            missing: row.missing,
        });
        if gaps.len() > GAPS {
            let least = gaps.iter().enumerate().min_by_key(|(_, gap)| gap.missing);
            if let Some((least, _)) = least {
                gaps.remove(least);
            }
        }
    }

    fn done(self) -> Statistics {
        let mut classes: Vec<_> = self.classes.into_values().collect();
        for class in &mut classes {
            let (sum, count) = class.scores;
            class.mean_score = (count > 0).then(|| sum / count as f64);
        }
        classes.sort_by_key(|class| std::cmp::Reverse(class.extents));
        let mut all = self.all;
        for span in self.spans.rest() {
            all.spread(&span);
        }
        all.gaps.sort_by_key(|gap| gap.time_ns);
        Statistics {
            streams: self.streams.into_values().collect(),
            classes,
            sizes: self.sizes.bars(),
            intervals: self.intervals.bars(),
            ..all
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_at_its_power_of_two() {
        let mut powers = Powers([0; POWERS]);
        for value in [4, 5, 7, 8, 16, 31] {
            powers.add(value);
        }
        let bars = powers.bars();
        let all: Vec<_> = bars.iter().map(|bar| (bar.from, bar.count)).collect();
        assert_eq!(all, [(4, 3), (8, 1), (16, 2)]);
        powers.add(0);
        powers.add(u64::MAX);
        let bars = powers.bars();
        assert_eq!((bars[0].from, bars[0].count), (0, 1));
        assert_eq!((bars[64].from, bars[64].count), (1 << 63, 1));
        assert!(Powers([0; POWERS]).bars().is_empty());
    }
}
