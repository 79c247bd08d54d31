// SPDX-License-Identifier: Apache-2.0
//! SNAcc's figure 6: images recorded and classified, with our network in the chain of our RTL.

use std::collections::BTreeMap;

use forebay_model::Profile;
use forebay_pipeline::Memory;

use super::figure::{Figure, Published, Row};
use super::published::{Snacc, word};
use super::runs::Runs;
use crate::bench::{CASES, Side};
use crate::failure::Result;

/// Recordings with a network in the chain, by the memory of their payload.
pub struct Classified(BTreeMap<&'static str, Side>);

impl Classified {
    /// Records on the profile's drive; nothing in the short form.
    ///
    /// # Errors
    /// Where the RTL cannot be built, or the user stops.
    pub fn run(runs: &Runs) -> Result<Self> {
        let mut sides = BTreeMap::new();
        let mut trial = None;
        for case in CASES.iter().filter(|case| case.is_plain() && !runs.quick) {
            let trial = match &mut trial {
                Some(there) => there,
                none => none.insert(case.prepare()?),
            };
            let (side, _) = case.side(trial, true, &runs.profile)?;
            sides.insert(case.memory.name(), side);
        }
        Ok(Self(sides))
    }

    /// With the payload in this memory.
    pub fn of(&self, memory: Memory) -> Option<&Side> {
        self.0.get(memory.name())
    }
}

/// Ours must be no slower, with nothing lost and each class the twin's.
pub fn judged(row: Row, ours: Option<&Side>, within: f64) -> Row {
    let Some(side) = ours else { return row };
    let row = row.ours_at_least(within);
    match side.fault() {
        None => row,
        Some(fault) => Row {
            note: Some(format!("{}: {fault}", row.design)),
            agrees: Some(false),
            ..row
        },
    }
}

/// Figure 6.
///
/// # Errors
/// Where a run fails, or the user stops.
pub fn figure6(runs: &Runs, snacc: &Snacc, classified: &Classified, within: f64) -> Result<Figure> {
    let profile = Profile::load(&runs.profile)?;
    let study = &snacc.case_study;
    let load = snacc.load_of(&study.load)?;
    let mut notes = vec![
        format!("the model: {} by the design, without a network", load.title),
        match runs.quick {
            true => "short form: nothing of ours is recorded and classified".to_owned(),
            false => "ours: images of 2000x1495 pixels over the simulated wire, MobileNet-V1 1.0/224 \
                      as RTL with weights drawn at random, at the core's clock; `forebay bench classify`"
                .to_owned(),
        },
        "GPU: no model, and none was at hand; SPDK: without the batches in which it classifies; a \
         processor's rate is that of `scripts/software_classify.py`"
            .to_owned(),
    ];
    let mut rows = Vec::new();
    for bar in &study.numbers {
        let design = bar.design.as_deref().map(|id| snacc.design(id));
        let design = design.transpose()?;
        let model = design.map(|design| runs.model(&profile, design, load));
        let model = model.transpose()?;
        let ours = design.and_then(|design| classified.of(design.memory?));
        if let (Some(design), Some(ours)) = (design, ours) {
            notes.push(format!(
                "{}: {:.0} images a second of ours, {} of {} classes are not the twin's",
                design.title, ours.frames_per_second, ours.recorded.differ, ours.recorded.objects
            ));
        }
        let row = Row {
            load: "images of 9 MB".into(),
            design: design.map_or(&bar.title, |design| &design.title).clone(),
            published: Some(Published::new(bar.value, bar.bound, &bar.says)),
            model: model.as_ref().map(|found| found.value),
            model_kind: bar.model.map(|kind| word(kind).into()),
            ours: ours.map(|side| side.gigabytes_per_second),
            traffic: model.map(|found| found.traffic),
            ours_traffic: ours.map(|side| side.recorded.traffic.clone()),
            ..Row::default()
        };
        rows.push(judged(row.compare(within, true), ours, within));
    }
    let figure = Figure {
        id: "snacc-fig6".into(),
        title: study.title.clone(),
        paper: snacc.paper.clone(),
        link: snacc.link.clone(),
        place: study.place.clone(),
        unit: "GB/s".into(),
        profile: Some(profile.name.clone()),
        model_is: "SNAcc's design at the level of its commands, as in figure 4".into(),
        within_percent: within,
        worst_percent: 0.0,
        rows,
        notes,
        parameters: super::snacc::parameters(snacc),
        sensitivities: Vec::new(),
    };
    Ok(figure.conclude())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Judged;
    use crate::repro::Bound;

    #[test]
    fn wrong_classes_do_not_agree() {
        let row = || Row {
            published: Some(Published::new(6.0, Bound::About, "so")),
            model: Some(6.0),
            ours: Some(6.1),
            ..Row::default()
        };
        let side = |differ| Side {
            recorded: Judged {
                differ,
                ..Judged::default()
            },
            shorter: None,
            frames_per_second: 0.0,
            gigabytes_per_second: 6.1,
        };
        let agrees = |side: Option<&Side>| judged(row().compare(5.0, true), side, 5.0).agrees;
        assert_eq!(agrees(None), Some(true));
        assert_eq!(agrees(Some(&side(0))), Some(true));
        assert_eq!(agrees(Some(&side(1))), Some(false));
    }
}
