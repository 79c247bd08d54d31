// SPDX-License-Identifier: Apache-2.0
//! Quantities, pauses and faults as people write them.
#![no_main]

#[path = "../../crates/forebay/src/args/values.rs"]
mod values;

use forebay_pipeline::units;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = (units::length(text), units::rate(text), units::time(text));
    if let Ok(stall) = values::stall(text) {
        values::stalls(&[stall]);
    }
    if let Ok(fault) = values::fault(text) {
        let faults = [fault];
        for drive in 0..2 {
            values::faults(&faults, drive);
        }
    }
});
