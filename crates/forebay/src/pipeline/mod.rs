// SPDX-License-Identifier: Apache-2.0
//! `forebay pipeline` and `forebay pe`: shows what files of pipelines and manifests say.

pub mod list;
pub mod show;
