// SPDX-License-Identifier: Apache-2.0
//! What reports hold: stable names, units in the names, what is needed to repeat the run.

use std::fs;
use std::path::Path;

use forebay_cosim::{Flow, ReferenceRun};
use forebay_model::HopCount;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};
use crate::traffic::Traffic;

/// What every report begins with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Header {
    /// Kind and version of the report, such as `forebay.demo/1`.
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// The command line that repeats it.
    pub command_line: Vec<String>,
    /// Whether drive and card were models and simulated RTL; false: devices of the machine.
    pub simulated: bool,
    /// Decides everything random.
    pub seed: u64,
    /// The user stopped it: numbers are of what was reached.
    pub interrupted: bool,
    /// Drive and fabric.
    pub profile: ProfileName,
    /// The streamer.
    pub rtl: Rtl,
}

impl Header {
    /// The RTL in a few words.
    pub fn streamer(&self) -> String {
        let Rtl {
            top,
            parameters,
            clock_hz,
        } = &self.rtl;
        let parameter = |name: &str| parameters.iter().find(|(known, _)| known == name);
        let mut text = top.clone();
        if let Some((_, depth)) = parameter("QueueDepth") {
            text.push_str(&format!(", queue depth {depth}"));
        }
        if let Some((_, pages)) = parameter("Pages") {
            text.push_str(&format!(", reorder window {pages} pages"));
        }
        if let Some(clock) = clock_hz {
            text.push_str(&format!(", {:.0} MHz", clock / 1e6));
        }
        text
    }
}

/// A report that does not begin with a [`Header`]: its kind and version, and what was found.
#[derive(Debug, Serialize)]
pub struct Report<T> {
    schema: &'static str,
    version: &'static str,
    /// What was found.
    #[serde(flatten)]
    pub found: T,
}

impl<T> Report<T> {
    /// One of this kind, such as `forebay.plan/2`.
    pub const fn new(schema: &'static str, found: T) -> Self {
        Self {
            schema,
            version: env!("CARGO_PKG_VERSION"),
            found,
        }
    }
}

/// Which profile.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProfileName {
    /// Its name.
    pub name: String,
    /// What it stands for.
    pub description: String,
}

/// Which RTL.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Rtl {
    /// Top module.
    pub top: String,
    /// Parameters given to it.
    pub parameters: Vec<(String, String)>,
    /// Clock in hertz; unknown of a card.
    pub clock_hz: Option<f64>,
}

/// A rate, and how long its transactions took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Transactions that ended.
    pub transactions: u64,
    /// Bytes moved by those that did not fail.
    pub bytes: u64,
    /// Cycles from the first command beat to the last answer.
    pub cycles: u64,
    /// Bytes per cycle over these.
    pub bytes_per_cycle: f64,
    /// The same per second, in 10^9 bytes.
    pub gigabytes_per_second: f64,
    /// Latency of the transactions.
    pub latency_cycles: Latency,
    /// Transactions that ended with an error.
    pub failed: u64,
    /// Transactions whose data differed.
    pub mismatched: u64,
    /// What crossed PCIe meanwhile.
    #[serde(flatten)]
    pub traffic: Traffic,
}

/// Latencies in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Least.
    pub least: u32,
    /// Mean.
    pub mean: f64,
    /// What half of the transactions do not exceed.
    pub p50: u32,
    /// What 99 of 100 do not exceed.
    pub p99: u32,
    /// Greatest.
    pub most: u32,
}

impl Latency {
    /// Of latencies in ascending order.
    fn of(sorted: &[u32]) -> Self {
        let at = |share: f64| {
            let index = (share * sorted.len() as f64).ceil() as usize;
            sorted.get(index.max(1) - 1).copied().unwrap_or(0)
        };
        let sum: u64 = sorted.iter().map(|latency| u64::from(*latency)).sum();
        Self {
            least: at(0.0),
            mean: sum as f64 / sorted.len().max(1) as f64,
            p50: at(0.5),
            p99: at(0.99),
            most: at(1.0),
        }
    }
}

