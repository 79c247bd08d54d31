// SPDX-License-Identifier: Apache-2.0
//! Options as the words of a command line.

use std::fmt::Display;

/// Words of a command line, to be given again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Vec<String>);

impl Words {
    /// An option for each value.
    pub fn each(&mut self, name: &str, values: impl IntoIterator<Item: Display>) {
        for value in values {
            self.0.push(format!("--{name}"));
            self.0.push(value.to_string());
        }
    }

    /// An option, unless it has this value anyway.
    pub fn unless<T: Display + PartialEq>(&mut self, name: &str, value: T, default: T) {
        self.each(name, (value != default).then_some(value));
    }

    /// An option without a value, where it is set.
    pub fn flag(&mut self, name: &str, set: bool) {
        if set {
            self.0.push(format!("--{name}"));
        }
    }

    /// The words.
    pub fn into_inner(self) -> Vec<String> {
        self.0
    }
}
