// SPDX-License-Identifier: Apache-2.0
//! What others published, as `profiles/published` has it.

use forebay_model::Node;
use forebay_model::profile::{Kind, LoadAccess, LoadDirection};
use forebay_pipeline::Memory;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failure::{Exit, Failure, Result};

const SNACC: &str = include_str!("../../../../profiles/published/snacc.toml");
const INTELLIPROP: &str = include_str!("../../../../profiles/published/intelliprop.toml");
const MLE: &str = include_str!("../../../../profiles/published/mle.toml");

/// A number of the model of a design, and where it is from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    pub value: u64,
    pub kind: Kind,
    pub source: String,
}

/// SNAcc's paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snacc {
    pub paper: String,
    pub link: String,
    pub profile: String,
    pub designs: Vec<DesignOf>,
    pub loads: Vec<LoadOf>,
    pub figures: Vec<FigureOf>,
    pub case_study: CaseStudy,
    pub transfers: Transfers,
    pub resources: Resources,
}

/// A design, at the level of its commands.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DesignOf {
    pub id: String,
    pub title: String,
    /// The memory of our streamer that corresponds to it.
    pub memory: Option<Memory>,
    pub queues: Place,
    pub data: Place,
    pub in_order: bool,
    pub window: Number,
    pub buffer_bytes: Number,
    pub answer_ns: Number,
    pub read_extra_ns: Number,
}

/// Whose memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    Host,
    Fpga,
    Gpu,
}

impl Place {
    /// Its node in the fabric; a GPU is none that is simulated.
    pub const fn node(self) -> Option<Node> {
        match self {
            Self::Host => Some(Node::Host),
            Self::Fpga => Some(Node::Fpga),
            Self::Gpu => None,
        }
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Fpga => "fpga",
            Self::Gpu => "gpu",
        }
    }
}

/// What is measured.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadOf {
    pub id: String,
    pub title: String,
    pub direction: LoadDirection,
    pub access: LoadAccess,
    pub bytes: u64,
    pub count: u64,
    pub quick: u64,
    pub quantity: Measured,
    /// What the drive takes longer for 4 KiB of a write, in the state of this load.
    pub slow_ns: Option<Number>,
}

/// What a load gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measured {
    Rate,
    Latency,
}

/// A figure of bars.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureOf {
    pub id: String,
    pub title: String,
    pub unit: String,
    pub place: String,
    pub numbers: Vec<Bar>,
}

/// A bar.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bar {
    pub load: String,
    pub design: String,
    pub value: f64,
    #[serde(default)]
    pub bound: Bound,
    /// Whether the model of the design was tuned to it.
    pub model: Kind,
    pub says: String,
}

/// Bars of a figure of which each is of one load.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseStudy {
    pub title: String,
    pub place: String,
    /// What the model does.
    pub load: String,
    pub numbers: Vec<StudyBar>,
}

/// A bar of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyBar {
    /// The design whose model it has; none: there is no model of it.
    pub design: Option<String>,
    /// What it is called, where it has no design.
    #[serde(default)]
    pub title: String,
    pub value: f64,
    #[serde(default)]
    pub bound: Bound,
    /// Whether the model of the design was tuned to it.
    pub model: Option<Kind>,
    pub says: String,
}

/// How a published number is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// As it stands.
    #[default]
    About,
    /// No more than that.
    Most,
}

/// Who moves what over PCIe.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    pub title: String,
    pub place: String,
    pub load: String,
    pub fewest: Vec<String>,
    pub most: String,
    pub says: String,
    pub configurations: Vec<Configuration>,
}

/// A configuration of the case study.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    pub id: String,
    pub title: String,
    /// What moves the data between buffer and drive.
    pub design: String,
    /// What is moved besides.
    pub copies: Vec<Copied>,
}

/// Bytes that are moved from one place to another, for each byte stored.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copied {
    pub from: Place,
    pub to: Place,
    pub per_byte: f64,
    pub source: String,
}

