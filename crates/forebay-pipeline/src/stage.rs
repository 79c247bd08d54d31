// SPDX-License-Identifier: Apache-2.0
//! `[[pe]]` of a pipeline: elements in their places, with their settings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use forebay_spec::recorder::elements::STREAMS;
use serde::Serialize;

use super::element::{Element, KEY, Paths};
use super::field::{Field, File};
use super::name::{KEYS, name_fault};
use super::register::RegisterValue;
use super::{Error, Place, Result, STAGES, Source};

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
    /// What is read to be sent.
    Back,
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
        let name = file.field(format!("pe[{index}].name"), &keys["name"]);
        let other = |old: &Stage| {
            old.element.name == new.element.name && old.element.files != new.element.files
        };
        if stages.iter().any(other) {
            return Err(name.refuse(
                "an element of this name and from another folder is in the pipeline",
                "give one of the two another name: their modules have the same",
            ));
        }
        match new.way {
            Way::Back => check_back(&name, &new, keys.contains_key("tap"), &stages)?,
            _ => check_in(file, (index, &name, keys.get("tap")), &new, &stages)?,
        }
        stages.push(new);
    }
    for (index, keys) in raw.iter().enumerate() {
        let (stage, behind) = (&stages[index], stages[index + 1..].iter());
        let behind = behind.filter(|stage| stage.way != Way::Back);
        let mut branch = behind.take_while(|stage| stage.way == Way::Follow);
        let judges = stage.element.judges() || branch.any(|stage| stage.element.judges());
        if let (Some(tap), Way::Tap { .. }, false) = (keys.get("tap"), stage.way, judges) {
            return Err(file.field(format!("pe[{index}].tap"), tap).refuse(
                "what comes out of a branch is not stored, and no element in it makes results",
                "let an element with results follow, or leave tap out",
            ));
        }
        if stage.way == Way::Back {
            let name = file.field(format!("pe[{index}].name"), &keys["name"]);
            check_decryption(&name, stage, &stages[..index], &stages)?;
        }
    }
    Ok(stages)
}

/// Refuses an element that cannot stand where what was received goes to be stored.
fn check_in(
    file: &File,
    (index, name, tap): (usize, &Field<'_>, Option<&Place>),
    new: &Stage,
    stages: &[Stage],
) -> Result<()> {
    let before = || stages.iter().filter(|old| old.way != Way::Back);
    if let (Some(tap), Way::Follow) = (tap, new.way)
        && before()
            .next_back()
            .is_none_or(|old| old.way == Way::Through)
    {
        return Err(file.field(format!("pe[{index}].tap"), tap).refuse(
            "the element before it is in no branch",
            "begin one there: tap = \"wait\" or tap = \"skip\"",
        ));
    }
    let other = before().find(|old| old.element.judges() && new.element.judges());
    if let Some(other) = other {
        return Err(name.refuse(
            &format!(
                "an object has one result, and {} makes it",
                other.element.name
            ),
            "take one of the two out",
        ));
    }
    if let Some(old) = before().next_back().filter(|old| old.element.encrypts) {
        return Err(name.refuse(
            &format!(
                "{} encrypts, and nothing of what it gives can be worked on",
                old.element.name
            ),
            "let it be the last one",
        ));
    }
    if !new.element.encrypts {
        return Ok(());
    }
    if new.way != Way::Through {
        return Err(name.refuse(
            "it encrypts what is stored, and not a copy",
            "leave tap out",
        ));
    }
    let mut before = before().filter(|old| old.way == Way::Through);
    match before.find(|old| old.element.resizes) {
        None => Ok(()),
        Some(old) => Err(name.refuse(
            &format!(
                "what it encrypts is to stand where it came from, and {} changes lengths",
                old.element.name
            ),
            "take one of the two out",
        )),
    }
}

/// Refuses an element that cannot stand where what is read goes to be sent.
fn check_back(name: &Field<'_>, new: &Stage, taps: bool, stages: &[Stage]) -> Result<()> {
    let mut before = stages.iter().filter(|old| old.way == Way::Back);
    if taps || new.element.judges() {
        return Err(name.refuse(
            "what is sent has no results, and so no branches",
            "take it out, or leave direction out",
        ));
    }
    if new.element.resizes {
        return Err(name.refuse(
            "the length of an object is sent in front of it, and this element changes it",
            "take it out",
        ));
    }
    if new.element.encrypts && before.next().is_some() {
        return Err(name.refuse(
            "it decrypts, and nothing can work on what it gets",
            "let it be the first one of its direction",
        ));
    }
    Ok(())
}

/// Refuses an element of the way back that gets what is encrypted, or decrypts what is not.
fn check_decryption(
    name: &Field<'_>,
    stage: &Stage,
    before: &[Stage],
    stages: &[Stage],
) -> Result<()> {
    let key = |stage: &Stage| stage.registers.get(KEY).map(|key| key.data.clone());
    let encrypts =
        |way: bool| move |one: &&Stage| one.element.encrypts && (one.way == Way::Back) == way;
    let stored = stages.iter().find(encrypts(false));
    if stage.element.encrypts && stored.map(key) != Some(key(stage)) {
        return Err(name.refuse(
            "nothing that is stored is encrypted with its key",
            "let both directions have an element that encrypts, with the same key",
        ));
    }
    if !stage.element.encrypts && stored.is_some() && !before.iter().any(|one| encrypts(true)(&one))
    {
        return Err(name.refuse(
            "what is read is encrypted, and nothing decrypts it before this element",
            "let one that decrypts stand before it: the same as encrypts, with direction = \"back\"",
        ));
    }
    Ok(())
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
    let back = match keys.get("direction") {
        None => false,
        Some(value) => field("direction", value).word(&[("in", false), ("back", true)])?,
    };
    let way = match keys.get("tap") {
        _ if back => Way::Back,
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
        Some(value) => per_stream(&field("streams", value), &element, &values)?,
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
fn per_stream(
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
            let setting = element.settings.get(key).filter(|found| found.per_stream);
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
