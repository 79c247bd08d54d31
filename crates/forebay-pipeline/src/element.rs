// SPDX-License-Identifier: Apache-2.0
//! `[[pe]]`: processing elements, and the manifests that describe them.
//!
//! An element `fb_pe_NAME` lies in a folder with its RTL and `fb_pe_NAME.toml`, which says what its
//! settings are called and in which bits of `cfg` they stand. Nothing else knows of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf, absolute};
use std::{fs, io};

use forebay_spec::recorder::elements::STREAMS;
use forebay_spec::store::page::template_of;
use forebay_spec::store::schema::{Cipher, Column, ColumnError, Schema};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toml::Value;

use super::field::{Field, File};
use super::register::{self, Register, RegisterValue};
use super::{Error, Place, Result, STAGES, Source};

/// Longest name of an element or a setting.
const NAME_MOST: usize = 40;
/// Names of modules that are no elements.
const TAKEN: [&str; 8] = [
    "chain",
    "check",
    "check_result",
    "entry",
    "pkg",
    "settings",
    "tap",
    "windows",
];
/// Cycles to a result, where nothing is said.
const PATIENCE: u32 = 65_536;
/// Bytes of a data file, at most.
const DATA_MOST: u64 = 1 << 30;
/// Register that holds the key of an element that encrypts.
pub(super) const KEY: &str = "key";
/// Keys of `[[pe]]` that are no settings.
const KEYS: [&str; 4] = ["name", "path", "tap", "streams"];

/// Folders in which elements are looked for.
#[derive(Clone, Debug)]
pub struct Paths {
    root: PathBuf,
    folders: Vec<PathBuf>,
}

impl Paths {
    /// The user's folders, and behind them that of this checkout.
    pub fn new(root: &Path, own: &[PathBuf]) -> Self {
        let ours = root.join("rtl/pe");
        Self {
            root: root.to_owned(),
            folders: own.iter().cloned().chain([ours]).collect(),
        }
    }

    /// One folder alone.
    pub fn of(folder: &Path) -> Self {
        Self {
            root: PathBuf::new(),
            folders: vec![folder.to_owned()],
        }
    }

    /// The checkout.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Names of the elements that there are, and the folder of each; where two have the same name,
    /// the first one is meant.
    pub fn elements(&self) -> BTreeMap<String, PathBuf> {
        let mut found = BTreeMap::new();
        for folder in &self.folders {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let file = entry.file_name();
                let name = file
                    .to_str()
                    .and_then(|file| file.strip_prefix("fb_pe_")?.strip_suffix(".toml"));
                if let Some(name) = name.filter(|name| name_fault(name).is_none()) {
                    found.entry(name.to_owned()).or_insert(folder.clone());
                }
            }
        }
        found
    }
}

/// What is wrong with the name of an element: it is part of a module's.
pub fn name_fault(name: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || name.len() > NAME_MOST {
        return Some("it has 1 to 40 characters");
    }
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        return Some("it has small letters, digits and _, a letter first");
    }
    if name.ends_with('_') || name.contains("__") {
        return Some("no _ stands at its end or beside another");
    }
    TAKEN
        .contains(&name)
        .then_some("the module of this name is another")
}

/// A processing element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Element {
    /// Its module is `fb_pe_NAME`.
    pub name: String,
    /// What it does, in a line.
    pub description: String,
    /// The folder of its manifest.
    pub folder: PathBuf,
    /// Its sources in dependency order.
    pub files: Vec<PathBuf>,
    /// It is told which extent a packet is.
    pub extent: bool,
    /// What each object of which nothing is missing has of it; nothing where it gives no results.
    pub result: Vec<ResultColumn>,
    /// It changes lengths.
    pub resizes: bool,
    /// It encrypts, with the key that is derived of its register `key`.
    pub encrypts: bool,
    /// How it can be built, by the name.
    pub parameters: BTreeMap<String, Parameter>,
    /// Cycles from an object's last beat to its result, at most; 0: any number, or none comes.
    pub patience: u32,
    /// What can be set, by the name.
    pub settings: BTreeMap<String, Setting>,
    /// What else can be, over AXI4-Lite, by the name.
    pub registers: BTreeMap<String, Register>,
    /// What it says of itself, by the name.
    pub status: BTreeMap<String, Status>,
    /// Files that its RTL reads.
    pub data: Vec<DataFile>,
}

