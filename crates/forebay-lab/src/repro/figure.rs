// SPDX-License-Identifier: Apache-2.0
//! A figure of ours beside one that was published: rows, and what is to agree.

use forebay_draw::text::{Grid, Page, or_dash};
use forebay_pipeline::units::count;
use serde::Serialize;

use super::published::Bound;
use crate::traffic::Traffic;

/// What limited a published number where it was neither drive nor streamer.
pub const THEIR_HOST: &str = "their host";

/// A figure.
#[derive(Debug, Serialize)]
pub struct Figure {
    /// Name that stays the same over versions.
    pub id: String,
    /// For people.
    pub title: String,
    /// Who published it.
    pub paper: String,
    /// Where to find that.
    pub link: String,
    /// Page, section or figure.
    pub place: String,
    /// Unit of all its numbers.
    pub unit: String,
    /// The drive it was run on; none where nothing was run.
    pub profile: Option<String>,
    /// What the column of the model is.
    pub model_is: String,
    /// How far a number that must agree may be off, in percent.
    pub within_percent: f64,
    /// Greatest difference of those, without its sign.
    pub worst_percent: f64,
    /// Its rows.
    pub rows: Vec<Row>,
    /// What else is to be known.
    pub notes: Vec<String>,
    /// Numbers of the model that are not the profile's.
    pub parameters: Vec<Parameter>,
    /// What depends on what was fitted.
    pub sensitivities: Vec<Sensitivity>,
}

/// A number of a model.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// Which.
    pub field: String,
    /// The number.
    pub value: u64,
    /// `published`, `fitted`, `chosen`.
    pub kind: String,
    /// Where from.
    pub source: String,
}

/// How the model's numbers change with one of its parameters.
#[derive(Clone, Debug, Serialize)]
pub struct Sensitivity {
    /// The parameter.
    pub field: String,
    /// The row that changes most.
    pub row: String,
    /// By how many percent, the parameter being 10 % smaller.
    pub smaller_percent: f64,
    /// The parameter being 10 % greater.
    pub greater_percent: f64,
}

/// A row: a bar of a chart, or a few side by side.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// What was done: a chart each.
    pub load: String,
    /// By whom, or with what.
    pub design: String,
    /// What was published.
    pub published: Option<Published>,
    /// What the model gives.
    pub model: Option<f64>,
    /// `fitted`, `predicted`, `computed`.
    pub model_kind: Option<String>,
    /// How far the model is off, in percent; where there is none, ours.
    pub difference_percent: Option<f64>,
    /// What our streamer's RTL gives on the same models.
    pub ours: Option<f64>,
    /// The top of the RTL that moved the bytes of ours, or `model`; none where all rows are by RTL.
    pub ours_by: Option<String>,
    /// How long ours took, seconds; none where nothing is timed as a whole.
    pub ours_seconds: Option<f64>,
    /// What limited the published number; none where that is the drive or the design throughout.
    pub limit: Option<String>,
    /// Ours over what was published.
    pub ours_ratio: Option<f64>,
    /// What the authors' own RTL gives on the same models.
    pub rtl: Option<f64>,
    /// Whether all is as it must be; none where nothing must.
    pub agrees: Option<bool>,
    /// What is to be known of this row.
    pub note: Option<String>,
    /// What crossed PCIe with the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// What crossed PCIe with ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours_traffic: Option<Traffic>,
}

/// A published number.
#[derive(Clone, Debug, Serialize)]
pub struct Published {
    /// The number.
    pub value: f64,
    /// It is a bound: no more than that.
    pub at_most: bool,
    /// The words.
    pub says: String,
}

impl Published {
    /// With how it is meant.
    pub fn new(value: f64, bound: Bound, says: &str) -> Self {
        Self {
            value,
            at_most: bound == Bound::Most,
            says: says.to_owned(),
        }
    }

    /// How far a number is off, in percent; below a bound it is not.
    fn percent(&self, value: f64) -> f64 {
        let percent = (value / self.value - 1.0) * 100.0;
        if self.at_most {
            percent.max(0.0)
        } else {
            percent
        }
    }
}

impl Row {
    /// Compares: the model with what was published, as long as `must` says so.
    pub fn compare(mut self, within: f64, must: bool) -> Self {
        let Some(published) = &self.published else {
            return self;
        };
        if let Some(model) = self.model {
            let percent = published.percent(model);
            self.difference_percent = Some(percent);
            if must {
                self.agrees = Some(percent.abs() <= within);
            }
        }
        if let Some(ours) = self.ours.filter(|_| published.value > 0.0) {
            self.ours_ratio = Some(ours / published.value);
        }
        self
    }

    /// Compares ours with what was published: it must be the same.
    pub fn compare_ours(mut self, within: f64) -> Self {
        if let (Some(published), Some(ours)) = (&self.published, self.ours) {
            let percent = published.percent(ours);
            self.difference_percent = Some(percent);
            self.agrees = Some(percent.abs() <= within);
        }
        self.compare(within, false)
    }

    /// Our streamer must not be slower than what was published, by more than `within` percent.
    pub fn ours_at_least(mut self, within: f64) -> Self {
        if let Some(ratio) = self.ours_ratio {
            let reached = ratio >= 1.0 - within / 100.0;
            self.agrees = self.agrees.map(|agrees| agrees && reached);
        }
        self
    }
}

