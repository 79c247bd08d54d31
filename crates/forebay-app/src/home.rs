// SPDX-License-Identifier: Apache-2.0
//! Finding the checkout: the folder that holds `rtl/`.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use forebay_rtl::{CHECKOUT_MARK as MARK, checkout_above};

use crate::failure::{Exit, Failure, Result};

/// The checkout: `$FOREBAY_HOME`, or the nearest folder above this program or the current folder.
///
/// # Errors
/// Where there is none, or `$FOREBAY_HOME` is not one.
pub fn find() -> Result<PathBuf> {
    if let Some(home) = env::var_os("FOREBAY_HOME").map(PathBuf::from) {
        if home.join(MARK).is_file() {
            return Ok(home);
        }
        return Err(Failure::input(
            "$FOREBAY_HOME",
            home.display(),
            &format!("there is no {MARK} in it"),
            "set it to the folder of a checkout of Forebay, or unset it",
        ));
    }
    // The program first: `build/forebay` belongs to its own checkout wherever it is called from,
    // also where it is a link to a folder of build outputs elsewhere.
    let called = env::args_os()
        .next()
        .map(PathBuf::from)
        .filter(|path| path.components().count() > 1);
    let starts = [
        called.map_or_else(env::current_exe, std::path::absolute),
        env::current_exe().and_then(|exe| exe.canonicalize()),
        env::current_dir(),
    ];
    starts
        .iter()
        .flatten()
        .find_map(|start| checkout_above(start))
        .map(Path::to_owned)
        .ok_or_else(|| {
            Failure::new(
                Exit::BadInput,
                format!(
                    "the RTL was not found: no {MARK} above this program or the current folder"
                ),
                "set $FOREBAY_HOME to a checkout of Forebay, or name other RTL with --rtl",
            )
        })
}

/// A path as it is shown: relative to the current folder where it lies below it.
pub fn short(path: &Path) -> String {
    let here = env::current_dir().unwrap_or_default();
    path.strip_prefix(&here)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// The environment's Python, or the system's.
pub fn python(root: &Path) -> PathBuf {
    let ours = root.join(".venv/bin/python");
    if ours.is_file() {
        ours
    } else {
        "python3".into()
    }
}

/// Where Python finds the project, before what the user has.
pub fn python_path(root: &Path) -> OsString {
    let ours = root.join("python");
    let others = env::var_os("PYTHONPATH").unwrap_or_default();
    let paths = std::iter::once(ours.clone()).chain(env::split_paths(&others));
    env::join_paths(paths).unwrap_or(ours.into_os_string())
}