/// A value of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResultColumn {
    /// Its name in the index.
    pub name: String,
    /// Its type, such as `u16` or `f32[5]`.
    pub r#type: String,
    /// What it means, in a line.
    pub description: String,
}

/// A parameter of an element's module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// What it means, in a line.
    pub description: String,
    /// Its name in the RTL.
    pub parameter: String,
    /// The values that it may have.
    pub values: Vec<i64>,
    /// The value where none is given.
    pub default: i64,
}

/// A number that an element shows while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// What it means, in a line.
    pub description: String,
    /// The highest of its bits in `status`.
    pub high: u32,
    /// The lowest.
    pub low: u32,
}

impl Status {
    /// The number, of an element's word.
    pub const fn of(&self, word: u64) -> u64 {
        word >> self.low & u64::MAX >> (63 - (self.high - self.low))
    }
}

/// A file that the RTL of an element reads when it is built or begins, such as weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DataFile {
    /// From the manifest's folder on.
    pub name: String,
    /// SHA-256 of its content, hexadecimal.
    pub sha256: String,
}

/// Something that can be set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// What it means, in a line.
    pub description: String,
    /// The highest of its bits in `cfg`.
    pub high: u32,
    /// The lowest.
    pub low: u32,
    /// Whether it is a flag: true or false, and one bit.
    pub flag: bool,
    /// The value where none is given.
    pub default: i128,
    /// The least value.
    pub least: i128,
    /// The greatest one.
    pub most: i128,
    /// Streams may have values of their own.
    pub by_stream: bool,
}

/// What goes through an element, and what is stored of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// All; what the element makes of it goes on.
    Through,
    /// A copy: the element begins a branch, and the original goes on past that.
    Tap {
        /// What the branch has no room for is not copied; else the original waits.
        skips: bool,
    },
    /// What comes from the element before it, in that one's branch.
    Follow,
}

