// SPDX-License-Identifier: Apache-2.0
//! What can be wrong with a message.

use super::Command;

/// A message that cannot be understood: which field, its value, what it may be, what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{command}: {field} is {value:#x}, but must be {limit}; {remedy}")]
pub struct Malformed {
    /// The message.
    pub command: Command,
    /// The field's name in the specification.
    pub field: &'static str,
    /// Its value.
    pub value: u64,
    /// What it may be.
    pub limit: String,
    /// What to do about it.
    pub remedy: &'static str,
}

/// The usual advice where one of the two programs is at fault.
const REMEDY: &str =
    "the virtual machine and this server disagree on vfio-user: check that QEMU is 11.0 or later";

impl Malformed {
    pub(crate) fn new(
        command: Command,
        field: &'static str,
        value: impl Into<u64>,
        limit: impl Into<String>,
    ) -> Self {
        Self {
            command,
            field,
            value: value.into(),
            limit: limit.into(),
            remedy: REMEDY,
        }
    }
}

/// UNIX error numbers that replies carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub u32);

impl Errno {
    /// A read that got no answer (EIO).
    pub const NO_ANSWER: Self = Self(5);
    /// A map over an existing one (EEXIST).
    pub const EXISTS: Self = Self(17);
    /// A field is wrong (EINVAL).
    pub const INVALID: Self = Self(22);
    /// A command that is not offered (EOPNOTSUPP).
    pub const NOT_SUPPORTED: Self = Self(95);
}