impl Figure {
    /// Sums up what its rows say.
    pub fn conclude(mut self) -> Self {
        let must = self.rows.iter().filter(|row| row.agrees.is_some());
        // Where their host limited, ours has to be faster, not as fast.
        let as_fast = must.filter(|row| row.limit.as_deref() != Some(THEIR_HOST));
        let worst = as_fast.filter_map(|row| row.difference_percent);
        self.worst_percent = worst.fold(0.0, |worst, one| worst.max(one.abs()));
        self
    }

    /// Whether all that must agree does.
    pub fn is_good(&self) -> bool {
        self.rows.iter().all(|row| row.agrees != Some(false))
    }

    /// A number of it as text.
    pub fn number(&self, value: f64) -> String {
        match self.unit.as_str() {
            "GB/s" | "bytes per byte" => format!("{value:.2}"),
            "" => format!("{}", (value * 10.0).round() / 10.0),
            _ => format!("{value:.1}"),
        }
    }

    /// Its numbers as a table.
    pub fn grid(&self) -> Grid {
        let rtl = self.rows.iter().any(|row| row.rtl.is_some());
        let by = self.rows.iter().any(|row| row.ours_by.is_some());
        let limit = self.rows.iter().any(|row| row.limit.is_some());
        let mut headers = vec!["load", "design", ">published", ">model", ">off, %", "is"];
        headers.extend([">ours", ">ours : published"]);
        headers.extend(by.then_some("by"));
        headers.extend(rtl.then_some(">their RTL"));
        headers.extend(limit.then_some("limited by"));
        headers.push("agrees");
        let optional = |value: Option<f64>| or_dash(value.map(|value| self.number(value)));
        let mut grid = Grid::of(headers.into_iter().map(str::to_owned));
        for row in &self.rows {
            let published = row.published.as_ref();
            let mut cells = vec![
                row.load.clone(),
                row.design.clone(),
                or_dash(published.map(|it| {
                    let bound = if it.at_most { "≤ " } else { "" };
                    format!("{bound}{}", self.number(it.value))
                })),
                optional(row.model),
                or_dash(
                    row.difference_percent
                        .map(|percent| format!("{percent:+.1}")),
                ),
                or_dash(row.model_kind.as_ref()),
                optional(row.ours),
                or_dash(row.ours_ratio.map(|ratio| format!("{ratio:.2}"))),
            ];
            if by {
                cells.push(or_dash(row.ours_by.as_ref()));
            }
            if rtl {
                cells.push(optional(row.rtl));
            }
            if limit {
                cells.push(or_dash(row.limit.as_ref()));
            }
            cells.push(match row.agrees {
                Some(true) => "yes".into(),
                Some(false) => "NO".into(),
                None => "–".into(),
            });
            grid.row(cells);
        }
        grid
    }
}

impl Figure {
    /// Adds it to a page of text.
    pub fn draw(&self, page: &mut Page) {
        let unit = match self.unit.as_str() {
            "" => String::new(),
            unit => format!(", {unit}"),
        };
        page.heading(&format!("{}{unit}", self.title));
        page.field("published", format_args!("{}, {}", self.paper, self.place));
        page.field("model", &self.model_is);
        page.grid(self.grid());
        for sensitivity in &self.sensitivities {
            page.line(format_args!(
                "  {} ± 10 %: {} {:+.1} / {:+.1} %",
                sensitivity.field,
                sensitivity.row,
                sensitivity.smaller_percent,
                sensitivity.greater_percent
            ));
        }
        for note in self
            .notes
            .iter()
            .chain(self.rows.iter().filter_map(|row| row.note.as_ref()))
        {
            page.line(format_args!("  · {note}"));
        }
        let good = self.is_good();
        let checked = self.rows.iter().filter(|row| row.agrees.is_some()).count();
        let (worst, within) = (self.worst_percent, self.within_percent);
        let sentence = match (checked, good) {
            (0, _) => "nothing here is checked".to_owned(),
            (_, true) if worst == 0.0 => format!("{checked} numbers are as they must be"),
            (_, false) if worst == 0.0 => "not all numbers are as they must be".to_owned(),
            (_, true) => format!(
                "{} numbers agree, the worst is off by {worst:.1} %, {within} % are allowed",
                count(checked as u64)
            ),
            (_, false) => format!("off by {worst:.1} %, {within} % are allowed, or ours is slower"),
        };
        page.verdict(good, sentence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(published: f64, bound: Bound, model: f64) -> Row {
        Row {
            published: Some(Published::new(published, bound, "so")),
            model: Some(model),
            ours: Some(2.0 * published),
            ..Row::default()
        }
    }

    #[test]
    fn what_must_agree_is_checked() {
        assert_eq!(
            row(10.0, Bound::About, 10.4).compare(5.0, true).agrees,
            Some(true)
        );
        assert_eq!(
            row(10.0, Bound::About, 10.6).compare(5.0, true).agrees,
            Some(false)
        );
        assert_eq!(
            row(10.0, Bound::About, 10.6).compare(5.0, false).agrees,
            None
        );
        assert_eq!(
            row(10.0, Bound::Most, 3.0).compare(5.0, true).agrees,
            Some(true)
        );
        assert_eq!(
            row(10.0, Bound::Most, 11.0).compare(5.0, true).agrees,
            Some(false)
        );
    }

    #[test]
    fn ours_must_not_be_slower() {
        let mut slow = row(10.0, Bound::About, 10.0);
        assert_eq!(
            slow.clone().compare(5.0, true).ours_at_least(5.0).agrees,
            Some(true)
        );
        slow.ours = Some(9.0);
        assert_eq!(
            slow.compare(5.0, true).ours_at_least(5.0).agrees,
            Some(false)
        );
    }
}
