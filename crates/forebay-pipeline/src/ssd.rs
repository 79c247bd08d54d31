// SPDX-License-Identifier: Apache-2.0
//! `[[ssd]]`: the drives.

use std::path::PathBuf;

use forebay_model::Profile;
use forebay_spec::streamer::window::{self, PAGE_BYTES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::field::{Field, File};
use super::{Place, Result, schema};

/// Where nothing else is said.
const PROFILE: &str = "990pro-2tb";

/// What a recording needs at least.
const LEAST: u64 = 8 << 20;

/// One drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ssd {
    /// The name of its profile, or a TOML file.
    pub profile: String,
    /// The file that keeps what it stores; none: it forgets at the end.
    pub image: Option<PathBuf>,
    /// Bytes of its first namespace.
    pub bytes: u64,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Raw {
    /// A name of `forebay profiles`, or a TOML file.
    #[schemars(with = "Option<String>")]
    profile: Option<Place>,
    /// The sparse file that keeps what the drive stores.
    #[schemars(with = "Option<String>")]
    image: Option<Place>,
    /// Number of such drives.
    #[schemars(with = "Option<schema::Whole>")]
    count: Option<Place>,
    /// Bytes of the drive, a multiple of 4096.
    #[schemars(with = "Option<schema::Bytes>")]
    size: Option<Place>,
}

pub(super) fn check(file: &File, raw: Vec<Raw>) -> Result<Vec<Ssd>> {
    let raw = if raw.is_empty() {
        vec![Raw::default()]
    } else {
        raw
    };
    let mut ssds: Vec<Ssd> = Vec::new();
    for (index, one) in raw.iter().enumerate() {
        let key = |name: &str| format!("ssd[{index}].{name}");
        let most = window::DRIVES_MOST as i128;
        let count = |field: &Field| field.integer(1..=most);
        let count = file.or(key("count"), &one.count, 1, count)?;
        let ssd = drive(file, one, key)?;
        if let (Some(image), true) = (&one.image, count > 1) {
            return Err(file.field(key("image"), image).refuse(
                &format!("{count} drives cannot keep what they store in one file"),
                "write an [[ssd]] for each, without count",
            ));
        }
        let same = |other: &Ssd| ssd.image.is_some() && other.image == ssd.image;
        if let (Some(image), true) = (&one.image, ssds.iter().any(same)) {
            return Err(file.field(key("image"), image).refuse(
                "another drive keeps what it stores in it",
                "give each drive a file of its own",
            ));
        }
        ssds.extend(std::iter::repeat_n(ssd, count as usize));
    }
    if ssds.len() as u64 > window::DRIVES_MOST {
        return Err(file.refuse(
            0,
            "ssd",
            format_args!("{} drives", ssds.len()),
            &format!("there are at most {}", window::DRIVES_MOST),
            "leave some out",
        ));
    }
    Ok(ssds)
}

fn drive(file: &File, raw: &Raw, key: impl Fn(&str) -> String) -> Result<Ssd> {
    let name = match &raw.profile {
        Some(value) => file.profile(file.field(key("profile"), value).text()?),
        None => PROFILE.to_owned(),
    };
    let profile = Profile::load(&name).map_err(|error| match &raw.profile {
        Some(value) => file.field(key("profile"), value).refuse(
            &error.to_string(),
            "`forebay profiles` lists what there is; a file's path starts from the pipeline's folder",
        ),
        None => error.into(),
    })?;
    let image = |field: &Field| Ok(Some(file.folder().join(field.text()?)));
    let image = file.or(key("image"), &raw.image, None, image)?;
    let bytes = profile.ssd.namespaces.first();
    let bytes = bytes.map_or(0, |first| first.bytes);
    let size = |field: &Field| match field.whole_bytes(PAGE_BYTES)? {
        size if (LEAST..=bytes).contains(&size) => Ok(size),
        _ => Err(field.refuse(
            &format!("this drive has {LEAST} to {bytes} bytes"),
            "choose another size; without it, it is the profile's",
        )),
    };
    Ok(Ssd {
        profile: name,
        image,
        bytes: file.or(key("size"), &raw.size, bytes, size)?,
    })
}
