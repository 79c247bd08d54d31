// SPDX-License-Identifier: Apache-2.0
//! SNAcc's table 1: resources, counted by the same method for ours and theirs.

use std::ffi::OsString;

use forebay_pipeline::Memory;
use serde::Deserialize;

use super::figure::{Figure, Published, Row};
use super::published::{Bound, Snacc};
use super::runs::Runs;
use crate::failure::Result;
use crate::progress::{self, Progress};
use forebay_app::{MachineSpec, python};

/// What `forebay resources` counts.
#[derive(Debug, Default, Deserialize)]
struct Counts {
    lut: f64,
    ff: f64,
    /// Blocks of 36 Kbit.
    bram: Option<f64>,
}

#[derive(Deserialize)]
struct Report {
    resources: Counts,
}

/// Counts of our streamer with its payload in a memory.
fn count(memory: Memory) -> Result<Counts> {
    let name = format!("{}, synthesis", memory.name());
    progress::step(&name);
    let _progress = Progress::stage(&name);
    let machine = MachineSpec {
        memory,
        ..MachineSpec::default()
    };
    let source = machine.source()?;
    let mut words = Vec::new();
    // What is counted without being named has UltraRAM for its payload, which is a black box there.
    if memory != Memory::Onchip {
        words.extend(["--top".into(), source.top.into(), "--rtl".into()]);
        words.extend(source.filelists.into_iter().map(OsString::from));
    }
    let report: Report = python::ask("forebay.resources", &words)?;
    Ok(report.resources)
}

/// Ours beside what was published, and beside what the same method gives the published RTL.
///
/// # Errors
/// Where synthesis fails.
pub fn table1(runs: &Runs, snacc: &Snacc, within: f64) -> Result<Figure> {
    let resources = &snacc.resources;
    let mut rows: Vec<Row> = Vec::new();
    for design in &snacc.designs {
        let counts = match design.memory {
            Some(memory) if !runs.quick => Some(count(memory)?),
            _ => None,
        };
        for number in resources
            .numbers
            .iter()
            .filter(|one| one.design == design.id)
        {
            let ours = counts
                .as_ref()
                .and_then(|counts| match number.resource.as_str() {
                    "LUT" => Some(counts.lut),
                    "FF" => Some(counts.ff),
                    _ => counts.bram,
                });
            let row = Row {
                load: number.resource.clone(),
                design: design.title.clone(),
                published: Some(Published::new(number.value, Bound::About, "")),
                model: number.method,
                model_kind: number.method.map(|_| "computed".into()),
                ours,
                ..Row::default()
            };
            let mut row = row.compare(within, false);
            // Ours must take no more than the published RTL does, counted in the same way.
            row.agrees = ours.zip(number.method).map(|(ours, method)| ours <= method);
            rows.push(row);
        }
    }
    Ok(Figure {
        id: "snacc-table1".into(),
        title: resources.title.clone(),
        paper: snacc.paper.clone(),
        link: snacc.link.clone(),
        place: resources.place.clone(),
        unit: String::new(),
        profile: None,
        model_is: "our method (Yosys) on SNAcc's published RTL; published are Vivado's counts"
            .into(),
        within_percent: within,
        worst_percent: 0.0,
        rows,
        notes: vec![
            "ours is checked against our method on their RTL: it must not take more".into(),
            if runs.quick {
                "short form: nothing is synthesized"
            } else {
                "ours: `forebay resources`"
            }
            .into(),
        ],
        parameters: Vec::new(),
        sensitivities: Vec::new(),
    })
}
