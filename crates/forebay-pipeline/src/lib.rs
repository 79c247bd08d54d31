// SPDX-License-Identifier: Apache-2.0
//! Pipelines as files: what happens between wire and flash.
//!
//! A file is read and checked as a whole before anything is built or run. Every key has a default,
//! so that an empty file is a recording: objects from the network, nothing done to them, onto one
//! drive. What elements there are is not known here: each has a manifest beside its RTL.
//!
//! [`Pipeline::load`] reads and checks a file, [`Pipeline::chain`] makes the SystemVerilog of its
//! elements, [`lint`] lets Verilator check that, and [`units`] reads quantities such as `64KiB`.
#![forbid(unsafe_code)]

mod adapters;
mod buffer;
mod chain;
mod clock;
mod element;
mod error;
mod field;
pub mod lint;
mod name;
mod parameter;
mod register;
mod schema;
mod setting;
mod sink;
mod source;
mod ssd;
mod stage;
#[cfg(test)]
mod tests;
pub mod units;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use forebay_spec::recorder::elements;
use forebay_spec::store::page::template_of;
use forebay_spec::store::schema::{Cipher, Schema as Results};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use toml::{Spanned, Value};
use zeroize::Zeroizing;

use field::File;

pub use buffer::{Buffer, Memory};
pub use chain::ChainSource;
pub use element::{DataFile, Element, KEYLESS, Paths, ResultColumn};
pub use error::{Error, Result};
pub use name::name_fault;
pub use parameter::Parameter;
pub use register::{Register, RegisterValue};
pub use setting::{Setting, Status};
pub use sink::{Kind, Sink};
pub use source::{Clock, Mac, Pause, Source};
pub use ssd::Ssd;
pub use stage::{Stage, Way};

/// Most elements of a pipeline: the number that have settings in the recorder's registers.
pub const STAGES: usize = 8;

/// A pipeline that was checked: it can be built.
#[derive(Clone, Debug, Serialize)]
pub struct Pipeline {
    /// The network's side.
    pub source: Source,
    /// What is done to each object, in order.
    pub pes: Vec<Stage>,
    /// Hertz of the clock of those that have their own.
    pub element_clock: u64,
    /// Where payload waits for the drives.
    pub buffer: Buffer,
    /// The drives.
    pub ssds: Vec<Ssd>,
    /// Where on them it goes.
    pub sink: Sink,
    #[serde(skip)]
    root: PathBuf,
}

/// A value with its place in the file.
type Place = Spanned<Value>;

/// A pipeline of Forebay.
#[derive(Default, Deserialize, JsonSchema)]
#[schemars(title = "Forebay pipeline")]
#[serde(deny_unknown_fields, default)]
struct Raw {
    /// The network.
    source: source::Raw,
    /// What is done to the data, in order: none to eight processing elements.
    #[schemars(with = "Vec<schema::Stage>")]
    pe: Vec<BTreeMap<String, Place>>,
    /// What all processing elements share.
    chain: clock::Raw,
    /// What holds payload until a drive has it.
    buffer: buffer::Raw,
    /// The drives, up to eight together.
    ssd: Vec<ssd::Raw>,
    /// How it is stored.
    sink: sink::Raw,
}

impl Pipeline {
    /// Whether each object has a result.
    pub fn has_results(&self) -> bool {
        self.pes.iter().any(|stage| stage.element.judges())
    }

    /// What the index has of each object beside what all recordings have.
    #[must_use]
    pub fn results(&self) -> Results {
        // A branch changes nothing of what is stored.
        let mut through = self.pes.iter().filter(|stage| stage.way == Way::Through);
        let received = through.any(|stage| stage.element.resizes);
        let mut elements = self.pes.iter().map(|stage| &stage.element);
        let element = elements.find(|element| element.judges());
        let columns =
            element.map_or_else(|| Results::default().columns().to_vec(), Element::columns);
        let results = Results::new(&columns, received).unwrap_or_default();
        results.encrypted(self.key().and_then(|key| Cipher::of_key(key.len())))
    }

    /// Elements that encrypt or, on the way back, decrypt, with their places.
    fn encrypting(&self) -> impl Iterator<Item = (u64, &RegisterValue)> {
        let stages = (0..).zip(&self.pes);
        let stages = stages.filter(|(_, stage)| stage.element.encrypts);
        stages.filter_map(|(at, stage)| Some((at, stage.registers.get(element::KEY)?)))
    }