/// A table of resources.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    pub title: String,
    pub place: String,
    pub numbers: Vec<Resource>,
}

/// A count of resources.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    pub resource: String,
    pub design: String,
    pub value: f64,
    /// What our method gives the published RTL.
    pub method: Option<f64>,
}

/// IntelliProp's slides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intelliprop {
    pub paper: String,
    pub link: String,
    pub place: String,
    pub profile: String,
    pub depth: u16,
    pub least_bytes: u64,
    pub most_bytes: u64,
    pub drivers: Vec<Driver>,
}

/// What a driver in software reached.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    pub title: String,
    pub numbers: Vec<DriverRate>,
}

/// Its rate at a size of command.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverRate {
    pub direction: LoadDirection,
    pub bytes: u64,
    pub value: u64,
}

/// MLE's brief.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mle {
    pub paper: String,
    pub link: String,
    pub place: String,
    pub profile: String,
    pub whole_drive: WholeDrive,
}

/// All of a drive, in one session each way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WholeDrive {
    pub chunks: u64,
    pub write_ns: u64,
    pub read_ns: u64,
    /// Address of the last chunk, written and read.
    pub last: u64,
    pub source: String,
}

impl Snacc {
    pub fn load() -> Result<Self> {
        parse("snacc", SNACC)
    }

    pub fn design(&self, id: &str) -> Result<&DesignOf> {
        let found = self.designs.iter().find(|design| design.id == id);
        found.ok_or_else(|| unknown("design", id))
    }

    pub fn load_of(&self, id: &str) -> Result<&LoadOf> {
        let found = self.loads.iter().find(|load| load.id == id);
        found.ok_or_else(|| unknown("load", id))
    }
}

impl Intelliprop {
    pub fn load() -> Result<Self> {
        parse("intelliprop", INTELLIPROP)
    }
}

impl Mle {
    pub fn load() -> Result<Self> {
        parse("mle", MLE)
    }
}

/// The word of a report for how a number came to be.
pub const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Published => "published",
        Kind::Fitted => "fitted",
        Kind::Predicted => "predicted",
        Kind::Chosen => "chosen",
    }
}

fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        let message = format!("profiles/published/{name}.toml cannot be used: {error}");
        Failure::new(Exit::Impossible, message, "report this defect")
    })
}

fn unknown(what: &str, id: &str) -> Failure {
    let message = format!("profiles/published/snacc.toml names no {what} {id}");
    Failure::new(Exit::Impossible, message, "report this defect")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_can_be_used() {
        let snacc = Snacc::load().expect("usable");
        for figure in &snacc.figures {
            for bar in &figure.numbers {
                assert!(snacc.design(&bar.design).is_ok() && snacc.load_of(&bar.load).is_ok());
                assert!(bar.value > 0.0 && !bar.says.is_empty());
            }
        }
        for configuration in &snacc.transfers.configurations {
            assert!(snacc.design(&configuration.design).is_ok());
        }
        let study = &snacc.case_study;
        assert!(snacc.load_of(&study.load).is_ok());
        for bar in &study.numbers {
            let modelled = bar.design.as_deref().map(|id| snacc.design(id).is_ok());
            assert_eq!(modelled, bar.model.map(|_| true));
            assert_ne!(bar.design.is_some(), !bar.title.is_empty());
        }
        let transfers = &snacc.transfers;
        for id in transfers.fewest.iter().chain([&transfers.most]) {
            assert!(
                transfers.configurations.iter().any(|one| one.id == *id),
                "{id}"
            );
        }
        assert!(snacc.load_of(&transfers.load).is_ok());
        assert!(
            snacc
                .resources
                .numbers
                .iter()
                .all(|one| snacc.design(&one.design).is_ok())
        );
        assert!(Intelliprop::load().is_ok());
        let whole = Mle::load().expect("usable").whole_drive;
        assert_eq!((whole.chunks - 1) << 17, whole.last);
    }
}
