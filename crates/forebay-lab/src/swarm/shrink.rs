// SPDX-License-Identifier: Apache-2.0
//! The simplest case that still fails the same way: fewer transactions, less that goes wrong, a
//! simpler machine.

use std::collections::HashSet;

use forebay_app::MachineSpec;

use crate::inject;
use crate::soak::Case;

/// Drops what a case does not need to fail; `fails` is asked at most `tries` times.
pub fn shrink(mut case: Case, tries: usize, mut fails: impl FnMut(&Case) -> bool) -> Case {
    let mut known = HashSet::from([format!("{case:?}")]);
    let mut left = tries;
    let mut fails = |case: &Case| {
        // What was refused once is not asked again in a later round.
        if !known.insert(format!("{case:?}")) {
            return Some(false);
        }
        left = left.checked_sub(1)?;
        Some(fails(case))
    };
    simplify(&mut case, &mut fails);
    case
}

/// Simplifies until nothing can go, or no try is left, which is nothing.
fn simplify(case: &mut Case, fails: &mut impl FnMut(&Case) -> Option<bool>) -> Option<()> {
    loop {
        let before = case.clone();
        fewer(case, fails)?;
        for step in STEPS {
            while take(case, step, fails)? {}
        }
        if *case == before {
            return Some(());
        }
    }
}

/// Takes the first simpler case of a step that still fails; true where there is one.
fn take(
    case: &mut Case,
    step: Step,
    fails: &mut impl FnMut(&Case) -> Option<bool>,
) -> Option<bool> {
    for simpler in step(case) {
        if fails(&simpler)? {
            *case = simpler;
            return Some(true);
        }
    }
    Some(false)
}

/// The least number of transactions, found by halving: those before the failure are the same.
fn fewer(case: &mut Case, fails: &mut impl FnMut(&Case) -> Option<bool>) -> Option<()> {
    let mut good = 0;
    while case.work.transactions - good > 1 {
        let mut half = case.clone();
        half.work.transactions = good + (case.work.transactions - good) / 2;
        match fails(&half)? {
            true => *case = half,
            false => good = half.work.transactions,
        }
    }
    Some(())
}

/// What to try on a case, the greatest step first; the first that still fails is taken.
type Step = fn(&Case) -> Vec<Case>;

const STEPS: [Step; 8] = [
    |case| without(case, |case| &mut case.trouble.reset),
    |case| without(case, |case| &mut case.trouble.fault),
    |case| without(case, |case| &mut case.trouble.dram_fault),
    pauses,
    features,
    drives,
    machine,
    places,
];

/// Without all of a list, or without one of its elements.
fn without<T: Clone>(case: &Case, list: impl Fn(&mut Case) -> &mut Vec<T>) -> Vec<Case> {
    let mut copy = case.clone();
    let count = list(&mut copy).len();
    let each = (0..count).map(|index| {
        let mut simpler = case.clone();
        list(&mut simpler).remove(index);
        simpler
    });
    let mut all: Vec<_> = each.collect();
    if count > 1 {
        list(&mut copy).clear();
        all.insert(0, copy);
    }
    all
}

fn pauses(case: &Case) -> Vec<Case> {
    let mut all = without(case, |case| &mut case.trouble.stall);
    for simpler in &mut all {
        if simpler.trouble.stall.is_empty() {
            simpler.trouble.stall.extend(inject::stall("0").ok());
        }
    }
    changed(case, all)
}

/// Those that differ from the case.
fn changed(case: &Case, all: Vec<Case>) -> Vec<Case> {
    all.into_iter().filter(|simpler| simpler != case).collect()
}

/// Each of these changes alone.
fn each(case: &Case, changes: &[fn(&mut Case)]) -> Vec<Case> {
    let copies = changes.iter().map(|change| {
        let mut simpler = case.clone();
        change(&mut simpler);
        simpler
    });
    changed(case, copies.collect())
}

fn features(case: &Case) -> Vec<Case> {
    each(
        case,
        &[
            |case| case.work.refused = 0,
            |case| case.work.fence = 0,
            |case| case.work.flush = 0,
            |case| case.work.fua = 0,
            |case| case.work.unordered = 0,
            |case| case.work.under_way = (case.work.under_way / 4).max(1),
        ],
    )
}

