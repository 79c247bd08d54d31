// SPDX-License-Identifier: Apache-2.0
//! MLE's table of sessions: what was published stands in the drive's profile, and of the whole drive
//! in `profiles/published/mle.toml`.

use std::collections::BTreeSet;

use forebay_app::recorder::{RecorderReport, RecorderSpec};
use forebay_cosim::{Fed, Feed};
use forebay_model::profile::{Limit, LoadAccess, LoadDirection, Measurement};
use forebay_model::{Profile, SECOND};

use super::figure::{Figure, Published, Row, THEIR_HOST};
use super::published::{Bound, Mle, WholeDrive};
use super::runs::{Runs, way};
use super::sweeps::{load_title, rate_of};
use crate::failure::{Exit, Failure, Result};

/// Longest session that RTL runs, in chunks: with longer ones only the drive is waited for.
const SESSION: u64 = 256;
/// Published rates are in MiB/s.
const UNIT: &str = "MiB/s";
const MIB: f64 = 1024.0 * 1024.0;
/// Who moved the bytes, where no RTL did.
const MODEL: &str = "model";

/// A session of ours.
struct Session {
    seconds: f64,
    bytes: u64,
    /// The top of the RTL that moved the bytes, or [`MODEL`].
    by: &'static str,
}

impl Session {
    /// By the drive's model, fed as the recorder feeds it.
    fn modelled(fed: &Fed) -> Self {
        Self {
            seconds: fed.duration as f64 / SECOND as f64,
            bytes: fed.bytes,
            by: MODEL,
        }
    }

    /// By the recorder's RTL, where it ran one of as many chunks.
    fn recorded(recorder: &RecorderReport, load: &Measurement) -> Option<Self> {
        let mut sessions = recorder.sessions.iter();
        let session = sessions.find(|session| session.chunks == load.count)?;
        let moved = match load.direction {
            LoadDirection::Write => &session.write,
            LoadDirection::Read => session.read.as_ref()?,
        };
        Some(Self {
            seconds: moved.seconds,
            bytes: moved.bytes,
            by: session.top,
        })
    }

    /// MiB a second, with these seconds beside.
    fn rate(&self, seconds: f64) -> f64 {
        self.bytes as f64 / (self.seconds + seconds) / MIB
    }
}

/// Lets the recorder's RTL write sessions of at most this number of chunks, and read them back.
fn record(runs: &Runs, loads: &[&Measurement], longest: u64) -> Result<RecorderReport> {
    let sequential = loads.iter().filter(|load| is_sequential(load));
    let counts: BTreeSet<u64> = sequential.map(|load| load.count).collect();
    let spec = RecorderSpec {
        profiles: vec![runs.profile.clone()],
        chunks: counts
            .into_iter()
            .filter(|count| *count <= longest)
            .collect(),
        seed: runs.seed,
        ..RecorderSpec::default()
    };
    let report = spec.run()?;
    if report.interrupted {
        return Err(Failure::interrupted());
    }
    match report.bring_up.code == 0 && report.is_good() {
        true => Ok(report),
        false => Err(Failure::new(
            Exit::BadResult,
            "the recorder lost bytes, or its drives did not come up",
            "`forebay bench recorder` shows what happened",
        )),
    }
}

fn is_sequential(load: &Measurement) -> bool {
    load.access == LoadAccess::Sequential && !load.full_cache
}

/// MLE's table.
///
/// # Errors
/// Where a run fails, or the user stops.
pub fn mle(runs: &Runs, data: &Mle, within: f64, full: bool) -> Result<Figure> {
    let profile = Profile::load(&runs.profile)?;
    let longest = if runs.quick { SESSION / 16 } else { SESSION };
    let mut rows = Vec::new();
    let loads = Profile::builtin(&data.profile)?.measurements;
    let loads: Vec<_> = loads
        .iter()
        .filter(|load| rate_of(load).is_some())
        .collect();
    let recorder = record(runs, &loads, longest)?;
    for load in loads {
        // The short form leaves the long sessions out, which take gigabytes.
        let modelled = if runs.quick && load.count > SESSION {
            None
        } else {
            Some(Session::modelled(&runs.fed(&profile, load)?))
        };
        let by_rtl = Session::recorded(&recorder, load).filter(|_| is_sequential(load));
        rows.push(row(load, modelled.as_ref(), by_rtl.as_ref(), within));
    }
    let mut notes = vec![
        "model: with what MLE's set-up and teardown take of short sessions (75 us, fitted); ours: \
         without"
            .to_owned(),
        format!(
            "ours by {}: RTL, sessions of up to {longest} chunks, by its own clock; by the model: the \
             drive's model fed as the recorder feeds it, no RTL",
            recorder.top
        ),
        "limited by their host: ours must be faster; all else within the tolerance".to_owned(),
    ];
    if full {
        let whole = &data.whole_drive;
        for direction in [LoadDirection::Write, LoadDirection::Read] {
            rows.push(whole_drive(runs, &profile, whole, direction, within)?);
        }
    } else {
        notes.push(
            "with the cache full, the whole drive: 512 MiB and 4 GiB stand for it; all of it: `--full`"
                .to_owned(),
        );
    }
    let figure = Figure {
        id: "mle-table".into(),
        title: "Sessions of chunks of 128 KiB, Samsung 960 EVO 250 GB".into(),
        paper: data.paper.clone(),
        link: data.link.clone(),
        place: data.place.clone(),
        unit: UNIT.into(),
        profile: Some(profile.name.clone()),
        model_is:
            "the drive's model fed as the recorder feeds it; of short sessions what MLE's set-up \
                   takes, too"
                .into(),
        within_percent: within,
        worst_percent: 0.0,
        rows,
        notes,
        parameters: Vec::new(),
        sensitivities: Vec::new(),
    };
    Ok(figure.conclude())
}

