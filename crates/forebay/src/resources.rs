// SPDX-License-Identifier: Apache-2.0
//! `forebay resources`: asks the project's Python side, which runs Yosys.

use crate::args::ResourcesArgs;
use crate::failure::{Exit, Result};
use crate::python;

/// Runs it.
pub fn run(args: &ResourcesArgs) -> Result<Exit> {
    let words = args.rest.iter().map(Into::into).collect();
    python::report("forebay.resources", words)
}
