// SPDX-License-Identifier: Apache-2.0
//! On which numbers an answer rests, and how each came to be.

use forebay_model::profile::SourceRow;
use forebay_model::{DramProfile, Profile};
use serde::Serialize;

use super::stages;
use super::state;
use crate::failure::Result;

/// By how much a number is changed, to see what depends on it.
const STEP: f64 = 0.1;
/// Least change of a drive's rate that counts, in percent.
const LEAST_PERCENT: f64 = 1.0;
/// Tables whose numbers may decide how fast a drive writes from the card's memory.
const TABLES: [&str; 5] = [
    "fabric.fpga",
    "fabric.ssd",
    "ssd.timing",
    "ssd.timing.write",
    "ssd.timing.thermal",
];
/// More of these is not slower or faster, but another design.
const DISCRETE: [&str; 2] = ["ssd.timing.admin_ns", "ssd.timing.write.cache_bytes"];

/// A number that an answer rests on.
#[derive(Clone, Debug, Serialize)]
pub struct Basis {
    /// What it decides: `rate`, `bottleneck`, `capacity`, `endurance` or `fifo`.
    pub decides: &'static str,
    /// The profile that has it.
    pub profile: String,
    /// Field, value, how it came to be, and where from.
    #[serde(flatten)]
    pub number: SourceRow,
    /// How a drive's rate changes where the number is 10 % greater, in percent; none where nothing
    /// was simulated for it.
    pub change_percent: Option<f64>,
}

/// What decides about a drive's rate: how it is worn in.
pub struct Load<'a> {
    /// Name or file of the profile.
    pub name: &'a str,
    /// Bytes that one drive gets in all.
    pub total: Option<u64>,
    /// Bytes a second that it gets.
    pub mean: f64,
    /// Decides everything random.
    pub seed: u64,
}

impl Load<'_> {
    /// The numbers that a drive's rate depends on, the most important first.
    ///
    /// # Errors
    /// Where the drive fails, or the user stops.
    pub fn of_rate(&self, profile: &Profile) -> Result<Vec<Basis>> {
        let rate = |profile: &Profile| {
            let state = state::worst(profile, self.total, self.mean);
            stages::measured(&state.profile, self.seed, stages::FEW_COMMANDS)
        };
        let plain = rate(profile)?;
        let mut all = Vec::new();
        for number in profile.sources.iter().filter(|number| counts(number)) {
            // What may only be a power of two is left out.
            let Ok(varied) = Profile::load_varied(self.name, &number.field, 1.0 + STEP) else {
                continue;
            };
            let change = (rate(&varied)? / plain - 1.0) * 100.0;
            if change.abs() >= LEAST_PERCENT {
                all.push(Basis {
                    decides: "rate",
                    profile: profile.name.clone(),
                    number: number.clone(),
                    change_percent: Some(change),
                });
            }
        }
        let change = |basis: &Basis| basis.change_percent.unwrap_or(0.0).abs();
        all.sort_by(|a, b| change(b).total_cmp(&change(a)));
        Ok(all)
    }
}

/// Whether a number may decide about a drive's rate.
fn counts(number: &SourceRow) -> bool {
    let table = number.field.rsplit_once('.').map_or("", |(table, _)| table);
    let known = TABLES.contains(&table)
        || number.field == "ssd.timing.write.medium.program_bytes_per_second";
    number.value > 0 && known && !DISCRETE.contains(&number.field.as_str())
}

/// The number of a profile with this field.
fn found(
    profile: &str,
    numbers: &[SourceRow],
    decides: &'static str,
    field: &str,
) -> Option<Basis> {
    let number = numbers.iter().find(|number| number.field == field)?;
    Some(Basis {
        decides,
        profile: profile.to_owned(),
        number: number.clone(),
        change_percent: None,
    })
}

/// The number behind a part that limits, where a profile has it and drives do not limit.
pub fn of_bottleneck(profile: &Profile, dram: &DramProfile, part: &str) -> Option<Basis> {
    let of = |field| found(&profile.name, &profile.sources, "bottleneck", field);
    match part {
        stages::CARD_LINK => of("fabric.fpga.bytes_per_second"),
        stages::DRIVE_LINKS => of("fabric.ssd.bytes_per_second"),
        stages::DRAM => found(&dram.name, &dram.sources, "bottleneck", "timing.burst_ps"),
        _ => None,
    }
}

/// The numbers behind recording time and years.
pub fn of_life(profile: &Profile) -> impl Iterator<Item = Basis> {
    let of = |decides, field| found(&profile.name, &profile.sources, decides, field);
    let rated = of("endurance", "ssd.endurance.sequential_bytes")
        .or_else(|| of("endurance", "ssd.endurance.written_bytes"));
    [of("capacity", "ssd.namespaces.0.bytes"), rated]
        .into_iter()
        .flatten()
}

/// The numbers behind a FIFO: the drive's pauses.
pub fn of_pauses(profile: &Profile) -> impl Iterator<Item = Basis> {
    const FIELDS: [&str; 5] = [
        "ssd.timing.write.pause_us",
        "ssd.timing.write.pause_every_bytes",
        "ssd.timing.pauses.length_us",
        "ssd.timing.pauses.every_us",
        "ssd.timing.pauses.spread_us",
    ];
    FIELDS
        .iter()
        .filter_map(|field| found(&profile.name, &profile.sources, "fifo", field))
        .filter(|basis| basis.number.value > 0)
}

#[cfg(test)]
mod tests {
    use forebay_model::profile::Kind;

    use super::*;

    fn rests(name: &str, total: Option<u64>) -> Vec<(String, Kind)> {
        let profile = Profile::builtin(name).expect("there");
        let load = Load {
            name,
            total,
            mean: 1e9,
            seed: 1,
        };
        let all = load.of_rate(&profile).expect("runs");
        all.into_iter()
            .map(|basis| (basis.number.field, basis.number.kind))
            .collect()
    }

    #[test]
    fn the_guess_behind_a_full_cache_is_named() {
        let full = "ssd.timing.write.full_bytes_per_second".to_owned();
        assert_eq!(rests("gen5-2tb", None)[0], (full.clone(), Kind::Chosen));
        assert_eq!(rests("990pro-2tb", None)[0], (full, Kind::Published));
        // As long as it is not full, it is the path that was fitted.
        let short = rests("990pro-2tb", Some(1 << 30));
        assert!(
            short.iter().any(|(_, kind)| *kind == Kind::Fitted),
            "{short:?}"
        );
        assert!(
            short.iter().all(|(field, _)| !field.contains("full")),
            "{short:?}"
        );
        assert!(rests("ideal", None).is_empty());
    }

    #[test]
    fn what_limits_is_found_in_its_profile() {
        let profile = Profile::builtin("9550max-6400").expect("there");
        let dram = DramProfile::builtin("ddr4-2400").expect("there");
        for (part, field) in [
            (stages::CARD_LINK, Some("fabric.fpga.bytes_per_second")),
            (stages::DRIVE_LINKS, Some("fabric.ssd.bytes_per_second")),
            (stages::DRAM, Some("timing.burst_ps")),
            ("wire", None),
        ] {
            let basis = of_bottleneck(&profile, &dram, part).map(|basis| basis.number.field);
            assert_eq!(basis.as_deref(), field);
        }
        let life: Vec<_> = of_life(&profile).map(|basis| basis.number.field).collect();
        assert_eq!(
            life,
            ["ssd.namespaces.0.bytes", "ssd.endurance.sequential_bytes"]
        );
    }
}
