// SPDX-License-Identifier: Apache-2.0
//! Processing elements, and the manifests that describe them.
//!
//! An element `fb_pe_NAME` lies in a folder with its RTL and `fb_pe_NAME.toml`, which says what its
//! settings are called and in which bits of `cfg` they stand. Nothing else knows of it.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf, absolute};
use std::{fs, io};

use forebay_spec::store::page::template_of;
use forebay_spec::store::schema::{Cipher, Column, ColumnError, Schema};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::field::{Field, File};
use super::name::name_fault;
use super::parameter::{self, Parameter};
use super::register::{self, Register};
use super::setting::{self, Setting, Status};
use super::{Error, Place, Result};

/// Cycles to a result, where nothing is said.
const PATIENCE: u32 = 65_536;
/// Bits of a stream, where nothing is said; the chain's.
pub(super) const WIDTH: u32 = 512;
/// Of the narrowest.
const WIDTH_LEAST: u32 = 32;
/// Bytes of a data file, at most.
const DATA_MOST: u64 = 1 << 30;
/// Register that holds the key of an element that encrypts.
pub(super) const KEY: &str = "key";
/// Status of an element that encrypts: packets for which it had no key.
pub const KEYLESS: &str = "keyless";

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
    /// Bits of its streams.
    pub width: u32,
    /// It has a clock of its own, `clk_pe`.
    pub own_clock: bool,
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

/// A file that the RTL of an element reads when it is built or begins, such as weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DataFile {
    /// From the manifest's folder on.
    pub name: String,
    /// SHA-256 of its content, hexadecimal.
    pub sha256: String,
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
    width: Option<Place>,
    clock: Option<Place>,
    #[serde(default)]
    parameters: BTreeMap<String, parameter::Raw>,
    patience: Option<Place>,
    #[serde(default)]
    settings: BTreeMap<String, setting::Raw>,
    #[serde(default)]
    registers: BTreeMap<String, register::Raw>,
    #[serde(default)]
    status: BTreeMap<String, setting::RawStatus>,
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
        let settings = setting::all(file, &raw.settings)?;
        let registers = register::all(file, &raw.registers, &settings)?;
        let status = setting::status(file, &raw.status)?;
        Ok(Self {
            name: name.to_owned(),
            description: raw.description.clone(),
            folder: file.folder().to_owned(),
            files: files(file, name, raw.files.as_deref())?,
            extent: file.or("extent", &raw.extent, false, Field::flag)?,
            result: columns(file, &raw.result)?,
            resizes: file.or("resizes", &raw.resizes, false, Field::flag)?,
            encrypts: encrypts(file, &raw, &registers, &status)?,
            width: file.or("width", &raw.width, WIDTH, width)?,
            own_clock: file.or("clock", &raw.clock, false, |field| {
                field.word(&[("chain", false), ("own", true)])
            })?,
            parameters: parameter::all(file, &raw.parameters, |name| {
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
    pub(super) fn encode(&self, values: &BTreeMap<String, i128>) -> u64 {
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
fn encrypts(
    file: &File,
    raw: &Raw,
    registers: &BTreeMap<String, Register>,
    status: &BTreeMap<String, Status>,
) -> Result<bool> {
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
    if !status.contains_key(KEYLESS) {
        return Err(field.refuse(
            "packets without a key become zeros, and nothing counts them",
            "add [status.keyless], and count them there",
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

fn width(field: &Field) -> Result<u32> {
    let bits = field.integer(0..=WIDTH.into())? as u32;
    match bits.is_power_of_two() && bits >= WIDTH_LEAST {
        true => Ok(bits),
        false => Err(field.refuse(
            "it is 32, 64, 128, 256 or 512 bits",
            "write how wide tdata of the element's streams is",
        )),
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
