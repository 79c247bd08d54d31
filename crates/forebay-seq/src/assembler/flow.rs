// SPDX-License-Identifier: Apache-2.0
//! Checks of the control flow: the end, calls, loops.

use std::collections::BTreeMap;

use crate::CALLS_MOST;
use crate::error::{At, Result};
use crate::instruction::{Alu, Instruction};
use crate::program::Label;

/// Loops within loops that are looked at.
const LOOPS_MOST: u32 = 1000;

/// Checks a program whose targets are all in it.
pub fn check(instructions: &[Instruction], places: &[At], labels: &[Label]) -> Result<()> {
    let flow = Flow {
        instructions,
        places,
        labels,
    };
    flow.end()?;
    let bodies = flow.bodies();
    let order = flow.calls(&bodies)?;
    flow.loops(&bodies, &order)
}

/// A program, and where its instructions stand.
struct Flow<'a> {
    instructions: &'a [Instruction],
    places: &'a [At],
    labels: &'a [Label],
}

/// The words of each called part, by its first word.
type Bodies = BTreeMap<usize, Vec<usize>>;

/// What counts for the end of a loop; registers as bits.
#[derive(Clone, Copy, Default)]
struct Effects {
    /// It looks at the timer.
    timed: bool,
    /// Registers on which it branches.
    tested: u16,
    /// Registers that it counts.
    counted: u16,
}

impl Effects {
    const fn of(instruction: Instruction) -> Self {
        let (mut timed, mut tested, mut counted) = (false, 0, 0);
        match instruction {
            Instruction::Btime { .. } => timed = true,
            Instruction::Compare { d, a, .. } => tested = 1 << d | 1 << a,
            Instruction::Bit { d, .. } => tested = 1 << d,
            Instruction::Alu {
                op: Alu::Add | Alu::Sub,
                d,
                ..
            }
            | Instruction::Shift { d, .. } => counted = 1 << d,
            _ => {}
        }
        Self {
            timed,
            tested,
            // r0 never changes.
            counted: counted & !1,
        }
    }

    const fn and(self, other: Self) -> Self {
        Self {
            timed: self.timed || other.timed,
            tested: self.tested | other.tested,
            counted: self.counted | other.counted,
        }
    }
}