fn drives(case: &Case) -> Vec<Case> {
    let array = &case.machine.array;
    let (count, parity) = (array.drives.unwrap_or(1), array.parity);
    let least = if parity { 2 } else { 1 };
    let fewer = (least..count).map(|drives| {
        let mut simpler = case.clone();
        simpler.machine.array.drives = Some(drives);
        if drives == 1 {
            simpler.machine.array.linear = false;
        }
        simpler
    });
    let mut all = each(
        case,
        &[
            |case| {
                case.machine.array.parity = false;
                case.machine.array.missing = None;
            },
            |case| {
                case.machine.array.missing = None;
            },
            |case| case.machine.array.linear = false,
        ],
    );
    all.extend(fewer);
    all
}

fn machine(case: &Case) -> Vec<Case> {
    each(
        case,
        &[
            |case| case.machine.profiles = ideal(),
            |case| case.machine.queue_depth = None,
            |case| case.machine.dram = None,
            |case| case.machine.refresh = None,
            |case| case.trouble.block = None,
            |case| case.trouble.mdts = None,
            |case| case.trouble.max_transfer = None,
            |case| case.trouble.retry_limit = 3,
        ],
    )
}

fn ideal() -> Vec<String> {
    MachineSpec::default().profiles
}

fn places(case: &Case) -> Vec<Case> {
    each(
        case,
        &[
            |case| case.work.at = None,
            |case| case.work.largest = (case.work.largest / 2).max(case.work.least),
            |case| {
                let least = 2 * case.work.largest;
                case.work.area = case.work.area.map(|area| (area / 2).max(least));
            },
        ],
    )
}

#[cfg(test)]
mod tests {
    use forebay_pipeline::Memory;

    use super::*;
    use crate::soak::Trouble;

    /// A case with something of everything.
    fn rich() -> Case {
        let mut case = Case::default();
        case.machine.memory = Memory::Dram;
        case.machine.array.drives = Some(8);
        case.machine.array.parity = true;
        case.machine.array.missing = Some(2);
        case.work.transactions = 1000;
        let stalls = ["0.1:4", "read=0.2:5", "memory=0.3:6"].map(inject::stall);
        let faults = ["0/drop@nth=3", "1/fail@read"].map(inject::fault);
        case.trouble = Trouble {
            stall: stalls
                .into_iter()
                .collect::<Result<_, _>>()
                .expect("stalls"),
            fault: faults
                .into_iter()
                .collect::<Result<_, _>>()
                .expect("faults"),
            dram_fault: inject::dram_fault("read@0..64").into_iter().collect(),
            reset: vec![5, 9],
            block: Some("4096".to_owned()),
            ..Trouble::default()
        };
        case
    }

    #[test]
    fn what_is_needed_stays_and_nothing_else() {
        let mut asked = 0;
        let shrunk = shrink(rich(), 1000, |case| {
            asked += 1;
            let stalls = case.trouble.stall.iter().map(ToString::to_string);
            case.work.transactions >= 37
                && stalls.into_iter().any(|stall| stall.starts_with("memory"))
                && case.machine.array.drives >= Some(3)
                && case.trouble.reset.contains(&9)
        });
        assert_eq!(shrunk.work.transactions, 37);
        let stalls: Vec<_> = shrunk
            .trouble
            .stall
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(stalls, ["memory=0.3:6"]);
        assert_eq!(shrunk.trouble.reset, [9]);
        assert_eq!(shrunk.machine.array.drives, Some(3));
        assert!(!shrunk.machine.array.parity && shrunk.machine.array.missing.is_none());
        assert!(shrunk.trouble.fault.is_empty() && shrunk.trouble.dram_fault.is_empty());
        assert!(shrunk.trouble.block.is_none());
        assert!(asked < 150, "{asked}");
    }

    #[test]
    fn tries_are_bounded_and_a_case_that_needs_all_stays() {
        let mut asked = 0;
        let case = shrink(rich(), 7, |_| {
            asked += 1;
            true
        });
        assert_eq!(asked, 7);
        assert!(case.work.transactions < 1000);
        assert_eq!(shrink(rich(), 1000, |case| *case == rich()), rich());
    }
}
