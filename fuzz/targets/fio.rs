// SPDX-License-Identifier: Apache-2.0
//! Reports of fio: refused, or made of numbers that can be.
#![no_main]

use forebay_lab::qualify::fio;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(report) = fio::read(text) {
        assert!(report.version.len() <= 24 && !report.observations.is_empty());
        for seen in &report.observations {
            assert_eq!(fio::Job::parse(&seen.job.name()), Some(seen.job));
            assert!(seen.rate >= 1.0 && seen.iops > 0.0 && seen.mean_ns >= 1.0);
            assert!(seen.p50_ns <= seen.p99_ns && seen.p99_ns <= seen.p999_ns);
        }
    }
});
