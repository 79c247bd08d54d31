// SPDX-License-Identifier: Apache-2.0
//! Names of elements, and of what their manifests describe.

use super::Result;
use super::field::Field;

/// Longest name of an element or a setting.
const NAME_MOST: usize = 40;
/// Names of modules that are no elements.
const TAKEN: [&str; 11] = [
    "back_entry",
    "cdc",
    "chain",
    "check",
    "check_result",
    "entry",
    "pkg",
    "registers_cdc",
    "settings",
    "tap",
    "windows",
];
/// Keys of `[[pe]]` that are no settings.
pub(super) const KEYS: [&str; 5] = ["name", "path", "direction", "tap", "streams"];

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

/// Refuses a name that cannot be one of `what`.
pub(super) fn named_well(field: &Field<'_>, name: &str, what: &str) -> Result<()> {
    if KEYS.contains(&name) || name_fault(name).is_some_and(|_| !TAKEN.contains(&name)) {
        return Err(field.refuse(
            &format!(
                "{name} is no name of {what}: small letters, digits and _, and not name, path, direction, streams or tap"
            ),
            "choose another name",
        ));
    }
    Ok(())
}