/// An element in its place, with its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stage {
    /// Which.
    pub element: Element,
    /// What goes through it.
    pub way: Way,
    /// The value of each of its settings.
    pub values: BTreeMap<String, i128>,
    /// They, as the element's port has them.
    pub cfg: u64,
    /// The same of streams that have values of their own, by the stream.
    pub streams: BTreeMap<u16, u64>,
    /// What is written into its registers, by the name.
    pub registers: BTreeMap<String, RegisterValue>,
    /// How it is built, by the name in its RTL.
    pub parameters: BTreeMap<String, i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    description: String,
    files: Option<Vec<Place>>,
    extent: Option<Place>,
    #[serde(default)]
    result: Vec<RawColumn>,
    resizes: Option<Place>,
    encrypts: Option<Place>,
    #[serde(default)]
    parameters: BTreeMap<String, RawParameter>,
    patience: Option<Place>,
    #[serde(default)]
    settings: BTreeMap<String, RawSetting>,
    #[serde(default)]
    registers: BTreeMap<String, register::Raw>,
    #[serde(default)]
    status: BTreeMap<String, RawStatus>,
    #[serde(default)]
    data: Vec<Place>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawColumn {
    name: Place,
    r#type: Place,
    description: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSetting {
    description: String,
    bits: Place,
    r#type: Place,
    default: Option<Place>,
    range: Option<Place>,
    by_stream: Option<Place>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawParameter {
    description: String,
    parameter: Place,
    values: Place,
    default: Place,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStatus {
    description: String,
    bits: Place,
}

impl Element {
    /// Reads an element's manifest.
    ///
    /// # Errors
    /// Where there is none, or something in it cannot be.
    pub fn load(folder: &Path, name: &str) -> Result<Self> {
        let file = File::read(&folder.join(format!("fb_pe_{name}.toml")))?;
        Self::of(&file, name)
    }

    pub(super) fn of(file: &File, name: &str) -> Result<Self> {
        let raw: Raw = file.parse()?;
        let mut settings = BTreeMap::new();
        for (key, raw) in &raw.settings {
            let setting = setting(file, key, raw)?;
            let taken = settings
                .iter()
                .map(|(name, old): (&String, &Setting)| (name, old.high, old.low));
            let field = file.field(format!("settings.{key}.bits"), &raw.bits);
            not_taken(&field, taken, setting.high, setting.low)?;
            settings.insert(key.clone(), setting);
        }
        let registers = register::all(file, &raw.registers, &settings)?;
        let mut status = BTreeMap::new();
        for (key, raw) in &raw.status {
            let field = file.field(format!("status.{key}.bits"), &raw.bits);
            named_well(&field, key, "a status")?;
            let (high, low) = bits_of(&field)?;
            let taken = status
                .iter()
                .map(|(name, old): (&String, &Status)| (name, old.high, old.low));
            not_taken(&field, taken, high, low)?;
            let description = raw.description.clone();
            status.insert(
                key.clone(),
                Status {
                    description,
                    high,
                    low,
                },
            );
        }
        Ok(Self {
            name: name.to_owned(),
            description: raw.description.clone(),
            folder: file.folder().to_owned(),
            files: files(file, name, raw.files.as_deref())?,
            extent: file.or("extent", &raw.extent, false, Field::flag)?,
            result: columns(file, &raw.result)?,
            resizes: file.or("resizes", &raw.resizes, false, Field::flag)?,
            encrypts: encrypts(file, &raw, &registers)?,
            parameters: parameters(file, &raw.parameters, |name| {
                settings.contains_key(name) || registers.contains_key(name)
            })?,
            patience: file.or("patience", &raw.patience, PATIENCE, patience)?,
            settings,
            registers,
            status,
            data: data(file, &raw.data)?,
        })
    }
}

/// The columns of a result, which fit into the index and into an extent's JSON.
fn columns(file: &File, given: &[RawColumn]) -> Result<Vec<ResultColumn>> {
    let (mut columns, mut found) = (Vec::new(), Vec::new());
    for (at, raw) in given.iter().enumerate() {
        let field = |key: &str, value| file.field(format!("result[{at}].{key}"), value);
        let (name, kind) = (field("name", &raw.name), field("type", &raw.r#type));
        let column = Column::new(name.text()?, kind.text()?);
        columns.push(column.map_err(|error| match error {
            ColumnError::Kind => kind.refuse(&error.to_string(), "choose one of these"),
            _ => name.refuse(&error.to_string(), "choose another name"),
        })?);
        let schema = Schema::new(&columns, false)
            .map_err(|error| name.refuse(&error.to_string(), "take it out"))?;
        if template_of(&schema, true).is_none() {
            return Err(kind.refuse(
                "the JSON in front of an object has no room for it",
                "take fewer values, or bytes in their place",
            ));
        }
        found.push(ResultColumn {
            name: name.text()?.to_owned(),
            r#type: kind.text()?.to_owned(),
            description: raw.description.clone(),
        });
    }
    Ok(found)
}

impl Element {
    /// It gives results.
    #[must_use]
    pub const fn judges(&self) -> bool {
        !self.result.is_empty()
    }

    /// The settings as its port has them.
    fn encode(&self, values: &BTreeMap<String, i128>) -> u64 {
        let settings = self.settings.iter();
        settings.fold(0, |cfg, (key, setting)| cfg | setting.encode(values[key]))
    }

    /// The columns of its results.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        let columns = self.result.iter();
        columns
            .filter_map(|column| Column::new(&column.name, &column.r#type).ok())
            .collect()
    }
}

/// Whether it encrypts: then it has key slots, is told nonces, and changes no lengths.
fn encrypts(file: &File, raw: &Raw, registers: &BTreeMap<String, Register>) -> Result<bool> {
    let encrypts = file.or("encrypts", &raw.encrypts, false, Field::flag)?;
    let (Some(value), true) = (&raw.encrypts, encrypts) else {
        return Ok(false);
    };
    let field = file.field("encrypts", value);
    let lengths = [Cipher::Aes128, Cipher::Aes256].map(|cipher| cipher.key_bytes() as u64);
    let is_key = |key: &Register| key.secret && key.bytes == lengths && key.offset == 0;
    if !registers.get(KEY).is_some_and(is_key) {
        return Err(field.refuse(
            "its key is the register key: offset = 0, bytes = [16, 32], secret = true",
            "add it: [registers.key]",
        ));
    }
    if !file.or("extent", &raw.extent, false, Field::flag)? {
        return Err(field.refuse("it needs the nonce of an extent", "add extent = true"));
    }
    if file.or("resizes", &raw.resizes, false, Field::flag)? {
        return Err(field.refuse(
            "what it gives is as long as what it gets",
            "leave resizes out",
        ));
    }
    Ok(true)
}

/// The parameters of a module.
fn parameters(
    file: &File,
    raw: &BTreeMap<String, RawParameter>,
    taken: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, Parameter>> {
    let mut found = BTreeMap::new();
    for (name, raw) in raw {
        let field = |key: &str, value| file.field(format!("parameters.{name}.{key}"), value);
        let (own, values) = (
            field("parameter", &raw.parameter),
            field("values", &raw.values),
        );
        named_well(&own, name, "a parameter")?;
        if taken(name) {
            return Err(own.refuse(
                "a setting or a register has the same name",
                "choose another name",
            ));
        }
        let parameter = own.text()?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !parameter.starts_with(|c: char| c.is_ascii_alphabetic())
            || !parameter.chars().all(plain)
        {
            return Err(own.refuse(
                "it is the name of a parameter of the module",
                "such as \"Lanes\"",
            ));
        }
        let list = values.value().as_array();
        let list = list.and_then(|list| {
            list.iter()
                .map(Value::as_integer)
                .collect::<Option<Vec<_>>>()
        });
        let list = list.filter(|list| !list.is_empty()).ok_or_else(|| {
            values.refuse(
                "it is a list of whole numbers",
                "write the values that it may have, such as [1, 2]",
            )
        })?;
        let mut parameter = Parameter {
            description: raw.description.clone(),
            parameter: parameter.to_owned(),
            default: list[0],
            values: list,
        };
        parameter.default = parameter.read(&field("default", &raw.default))?;
        found.insert(name.clone(), parameter);
    }
    Ok(found)
}

impl Parameter {
    fn read(&self, field: &Field<'_>) -> Result<i64> {
        let number = field.integer(i64::MIN.into()..=i64::MAX.into())? as i64;
        match self.values.contains(&number) {
            true => Ok(number),
            false => Err(field.refuse(
                &format!("it is one of {:?}", self.values),
                "choose one of these",
            )),
        }
    }
}

fn patience(field: &Field) -> Result<u32> {
    let cycles = field.integer(0..=u32::MAX.into())?;
    Ok(u32::try_from(cycles).unwrap_or(u32::MAX))
}

fn files(file: &File, name: &str, given: Option<&[Place]>) -> Result<Vec<PathBuf>> {
    let Some(given) = given else {
        let own = file.folder().join(format!("fb_pe_{name}.sv"));
        return match own.is_file() {
            true => Ok(vec![own]),
            false => Err(Error::unusable(
                file.path.display(),
                "without a file of RTL",
                format!("there is no {}", own.display()),
                "put it there, or list the element's sources: files = [\"a.sv\", \"b.sv\"]",
            )),
        };
    };
    let mut found = Vec::new();
    for value in given {
        let field = file.field("files", value);
        let path = file.folder().join(field.text()?);
        if !path.is_file() {
            return Err(field.refuse(
                &format!("there is no file {}", path.display()),
                "name sources that are there, from the manifest's folder on",
            ));
        }
        found.push(path);
    }
    Ok(found)
}

/// Files that the RTL reads, with what is in them.
fn data(file: &File, given: &[Place]) -> Result<Vec<DataFile>> {
    let mut found = Vec::new();
    for value in given {
        let field = file.field("data", value);
        let name = field.text()?;
        let mut parts = Path::new(name).components();
        if parts.any(|part| !matches!(part, Component::Normal(_))) {
            return Err(field.refuse(
                "it is the path of a file below the manifest's folder",
                "put the file there",
            ));
        }
        let path = absolute(file.folder()).unwrap_or_default().join(name);
        let unreadable = |error| {
            field.refuse(
                &format!("{} cannot be read: {error}", path.display()),
                "name files that are there, from the manifest's folder on",
            )
        };
        let plain = |text: &str| !text.contains(|c: char| c.is_control() || "\"\\".contains(c));
        if !path.to_str().is_some_and(plain) {
            return Err(field.refuse(
                &format!("{} is no path for Verilog", path.display()),
                "leave quotation marks, backslashes and control characters out of its names",
            ));
        }
        let found_there = fs::metadata(&path).map_err(unreadable)?;
        if !found_there.is_file() || found_there.len() > DATA_MOST {
            return Err(field.refuse(
                &format!("it is a file of at most {DATA_MOST} bytes"),
                "name another one",
            ));
        }
        let mut hash = Sha256::new();
        let mut content = fs::File::open(&path).map_err(unreadable)?;
        io::copy(&mut content, &mut hash).map_err(unreadable)?;
        let sha256 = hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        found.push(DataFile {
            name: name.to_owned(),
            sha256,
        });
    }
    Ok(found)
}

/// Refuses bits of which some are those of another.
fn not_taken<'a>(
    field: &Field<'_>,
    mut taken: impl Iterator<Item = (&'a String, u32, u32)>,
    high: u32,
    low: u32,
) -> Result<()> {
    match taken.find(|(_, old_high, old_low)| *old_low <= high && low <= *old_high) {
        Some((other, ..)) => Err(field.refuse(
            &format!("some of these bits are those of {other}"),
            "choose others of the 64",
        )),
        None => Ok(()),
    }
}

/// Refuses a name that cannot be one of `what`.
pub(super) fn named_well(field: &Field<'_>, name: &str, what: &str) -> Result<()> {
    if KEYS.contains(&name) || name_fault(name).is_some_and(|_| !TAKEN.contains(&name)) {
        return Err(field.refuse(
            &format!(
                "{name} is no name of {what}: small letters, digits and _, and not name, path, streams or tap"
            ),
            "choose another name",
        ));
    }
    Ok(())
}

/// The highest and the lowest of some bits of 64.
fn bits_of(field: &Field<'_>) -> Result<(u32, u32)> {
    let what = "the highest and the lowest bit, such as [31, 0]";
    let (high, low) = pair(field, what, 0, 63)?;
    if high < low {
        return Err(field.refuse("the highest bit comes first", "exchange the two"));
    }
    Ok((high as u32, low as u32))
}

/// Two numbers in brackets.
fn pair(field: &Field<'_>, what: &str, least: i128, most: i128) -> Result<(i128, i128)> {
    let numbers: Vec<i128> = match field.value() {
        Value::Array(values) => values
            .iter()
            .filter_map(|value| value.as_integer().map(i128::from))
            .filter(|number| (least..=most).contains(number))
            .collect(),
        _ => Vec::new(),
    };
    match (numbers.as_slice(), field.value().as_array().map(Vec::len)) {
        ([first, second], Some(2)) => Ok((*first, *second)),
        _ => Err(field.refuse(
            &format!("it is two numbers from {least} to {most}"),
            &format!("write {what}"),
        )),
    }
}

fn setting(file: &File, name: &str, raw: &RawSetting) -> Result<Setting> {
    let field = |key: &str, value| file.field(format!("settings.{name}.{key}"), value);
    let bits = field("bits", &raw.bits);
    named_well(&bits, name, "a setting")?;
    let (high, low) = bits_of(&bits)?;
    let flag = field("type", &raw.r#type).word(&[("flag", true), ("integer", false)])?;
    if flag && high != low {
        return Err(bits.refuse(
            "a flag has one bit",
            "give the same bit twice, such as [32, 32]",
        ));
    }
    let (least, most) = range(&field, raw, flag, high - low + 1)?;
    let by_stream = file.or(
        format!("settings.{name}.by_stream"),
        &raw.by_stream,
        false,
        Field::flag,
    )?;
    if by_stream && name == "stream" {
        return Err(bits.refuse(
            "in front of the settings of a stream this word names it",
            "choose another name",
        ));
    }
    let mut setting = Setting {
        description: raw.description.clone(),
        high,
        low,
        flag,
        default: if least > 0 { least } else { 0.min(most) },
        least,
        most,
        by_stream,
    };
    if let Some(value) = &raw.default {
        setting.default = setting.read(&field("default", value))?;
    }
    Ok(setting)
}

/// The values that fit into the setting's bits, or fewer where the manifest says so.
fn range<'a>(
    field: &impl Fn(&str, &'a Place) -> Field<'a>,
    raw: &'a RawSetting,
    flag: bool,
    width: u32,
) -> Result<(i128, i128)> {
    let (floor, ceiling) = (-(1_i128 << (width - 1)), (1_i128 << width) - 1);
    let Some(value) = &raw.range else {
        return Ok((0, ceiling));
    };
    let range = field("range", value);
    if flag {
        return Err(range.refuse("a flag is true or false", "leave it out"));
    }
    let (least, most) = pair(&range, "the least and the greatest value", floor, ceiling)?;
    if least > most {
        return Err(range.refuse("the least value comes first", "exchange the two"));
    }
    Ok((least, most))
}

impl Setting {
    /// Reads a value for it.
    fn read(&self, field: &Field<'_>) -> Result<i128> {
        match self.flag {
            true => field.flag().map(i128::from),
            false => field.integer(self.least..=self.most),
        }
    }

    /// Its bits of `cfg`, for a value that it may have.
    pub(super) const fn encode(&self, value: i128) -> u64 {
        let mask = u64::MAX >> (63 - (self.high - self.low));
        // Negative numbers are in two's complement.
        (value as u64 & mask) << self.low
    }

    /// A value, as it is written in a file.
    pub fn show(&self, value: i128) -> String {
        match self.flag {
            true => (value != 0).to_string(),
            false => value.to_string(),
        }
    }
}

pub(super) fn check(
    file: &File,
    raw: &[BTreeMap<String, Place>],
    paths: &Paths,
) -> Result<Vec<Stage>> {
    if raw.len() > STAGES {
        return Err(file.refuse(
            0,
            "pe",
            format_args!("{} elements", raw.len()),
            &format!("a pipeline has at most {STAGES}"),
            "make one element of several",
        ));
    }
    let mut stages: Vec<Stage> = Vec::new();
    for (index, keys) in raw.iter().enumerate() {
        let new = stage(file, index, keys, paths)?;
        let other = |old: &Stage| {
            old.element.name == new.element.name && old.element.files != new.element.files
        };
        if let (Some(name), true) = (keys.get("name"), stages.iter().any(other)) {
            return Err(file.field(format!("pe[{index}].name"), name).refuse(
                "an element of this name and from another folder is in the pipeline",
                "give one of the two another name: their modules have the same",
            ));
        }
        if let (Some(tap), Way::Follow) = (keys.get("tap"), new.way)
            && stages.last().is_none_or(|old| old.way == Way::Through)
        {
            return Err(file.field(format!("pe[{index}].tap"), tap).refuse(
                "the element before it is in no branch",
                "begin one there: tap = \"wait\" or tap = \"skip\"",
            ));
        }
        let other = stages
            .iter()
            .find(|old| old.element.judges() && new.element.judges());
        if let (Some(name), Some(other)) = (keys.get("name"), other) {
            return Err(file.field(format!("pe[{index}].name"), name).refuse(
                &format!(
                    "an object has one result, and {} makes it",
                    other.element.name
                ),
                "take one of the two out",
            ));
        }
        if let (Some(name), Some(old)) = (keys.get("name"), stages.last())
            && old.element.encrypts
        {
            return Err(file.field(format!("pe[{index}].name"), name).refuse(
                &format!(
                    "{} encrypts, and nothing of what it gives can be worked on",
                    old.element.name
                ),
                "let it be the last one",
            ));
        }
        if let (Some(name), true) = (keys.get("name"), new.element.encrypts) {
            let field = file.field(format!("pe[{index}].name"), name);
            if new.way != Way::Through {
                return Err(field.refuse(
                    "it encrypts what is stored, and not a copy",
                    "leave tap out",
                ));
            }
            let mut before = stages.iter().filter(|old| old.way == Way::Through);
            if let Some(old) = before.find(|old| old.element.resizes) {
                return Err(field.refuse(
                    &format!(
                        "what it encrypts is to stand where it came from, and {} changes lengths",
                        old.element.name
                    ),
                    "take one of the two out",
                ));
            }
        }
        stages.push(new);
    }
    for (index, keys) in raw.iter().enumerate() {
        let (stage, behind) = (&stages[index], stages[index + 1..].iter());
        let mut branch = behind.take_while(|stage| stage.way == Way::Follow);
        let judges = stage.element.judges() || branch.any(|stage| stage.element.judges());
        if let (Some(tap), Way::Tap { .. }, false) = (keys.get("tap"), stage.way, judges) {
            return Err(file.field(format!("pe[{index}].tap"), tap).refuse(
                "what comes out of a branch is not stored, and no element in it makes results",
                "let an element with results follow, or leave tap out",
            ));
        }
    }
    Ok(stages)
}

fn stage(
    file: &File,
    index: usize,
    keys: &BTreeMap<String, Place>,
    paths: &Paths,
) -> Result<Stage> {
    let field = |key: &str, value| file.field(format!("pe[{index}].{key}"), value);
    let Some(name) = keys.get("name") else {
        return Err(file.refuse(
            0,
            &format!("pe[{index}].name"),
            "missing",
            "it says which element",
            "add it, such as name = \"add\"; `forebay pe list` says what there is",
        ));
    };
    let name = field("name", name);
    let element = match keys.get("path") {
        Some(path) => named(&name, &file.folder().join(field("path", path).text()?))?,
        None => found(&name, paths)?,
    };
    let way = match keys.get("tap") {
        None => Way::Through,
        Some(tap) => field("tap", tap).word(&[
            ("wait", Way::Tap { skips: false }),
            ("skip", Way::Tap { skips: true }),
            ("follow", Way::Follow),
        ])?,
    };
    let mut values: BTreeMap<_, _> = element
        .settings
        .iter()
        .map(|(key, setting)| (key.clone(), setting.default))
        .collect();
    let mut registers = BTreeMap::new();
    let mut parameters: BTreeMap<_, _> = element
        .parameters
        .values()
        .map(|parameter| (parameter.parameter.clone(), parameter.default))
        .collect();
    for (key, value) in keys {
        let field = field(key, value);
        if KEYS.contains(&key.as_str()) {
            continue;
        } else if let Some(register) = element.registers.get(key) {
            let is_key = element.encrypts && key == KEY;
            let value = register.read(&field, file.folder())?;
            if is_key && value.data.iter().all(u8::is_ascii_hexdigit) {
                return Err(field.refuse(
                    "the file has hexadecimal text, and a key is bytes",
                    "`xxd -r -p` makes bytes of it",
                ));
            }
            registers.insert(key.clone(), value);
        } else if let Some(parameter) = element.parameters.get(key) {
            parameters.insert(parameter.parameter.clone(), parameter.read(&field)?);
        } else {
            let setting = element.settings.get(key);
            let setting = setting.ok_or_else(|| unknown(&field, &element))?;
            values.insert(key.clone(), setting.read(&field)?);
        }
    }
    for (key, register) in &element.registers {
        if !registers.contains_key(key) {
            let usual = register.usual().ok_or_else(|| {
                name.refuse(
                    &format!("it needs {key}: {}", register.description),
                    &format!("add {}", register.example(key)),
                )
            })?;
            registers.insert(key.clone(), usual);
        }
    }
    let streams = match keys.get("streams") {
        None => BTreeMap::new(),
        Some(value) => by_stream(&field("streams", value), &element, &values)?,
    };
    Ok(Stage {
        cfg: element.encode(&values),
        element,
        way,
        values,
        streams,
        registers,
        parameters,
    })
}

/// Refuses settings of streams that are not received.
pub(super) fn check_streams(
    file: &File,
    raw: &[BTreeMap<String, Place>],
    stages: &[Stage],
    source: &Source,
) -> Result<()> {
    let received = |stream: u16| stream.wrapping_sub(source.stream) < source.streams.into();
    for (index, (keys, stage)) in raw.iter().zip(stages).enumerate() {
        let other = stage.streams.keys().find(|stream| !received(**stream));
        if let (Some(value), Some(stream)) = (keys.get("streams"), other) {
            let field = file.field(format!("pe[{index}].streams"), value);
            return Err(field.refuse_hidden(
                &format!("stream {stream} is not received: {} is", source.which()),
                "leave it out, or receive it: [source] stream and streams",
            ));
        }
    }
    Ok(())
}

/// Settings of streams that have others, by the stream.
fn by_stream(
    field: &Field<'_>,
    element: &Element,
    usual: &BTreeMap<String, i128>,
) -> Result<BTreeMap<u16, u64>> {
    let mut found = BTreeMap::new();
    let mut places = BTreeSet::new();
    for (table, field) in field.tables()? {
        let mut values = usual.clone();
        let stream = table.get("stream").ok_or_else(|| {
            field.refuse_hidden(
                "each says which stream it is of",
                "add stream = 0, or another",
            )
        })?;
        let stream = field.part("stream", stream).integer(0..=u16::MAX.into())? as u16;
        for (key, value) in table.iter().filter(|(key, _)| *key != "stream") {
            let part = field.part(key, value);
            let setting = element.settings.get(key).filter(|found| found.by_stream);
            let setting = setting.ok_or_else(|| {
                part.refuse_hidden(
                    &format!("no setting of {} that streams have values of", element.name),
                    "`forebay pe list` says which have",
                )
            })?;
            values.insert(key.clone(), setting.read(&part)?);
        }
        if !places.insert(u64::from(stream) % STREAMS) {
            return Err(field.refuse_hidden(
                "two of these streams have the same last four bits",
                "leave one out",
            ));
        }
        found.insert(stream, element.encode(&values));
    }
    Ok(found)
}

fn unknown(field: &Field<'_>, element: &Element) -> Error {
    let keys = element.settings.keys().chain(element.registers.keys());
    let keys = keys.chain(element.parameters.keys());
    let known: Vec<_> = keys.map(String::as_str).collect();
    let limit = match known.as_slice() {
        [] => format!("{} has no settings", element.name),
        _ => format!("the settings of {} are: {}", element.name, known.join(", ")),
    };
    // It may be a secret whose key is misspelled.
    match element.registers.values().any(|register| register.secret) {
        true => field.refuse_hidden(&limit, "choose one of these, or leave it out"),
        false => field.refuse(&limit, "choose one of these, or leave it out"),
    }
}

/// The element of this name in a folder that the user names.
fn named(name: &Field<'_>, folder: &Path) -> Result<Element> {
    let text = checked(name)?;
    if !folder.join(format!("fb_pe_{text}.toml")).is_file() {
        return Err(name.refuse(
            &format!("there is no fb_pe_{text}.toml in {}", folder.display()),
            "`forebay new pe NAME` makes an element with all that it needs",
        ));
    }
    Element::load(folder, text)
}

/// The first one of this name in the folders where elements lie.
fn found(name: &Field<'_>, paths: &Paths) -> Result<Element> {
    let text = checked(name)?;
    let known = paths.elements();
    match known.get(text) {
        Some(folder) => Element::load(folder, text),
        None => Err(name.refuse(
            &format!(
                "there are: {}",
                known.into_keys().collect::<Vec<_>>().join(", ")
            ),
            "choose one of these; for your own add path = \"its folder\", or --pe-path",
        )),
    }
}

fn checked<'a>(name: &Field<'a>) -> Result<&'a str> {
    let text = name.text()?;
    match name_fault(text) {
        Some(fault) => Err(name.refuse(fault, "`forebay pe list` says what there is")),
        None => Ok(text),
    }
}