/// A session of theirs beside ours.
fn row(
    load: &Measurement,
    modelled: Option<&Session>,
    by_rtl: Option<&Session>,
    within: f64,
) -> Row {
    let (value, kind, source) = rate_of(load).unwrap_or_default();
    let setup = load.setup as f64 / SECOND as f64;
    let ours = by_rtl.or(modelled);
    let limit = match load.limit {
        Limit::Drive if load.setup > 0 => "drive, their set-up",
        Limit::Drive => "drive",
        Limit::Host => THEIR_HOST,
        Limit::Incident => "an incident",
    };
    let row = Row {
        load: load_title(load.direction).into(),
        design: load.title.clone(),
        published: Some(Published::new(value as f64 / MIB, Bound::About, source)),
        model: modelled.map(|session| session.rate(setup)),
        model_kind: Some(kind.into()),
        ours: ours.map(|session| session.rate(0.0)),
        ours_by: ours.map(|session| session.by.to_owned()),
        ours_seconds: ours.map(|session| session.seconds),
        limit: Some(limit.into()),
        note: (load.limit == Limit::Incident).then(|| {
            format!(
                "{}: slower than both shorter and longer sessions, something that happened once; not \
                 checked",
                load.title
            )
        }),
        ..Row::default()
    };
    match load.limit {
        Limit::Drive => row.compare(within, true).ours_at_least(within),
        Limit::Incident => row.compare(within, false),
        Limit::Host => {
            let row = row.compare(within, false);
            Row {
                agrees: row.ours_ratio.map(|ratio| ratio > 1.0),
                ..row
            }
        }
    }
}

/// All chunks of the drive in one session.
fn whole_drive(
    runs: &Runs,
    profile: &Profile,
    whole: &WholeDrive,
    direction: LoadDirection,
    within: f64,
) -> Result<Row> {
    // The rate behind the full cache is that of this very session.
    let (word, published_ns, kind) = match direction {
        LoadDirection::Write => ("write", whole.write_ns, "fitted"),
        LoadDirection::Read => ("read", whole.read_ns, "predicted"),
    };
    let title = format!("{word} all {} chunks", whole.chunks);
    let fed = runs.feed(profile, &Feed::new(way(direction), whole.chunks), &title)?;
    let ours = Session::modelled(&fed);
    let published_seconds = published_ns as f64 * 1e-9;
    let published = (whole.chunks * Feed::CHUNK) as f64 / published_seconds / MIB;
    let last = fed.last.unwrap_or_default();
    let row = Row {
        load: load_title(direction).into(),
        published: Some(Published::new(published, Bound::About, &whole.source)),
        model: Some(ours.rate(0.0)),
        model_kind: Some(kind.into()),
        ours: Some(ours.rate(0.0)),
        ours_by: Some(ours.by.into()),
        ours_seconds: Some(ours.seconds),
        limit: Some("drive".into()),
        note: Some(format!(
            "{title}: {:.1} s, theirs {published_seconds:.1} s; the last chunk at {last:#x}, theirs at \
             {:#x}",
            ours.seconds, whole.last
        )),
        design: title,
        ..Row::default()
    };
    let row = row.compare(within, true).ours_at_least(within);
    Ok(Row {
        agrees: row.agrees.map(|agrees| agrees && last == whole.last),
        ..row
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(title: &str) -> Measurement {
        let all = Profile::builtin("960evo-250").expect("there").measurements;
        let found = all.into_iter().find(|load| load.title == title);
        found.expect("in the profile")
    }

    fn session(rate: f64, by: &'static str) -> Session {
        Session {
            seconds: 1.0,
            bytes: (rate * MIB) as u64,
            by,
        }
    }

    #[test]
    fn who_limits_decides_what_must_be() {
        let agrees = |title: &str, model: f64, ours: f64| {
            let (model, ours) = (session(model, MODEL), session(ours, "fb_top_recorder"));
            row(&load(title), Some(&model), Some(&ours), 10.0).agrees
        };
        let drive = "write 256 chunks of 128 KiB";
        assert_eq!(agrees(drive, 1047.0, 1047.0), Some(true));
        assert_eq!(agrees(drive, 1160.0, 1160.0), Some(false));
        assert_eq!(agrees(drive, 1047.0, 930.0), Some(false), "ours is slower");
        let host = "read 4 chunks of 128 KiB";
        assert_eq!(agrees(host, 1500.0, 1500.0), Some(true));
        assert_eq!(
            agrees(host, 134.0, 133.0),
            Some(false),
            "no faster than they"
        );
        assert_eq!(agrees("write 8192 chunks of 128 KiB", 1.0, 1.0), None);
    }

    #[test]
    fn rtl_is_named_where_it_moved_the_bytes_and_the_model_where_not() {
        let load = load("write 1 chunk of 128 KiB");
        let (model, rtl) = (session(750.0, MODEL), session(800.0, "fb_top_recorder"));
        let both = row(&load, Some(&model), Some(&rtl), 10.0);
        assert_eq!(both.ours_by.as_deref(), Some("fb_top_recorder"));
        assert_eq!(
            (both.ours, both.limit.as_deref()),
            (Some(800.0), Some("drive, their set-up"))
        );
        let alone = row(&load, Some(&model), None, 10.0);
        assert_eq!(
            (alone.ours_by.as_deref(), alone.ours),
            (Some("model"), Some(750.0))
        );
        // With their 75 us the model is slower.
        assert!(alone.model.expect("some") < 750.0);
        let none = row(&load, None, None, 10.0);
        assert_eq!((none.ours_by, none.agrees), (None, None));
    }
}
