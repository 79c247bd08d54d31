// SPDX-License-Identifier: Apache-2.0
//! Parameters of an element's module: how it is built.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Value;

use super::field::{Field, File};
use super::name::named_well;
use super::{Place, Result};

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    description: String,
    parameter: Place,
    values: Place,
    default: Place,
}

/// All parameters of a manifest.
pub(super) fn all(
    file: &File,
    raw: &BTreeMap<String, Raw>,
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
    pub(super) fn read(&self, field: &Field<'_>) -> Result<i64> {
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