impl Flow<'_> {
    /// The words that may come next; a call counts as one that has returned.
    fn next(&self, place: usize) -> impl Iterator<Item = usize> + use<> {
        let instruction = self.instructions[place];
        let ends = matches!(
            instruction,
            Instruction::Jmp { .. }
                | Instruction::Ret
                | Instruction::Fail { .. }
                | Instruction::Stop
        );
        let target = match instruction {
            Instruction::Call { .. } => None,
            _ => instruction.target().map(usize::from),
        };
        (!ends).then_some(place + 1).into_iter().chain(target)
    }

    /// The name of a word.
    fn name(&self, place: usize) -> String {
        let label = self.labels.iter().find(|label| label.place == place);
        label.map_or_else(|| format!("word {place}"), |label| label.name.clone())
    }

    /// The last instruction must not go on.
    fn end(&self) -> Result<()> {
        let Some(last) = self.instructions.len().checked_sub(1) else {
            let at = At { line: 1, column: 1 };
            return Err(at.error(
                "program",
                "empty",
                "it must have an instruction",
                "write at least `stop`",
            ));
        };
        if self.next(last).any(|next| next > last) {
            return Err(self.places[last].error(
                "end of the program",
                "an instruction that goes on",
                "the program must not run past its last instruction",
                "end it with `stop`, `fail`, `ret` or `jmp`",
            ));
        }
        Ok(())
    }

    /// The words of each part of the program: of what begins at word 0, and of what is called.
    fn bodies(&self) -> Bodies {
        let called = self
            .instructions
            .iter()
            .filter_map(|&instruction| called(instruction));
        let mut bodies: Bodies = called.chain([0]).map(|entry| (entry, Vec::new())).collect();
        for (&entry, body) in &mut bodies {
            let mut seen = vec![false; self.instructions.len()];
            let mut open = vec![entry];
            while let Some(place) = open.pop() {
                if !std::mem::replace(&mut seen[place], true) {
                    body.push(place);
                    open.extend(self.next(place));
                }
            }
            body.sort_unstable();
        }
        bodies
    }

    /// Checks that no part calls itself and that return addresses suffice. Returns the parts,
    /// those that are called before those that call them.
    fn calls(&self, bodies: &Bodies) -> Result<Vec<usize>> {
        let calls = |entry: usize| -> Vec<(usize, usize)> {
            let body = bodies.get(&entry).map_or(&[][..], Vec::as_slice);
            let calls = body
                .iter()
                .filter_map(|&at| Some((at, called(self.instructions[at])?)));
            calls.collect()
        };
        // For each part that is done: the calls that it nests, and the first of the deepest.
        let mut depths: BTreeMap<usize, (usize, Option<(usize, usize)>)> = BTreeMap::new();
        let mut order = Vec::new();
        for &root in bodies.keys() {
            if depths.contains_key(&root) {
                continue;
            }
            // Parts that are being looked at, with the calls of each that are left.
            let mut path = vec![(root, calls(root))];
            while let Some((entry, open)) = path.last_mut() {
                let entry = *entry;
                let Some((at, to)) = open.pop() else {
                    path.pop();
                    let deepest = calls(entry)
                        .into_iter()
                        .max_by_key(|(_, to)| depths.get(to).map_or(0, |found| found.0));
                    let depth = deepest.map_or(0, |(_, to)| 1 + depths.get(&to).map_or(0, |d| d.0));
                    depths.insert(entry, (depth, deepest));
                    order.push(entry);
                    continue;
                };
                if let Some(from) = path.iter().position(|(entry, _)| *entry == to) {
                    let chain = path[from..].iter().map(|(entry, _)| self.name(*entry));
                    let chain: Vec<_> = chain.chain([self.name(to)]).collect();
                    return Err(self.places[at].error(
                        "call",
                        format_args!("recursive ({})", chain.join(" > ")),
                        "called code must not call itself",
                        "make a loop of it, with `jmp`",
                    ));
                }
                if !depths.contains_key(&to) {
                    path.push((to, calls(to)));
                }
            }
        }
        let (depth, mut deepest) = depths.get(&0).copied().unwrap_or_default();
        if depth > CALLS_MOST {
            let mut chain = vec![self.name(0)];
            let mut last = 0;
            while let Some((at, to)) = deepest {
                chain.push(self.name(to));
                last = at;
                deepest = depths.get(&to).and_then(|found| found.1);
            }
            return Err(self.places[last].error(
                "call",
                format_args!("{depth} calls deep ({})", chain.join(" > ")),
                format!("{CALLS_MOST} return addresses are kept"),
                "write the code of one call where it is called, or end in `jmp` instead",
            ));
        }
        Ok(order)
    }

    /// Checks that each loop has a timer or a counter; a call counts as all that it calls.
    fn loops(&self, bodies: &Bodies, order: &[usize]) -> Result<()> {
        let mut of_parts: BTreeMap<usize, Effects> = BTreeMap::new();
        let effects = |of_parts: &BTreeMap<usize, Effects>, place: usize| {
            let instruction = self.instructions[place];
            match called(instruction) {
                Some(entry) => of_parts.get(&entry).copied().unwrap_or_default(),
                None => Effects::of(instruction),
            }
        };
        for entry in order {
            let body = bodies.get(entry).into_iter().flatten();
            let all = body.map(|&place| effects(&of_parts, place));
            let all = all.fold(Effects::default(), Effects::and);
            of_parts.insert(*entry, all);
        }
        let all = 0..self.instructions.len();
        let effects: Vec<_> = all.map(|place| effects(&of_parts, place)).collect();
        let untimed = (0..effects.len()).filter(|&place| !effects[place].timed);
        let untimed: Vec<_> = untimed.collect();
        let mut work = LOOPS_MOST;
        let Some(endless) = self.endless(&effects, self.components(&untimed), &mut work) else {
            return Ok(());
        };
        let lines = endless.iter().map(|&place| self.places[place].line);
        let (first, last) = (lines.clone().min().unwrap_or(1), lines.max().unwrap_or(1));
        let lines = match first == last {
            true => format!("of line {first}"),
            false => format!("of lines {first} to {last}"),
        };
        let least = endless.iter().min_by_key(|&&place| self.places[place].line);
        Err(self.places[least.copied().unwrap_or(0)].error(
            format!("loop {lines}"),
            "without a bound",
            "each loop must have `btime`, or a branch on a register that it counts: it may \
             never end",
            "start a `timer` before the loop and leave it by `btime`, or count with `sub` and \
             `bne`",
        ))
    }

    /// Words of a loop that nothing bounds, among those of these components.
    ///
    /// A loop is bounded by a register where it has both a branch on it and a change of it. One
    /// that is not avoids all of these branches, or all of these changes: both are looked at, for
    /// the register that leaves the fewest words to look at. Where `work` is used up, the next loop
    /// counts as one that nothing bounds: the number of ways to look at grows with two to the power
    /// of the registers.
    fn endless(
        &self,
        effects: &[Effects],
        components: Vec<Vec<usize>>,
        work: &mut u32,
    ) -> Option<Vec<usize>> {
        for component in components {
            match work.checked_sub(1) {
                Some(left) => *work = left,
                None => return Some(component),
            }
            let all = component.iter().map(|&place| effects[place]);
            let all = all.fold(Effects::default(), Effects::and);
            let bounding = all.tested & all.counted;
            let without = |register: u16, of: fn(&Effects) -> u16| {
                let kept = component
                    .iter()
                    .filter(|&&place| of(&effects[place]) & register == 0);
                self.components(&kept.copied().collect::<Vec<_>>())
            };
            let registers = (0..16).map(|number| 1 << number);
            let avoiding = registers
                .filter(|register| bounding & register != 0)
                .map(|register| {
                    let mut left = without(register, |effects| effects.tested);
                    left.extend(without(register, |effects| effects.counted));
                    left
                })
                .min_by_key(|left| left.iter().map(Vec::len).sum::<usize>());
            let Some(avoiding) = avoiding else {
                return Some(component);
            };
            let found = self.endless(effects, avoiding, work);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Sets of words, among these, of which each is reached from each other: Kosaraju's way.
    /// Words that no loop has are left out.
    fn components(&self, among: &[usize]) -> Vec<Vec<usize>> {
        let count = self.instructions.len();
        let mut inside = vec![false; count];
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
        among.iter().for_each(|&place| inside[place] = true);
        for &place in among {
            let next = self.next(place).filter(|&next| inside[next]);
            next.for_each(|next| before[next].push(place));
        }
        // Words in the order in which all that follows them is done.
        let mut done = Vec::new();
        let mut seen = vec![false; count];
        for &root in among {
            if std::mem::replace(&mut seen[root], true) {
                continue;
            }
            let mut path = vec![(root, self.next(root))];
            while let Some((place, open)) = path.last_mut() {
                match open.find(|&next| inside[next] && !seen[next]) {
                    Some(next) => {
                        seen[next] = true;
                        path.push((next, self.next(next)));
                    }
                    None => {
                        done.push(*place);
                        path.pop();
                    }
                }
            }
        }
        let mut taken = vec![false; count];
        let mut components = Vec::new();
        for &root in done.iter().rev() {
            let mut component = Vec::new();
            let mut open = vec![root];
            while let Some(place) = open.pop() {
                if !std::mem::replace(&mut taken[place], true) {
                    component.push(place);
                    open.extend(before[place].iter().filter(|&&place| !taken[place]));
                }
            }
            if component.len() > 1 || component.iter().any(|&one| before[one].contains(&one)) {
                components.push(component);
            }
        }
        components
    }
}

/// The first word of what an instruction calls.
fn called(instruction: Instruction) -> Option<usize> {
    match instruction {
        Instruction::Call { target } => Some(target.into()),
        _ => None,
    }
}
