// SPDX-License-Identifier: Apache-2.0
//! Values as people write them on the command line.
#![no_main]

#[path = "../../crates/forebay/src/args/values.rs"]
mod values;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = values::length(text);
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