    /// The user's key, where an element encrypts.
    #[must_use]
    pub fn key(&self) -> Option<&[u8]> {
        self.encrypting().next().map(|(_, key)| &key.data[..])
    }

    /// Where the recording's key is to be written: its places among all registers.
    #[must_use]
    pub fn key_windows(&self) -> Vec<u64> {
        let keys = self.encrypting();
        keys.map(|(at, key)| at * elements::WINDOW_BYTES + key.offset)
            .collect()
    }

    /// Whether an element has a clock of its own.
    #[must_use]
    pub fn has_own_clock(&self) -> bool {
        self.pes.iter().any(|stage| stage.element.own_clock)
    }

    /// Whether what is sent of a recording is decrypted before.
    #[must_use]
    pub fn decrypts(&self) -> bool {
        let mut back = self.pes.iter().filter(|stage| stage.way == Way::Back);
        back.any(|stage| stage.element.encrypts)
    }

    /// What is written into the registers of its elements before it begins: where from the first
    /// window on, and the bytes. The [key](Self::key) is not among them: each recording has its own.
    #[must_use]
    pub fn registers(&self) -> Vec<(u64, Zeroizing<Vec<u8>>)> {
        let mut writes = Vec::new();
        for (at, stage) in (0..).zip(&self.pes) {
            let window = at * elements::WINDOW_BYTES;
            let values = stage.registers.iter();
            let mut values: Vec<_> = values
                .filter(|(name, _)| !(stage.element.encrypts && *name == element::KEY))
                .map(|(_, value)| value)
                .collect();
            values.sort_by_key(|value| value.offset);
            let values = values.into_iter();
            writes.extend(values.map(|value| (window + value.offset, value.data.clone())));
            if stage.streams.is_empty() {
                continue;
            }
            // Those of streams that have none now may be there from an earlier recording.
            let settings = elements::CHAIN + elements::SETTINGS_AT + at * elements::SETTINGS_BYTES;
            for place in 0..elements::STREAMS {
                let mut own = stage.streams.iter();
                let own = own.find(|(stream, _)| u64::from(**stream) % elements::STREAMS == place);
                let cfg = own.map_or(stage.cfg, |(_, cfg)| *cfg);
                writes.push((settings + 8 * place, cfg.to_le_bytes().to_vec().into()));
            }
        }
        writes
    }

    /// Reads a pipeline's file.
    ///
    /// # Errors
    /// Where it cannot be read, or something in it cannot be: which key, on which line, its value,
    /// what it may be, and what to do.
    pub fn load(path: &Path, paths: &Paths) -> Result<Self> {
        Self::of(&File::read(path)?, paths)
    }

    /// The form of such a file: keys and kinds of values.
    pub fn schema() -> Schema {
        let settings = SchemaSettings::draft2020_12().for_deserialize();
        settings.into_generator().into_root_schema_for::<Raw>()
    }

    fn of(file: &File, paths: &Paths) -> Result<Self> {
        let raw: Raw = file.parse()?;
        let ssds = ssd::check(file, raw.ssd)?;
        let (pes, sink) = (
            stage::check(file, &raw.pe, paths)?,
            sink::check(file, &raw.sink, ssds.len())?,
        );
        if let (Some(stage), Kind::Packets) = (pes.first(), &sink.layout) {
            return Err(file.refuse(
                0,
                "pe[0].name",
                &stage.element.name,
                "whole frames with what stands between them are no data for an element",
                "leave [[pe]] out, or write layout = \"objects\"",
            ));
        }
        let source = source::check(file, &raw.source)?;
        stage::check_streams(file, &raw.pe, &pes, &source)?;
        let pipeline = Self {
            source,
            pes,
            element_clock: clock::check(file, &raw.chain)?,
            buffer: buffer::check(file, &raw.buffer)?,
            sink,
            ssds,
            root: paths.root().to_owned(),
        };
        if template_of(&pipeline.results(), true).is_none() {
            return Err(file.refuse(
                0,
                "pe",
                pipeline.results(),
                "the JSON in front of an object has no room for all of it",
                "let the element give fewer columns",
            ));
        }
        Ok(pipeline)
    }
}
