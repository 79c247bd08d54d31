// SPDX-License-Identifier: Apache-2.0
//! The form of a pipeline's file as JSON Schema: keys and kinds of values. Limits of values, and what
//! goes together, [`Pipeline::load`](super::Pipeline::load) checks.
#![allow(dead_code, reason = "only the form of these types is used")]

use std::collections::BTreeMap;

use schemars::JsonSchema;

/// Bytes: a number, or a text with a unit such as "64KiB" or "2GB".
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Bytes {
    Number(u64),
    Text(
        #[schemars(regex(
            pattern = r"^ *(0x[0-9a-fA-F]+|[0-9.]+ *(([kKMGT]|[KMGT]i)?B|[KMGT])?) *$"
        ))]
        String,
    ),
}

/// A time: 0, or a text with a unit such as "500us" or "2ms".
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Duration {
    Zero(#[schemars(range(max = 0))] u64),
    Text(#[schemars(regex(pattern = r"^ *[0-9.]+ *(ns|us|ms|s|min|h) *$"))] String),
}

/// A frequency such as "250MHz".
#[derive(JsonSchema)]
pub(super) struct Frequency(#[schemars(regex(pattern = r"^ *[0-9.]+ *[kKMG]?Hz *$"))] String);

/// A whole number, also as a text: 7, "0x07".
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Whole {
    Number(i64),
    Text(String),
}

/// How data lie on the drives.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(super) enum Layout {
    Objects,
    Small,
    Samples,
    Packets,
}

/// What happens where there is no room any more.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(super) enum Policy {
    Stop,
    Ring,
}

/// When the sender is asked to wait.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Pause {
    Word(PauseWord),
    Levels(PauseLevels),
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(super) enum PauseWord {
    Auto,
    Off,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct PauseLevels {
    xoff: Bytes,
    xon: Bytes,
}

/// A processing element; its settings are those of its manifest.
#[derive(JsonSchema)]
pub(super) struct Stage {
    /// Which element.
    name: String,
    /// The folder of an element of your own.
    path: Option<String>,
    /// Whether it works on what is received, or on what is read back.
    direction: Option<Direction>,
    /// It gets a copy, and the original goes on past it.
    tap: Option<Tap>,
    /// Streams with settings of their own.
    streams: Option<Vec<StreamSettings>>,
    #[schemars(flatten)]
    settings: BTreeMap<String, Setting>,
}

/// Settings of a stream where they are others.
#[derive(JsonSchema)]
pub(super) struct StreamSettings {
    /// Its number.
    stream: Whole,
    #[schemars(flatten)]
    settings: BTreeMap<String, StreamSetting>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum StreamSetting {
    Whole(Whole),
    Flag(bool),
}

/// Bytes of a register.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(super) enum RegisterBytes {
    /// Those of a file, from the pipeline's folder on.
    File(String),
    /// Two hexadecimal digits each.
    Hex(String),
}

/// Where an element stands: on the way onto the drives, or on the way back from them.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(super) enum Direction {
    In,
    Back,
}

/// What happens where a branch has no room, or that an element goes on in that of the one before.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(super) enum Tap {
    Wait,
    Skip,
    Follow,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Setting {
    Whole(Whole),
    Number(f64),
    Flag(bool),
    Bytes(RegisterBytes),
}