impl Rate {
    /// The numbers of one direction, and what crossed the links meanwhile.
    pub fn of(flow: &Flow, clock_period: u64, hops: &[HopCount]) -> Self {
        let mut latencies = flow.latencies.clone();
        latencies.sort_unstable();
        Self {
            transactions: flow.transactions,
            bytes: flow.bytes,
            cycles: flow.cycles(),
            bytes_per_cycle: flow.bytes_per_cycle(),
            gigabytes_per_second: flow.bytes_per_second(clock_period) / 1e9,
            latency_cycles: Latency::of(&latencies),
            failed: flow.failed,
            mismatched: flow.mismatched,
            traffic: Traffic::new(hops, flow.cycles() * clock_period, flow.bytes),
        }
    }

    /// The numbers of the host, in cycles of the streamer's clock.
    pub fn of_host(run: &ReferenceRun, clock_period: u64) -> Self {
        let cycles = |time: u64| time.div_ceil(clock_period);
        let mut latencies: Vec<u32> = run
            .latencies
            .iter()
            .map(|time| u32::try_from(cycles(*time)).unwrap_or(u32::MAX))
            .collect();
        latencies.sort_unstable();
        let per_second = run.bytes_per_second();
        Self {
            transactions: run.commands,
            bytes: run.bytes,
            cycles: cycles(run.duration),
            bytes_per_cycle: per_second * clock_period as f64 * 1e-12,
            gigabytes_per_second: per_second / 1e9,
            latency_cycles: Latency::of(&latencies),
            failed: run.failed,
            mismatched: 0,
            traffic: Traffic::new(&run.hops, run.duration, run.bytes),
        }
    }

    /// Several runs of one transaction each as one: rates over all, latencies of each.
    pub fn together(runs: &[Self]) -> Self {
        let sum = |part: fn(&Self) -> u64| runs.iter().map(part).sum::<u64>();
        let (bytes, cycles) = (sum(|run| run.bytes), sum(|run| run.cycles));
        let mut latencies: Vec<u32> = runs.iter().map(|run| run.latency_cycles.p50).collect();
        latencies.sort_unstable();
        let per_cycle = |run: &Self| run.gigabytes_per_second / run.bytes_per_cycle;
        let bytes_per_cycle = bytes as f64 / cycles.max(1) as f64;
        Self {
            transactions: sum(|run| run.transactions),
            bytes,
            cycles,
            bytes_per_cycle,
            gigabytes_per_second: runs.first().map_or(0.0, per_cycle) * bytes_per_cycle,
            latency_cycles: Latency::of(&latencies),
            failed: sum(|run| run.failed),
            mismatched: sum(|run| run.mismatched),
            traffic: Traffic::together(runs.iter().map(|run| &run.traffic), bytes),
        }
    }

    /// How this rate compares with another; none where one of them is nothing.
    pub fn ratio_to(&self, reference: &Self) -> Option<f64> {
        let ratio = self.bytes_per_cycle / reference.bytes_per_cycle;
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }
}

/// The command line as it can be given again: the program by its name, not by its place.
pub fn command_line() -> Vec<String> {
    std::iter::once("forebay".to_owned())
        .chain(std::env::args().skip(1))
        .collect()
}

/// Writes a file, so that a reader sees either the old one or the whole new one.
///
/// # Errors
/// Where it cannot be written.
pub fn store_whole(path: &Path, text: &str) -> Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, path))
        .map_err(|error| Failure::file("writing", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_have_their_shares() {
        let sorted: Vec<u32> = (1..=100).collect();
        let latency = Latency::of(&sorted);
        assert_eq!(
            (latency.least, latency.p50, latency.p99, latency.most),
            (1, 50, 99, 100)
        );
        assert!((latency.mean - 50.5).abs() < 1e-9);
        assert_eq!(Latency::of(&[]), Latency::default());
    }

    #[test]
    fn runs_are_put_together() {
        let run = |cycles: u32| Rate {
            transactions: 1,
            bytes: 4096,
            cycles: cycles.into(),
            bytes_per_cycle: 4096.0 / f64::from(cycles),
            gigabytes_per_second: 0.3 * 4096.0 / f64::from(cycles),
            latency_cycles: Latency::of(&[cycles]),
            ..Rate::default()
        };
        let both = Rate::together(&[run(100), run(300)]);
        assert_eq!((both.bytes, both.cycles, both.transactions), (8192, 400, 2));
        assert!((both.gigabytes_per_second - 0.3 * 8192.0 / 400.0).abs() < 1e-9);
        assert_eq!(
            (both.latency_cycles.least, both.latency_cycles.most),
            (100, 300)
        );
    }
}
