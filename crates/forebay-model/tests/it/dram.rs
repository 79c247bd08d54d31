// SPDX-License-Identifier: Apache-2.0
//! The memory against what its data sheet's numbers allow.

use forebay_model::{Dram, DramProfile, Refresh, SECOND, Time};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg32;

fn ddr4() -> DramProfile {
    let mut profile = DramProfile::builtin("ddr4-2400").expect("built in");
    profile.refresh = Refresh::Never;
    profile
}

/// Share of the peak with which accesses of 64 bytes are served that are all there from the start.
fn efficiency(profile: &DramProfile, accesses: impl IntoIterator<Item = (bool, u64)>) -> f64 {
    let mut dram = Dram::new(profile, 1);
    let (mut end, mut bytes) = (0, 0);
    for (write, address) in accesses {
        end = dram.access(0, write, address).max(end);
        bytes += 64;
    }
    let fixed = profile.controller.request + profile.controller.answer;
    let rate = bytes as f64 * SECOND as f64 / (end - fixed) as f64;
    rate / profile.peak() as f64
}

/// Two rows of banks away: in other banks as long as two runs go on side by side.
const OTHER_BANKS: u64 = 64 << 10;

/// A run of accesses, alternating between reads and writes every `bytes` bytes. Each has a buffer of
/// its own, as in the streamer; the second is `ahead` bytes ahead of the first.
fn alternating(bytes: u64, ahead: u64) -> impl Iterator<Item = (bool, u64)> {
    (0..65_536u64).map(move |n| {
        let run = n * 64 / bytes;
        let address = run / 2 * bytes + n * 64 % bytes;
        (run % 2 == 1, address + (run % 2) * ((64 << 20) + ahead))
    })
}

#[test]
fn a_long_run_has_nearly_the_peak() {
    let profile = ddr4();
    assert!((19_190_000_000..19_210_000_000).contains(&profile.peak()));
    for write in [false, true] {
        let found = efficiency(&profile, (0..65_536).map(|n| (write, n * 64)));
        assert!((0.995..=1.0).contains(&found), "write {write}: {found}");
    }
}

#[test]
fn one_read_takes_what_the_data_sheet_says() {
    let profile = ddr4();
    let t = profile.timing;
    let mut dram = Dram::new(&profile, 1);
    let c = profile.controller;
    let fixed = c.request + c.answer + t.read_latency + t.burst;
    assert_eq!(dram.access(0, false, 0), fixed + t.activate, "closed row");
    let later = SECOND / 1_000_000;
    assert_eq!(dram.access(later, false, 64 * 4) - later, fixed, "open row");
    let other = 8192 * 16;
    let closing = t.precharge + t.activate;
    assert_eq!(
        dram.access(2 * later, false, other) - 2 * later,
        fixed + closing,
        "another row of the same bank"
    );
    assert_eq!(dram.counters().row_hits, 1);
}

#[test]
fn one_bank_alone_gives_a_row_each_row_cycle() {
    // The same bank, another row each time: tRAS + tRP, or tRCD + tRTP + tRP where that is more.
    let profile = ddr4();
    let t = profile.timing;
    let cycle = (t.row_open + t.precharge).max(t.activate + t.read_to_precharge + t.precharge);
    let found = efficiency(&profile, (0..4096).map(|n| (false, n * 8192 * 16)));
    let bound = t.burst as f64 / cycle as f64;
    assert!((found / bound - 1.0).abs() < 0.01, "{found}, bound {bound}");
}

#[test]
fn random_accesses_keep_below_four_activations_a_window() {
    let profile = ddr4();
    let t = profile.timing;
    let mut random = Pcg32::seed_from_u64(7);
    let addresses: Vec<_> = (0..32_768)
        .map(|_| (false, u64::from(random.next_u32()) % (1 << 26) * 64))
        .collect();
    let found = efficiency(&profile, addresses);
    let bound = (4 * t.burst) as f64 / t.four_activates.max(4 * t.activate_short) as f64;
    // Served in order, a bank that is asked again before its row cycle is over holds up the others.
    assert!(found < bound, "{found}, bound {bound}");
    assert!((0.25..0.6).contains(&found), "{found}");
}

#[test]
fn turning_the_bus_costs_what_the_data_sheet_says() {
    let profile = ddr4();
    let t = profile.timing;
    // Write to read: CWL, data, tWTR, CL to the next data. Read to write: the gap on the bus.
    let to_read = t.write_latency + t.write_to_read_short + t.read_latency - t.write_latency;
    let turns = to_read + t.bus_turn;
    for bytes in [512, 4096, 16384] {
        let data = bytes / 64 * t.burst;
        let bound = (2 * data) as f64 / (2 * data + turns) as f64;
        let found = efficiency(&profile, alternating(bytes, OTHER_BANKS));
        assert!(found <= bound, "{bytes} B: {found}, bound {bound}");
        assert!(found > 0.85 * bound, "{bytes} B: {found}, bound {bound}");
    }
    let (small, page) = (
        efficiency(&profile, alternating(512, OTHER_BANKS)),
        efficiency(&profile, alternating(4096, OTHER_BANKS)),
    );
    assert!(small < 0.75 && page > 0.9, "512 B {small}, 4 KiB {page}");
}

