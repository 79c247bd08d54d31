// SPDX-License-Identifier: Apache-2.0
//! Quantities, pauses and faults as people write them.
#![no_main]

use forebay_app::inject;
use forebay_pipeline::units;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = (units::length(text), units::rate(text), units::time(text));
    if let Ok(stall) = inject::stall(text) {
        inject::stalls(&[stall]);
    }
    if let Ok(fault) = inject::fault(text) {
        let faults = [fault];
        for drive in 0..2 {
            inject::faults(&faults, drive);
        }
    }
});