#[test]
fn two_runs_through_the_same_banks_close_each_others_rows() {
    let profile = ddr4();
    let separate = efficiency(&profile, alternating(4096, OTHER_BANKS));
    let together = efficiency(&profile, alternating(4096, 0));
    assert!(together < 0.95 * separate, "{together} against {separate}");
    // One row cycle a run at most, seen from the last column of the run before.
    assert!(together > 0.75 * separate, "{together} against {separate}");
}

#[test]
fn refresh_takes_its_share_and_no_more() {
    let mut profile = ddr4();
    let t = profile.timing;
    let run = || (0..1 << 20).map(|n| (false, n * 64));
    let without = efficiency(&profile, run());
    let share = 1.0 - t.refresh as f64 / t.refresh_every as f64;
    for refresh in [Refresh::Regular, Refresh::Jitter, Refresh::Bunched] {
        profile.refresh = refresh;
        let found = efficiency(&profile, run()) / without;
        assert!(
            (found - share).abs() < 0.02,
            "{refresh:?}: {found}, {share}"
        );
    }
}

#[test]
fn the_longest_pause_is_that_of_all_postponed_refreshes() {
    let longest = |refresh| {
        let profile = DramProfile { refresh, ..ddr4() };
        let mut dram = Dram::new(&profile, 3);
        let (mut now, mut most): (Time, Time) = (0, 0);
        for n in 0..200_000u64 {
            let end = dram.access(now, false, n * 64);
            most = most.max(end - now);
            now += 5_000;
        }
        most
    };
    let t = ddr4().timing;
    let least = longest(Refresh::Never);
    let one = longest(Refresh::Regular);
    let nine = longest(Refresh::Bunched);
    assert!((t.refresh..t.refresh + 200_000).contains(&(one - least)));
    assert!((9 * t.refresh..9 * t.refresh + 200_000).contains(&(nine - least)));
    let jitter = longest(Refresh::Jitter);
    assert!((one..=nine).contains(&jitter), "{jitter}");
}

#[test]
fn hbm_has_its_channels_side_by_side() {
    let mut profile = DramProfile::builtin("hbm2-1800").expect("built in");
    profile.refresh = Refresh::Never;
    for channels in [1, 2, 8] {
        profile.channels = channels;
        let peak = 14_400_000_000 * u64::from(channels);
        assert!(profile.peak().abs_diff(peak) < peak / 1000);
        let found = efficiency(&profile, (0..65_536).map(|n| (false, n * 64)));
        assert!(found > 0.95, "{channels}: {found}");
    }
}

#[test]
fn the_same_seed_gives_the_same_times() {
    let profile = DramProfile {
        refresh: Refresh::Jitter,
        ..ddr4()
    };
    let run = |seed| {
        let mut dram = Dram::new(&profile, seed);
        (0..100_000u64)
            .map(|n| dram.access(n * 4000, n % 7 == 0, n * 64))
            .fold(0u64, |sum, time| sum.wrapping_mul(31).wrapping_add(time))
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn a_value_that_cannot_be_is_refused() {
    let text = include_str!("../../../../profiles/dram/ddr4-2400.toml");
    let change = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        DramProfile::from_toml("test", &text.replace(from, to)).map_err(|error| error.to_string())
    };
    let cases = [
        ("row_bytes = { value = 8192", "row_bytes = { value = 8000"),
        ("channels = { value = 1", "channels = { value = 0"),
        ("burst_ps = { value = 3333", "burst_ps = { value = 0"),
        (
            "column_short_ps = { value = 3333",
            "column_short_ps = { value = 3332",
        ),
        (
            "refresh_ps = { value = 350000",
            "refresh_ps = { value = 9000000",
        ),
        (
            "refreshes_postponed = { value = 8",
            "refreshes_postponed = { value = 800",
        ),
        ("request_ps", "requests_ps"),
    ];
    for (from, to) in cases {
        let error = change(from, to).expect_err(to);
        let field = from.split(' ').next().expect("a field");
        assert!(error.contains(field), "{error}");
    }
    assert!(DramProfile::builtin("ddr9").is_err());
    let profile = ddr4();
    assert_eq!(profile.sources.len(), 27);
}
