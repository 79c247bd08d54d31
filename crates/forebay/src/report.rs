// SPDX-License-Identifier: Apache-2.0
//! Where reports go: `--output` says in which form, `--output-file` into which file. With a file,
//! people still read text on standard output.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use forebay_draw::text::Page;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::args::Output;
use crate::failure::{Exit, Failure, Result};
use crate::render;

pub use forebay_app::report::{Report, command_line};

/// Where the report of this run of the program goes.
#[derive(Debug, Default)]
pub struct Destination {
    /// In which form.
    pub form: Output,
    /// The file; none: standard output.
    pub file: Option<PathBuf>,
    /// With a file: no text on standard output.
    pub quiet: bool,
}

static DESTINATION: OnceLock<Destination> = OnceLock::new();
/// Text of the report for the file, which [`finish`] writes.
static TEXT: Mutex<String> = Mutex::new(String::new());

impl Destination {
    /// Makes it that of all reports, once and before the work that they are of.
    pub fn set(self) -> Result<()> {
        check(self.file.as_deref())?;
        // The first one stays.
        let _kept = DESTINATION.set(self);
        Ok(())
    }

    /// That of all reports: standard output, unless another one was set.
    pub fn of_all() -> &'static Self {
        DESTINATION.get_or_init(Self::default)
    }

    /// Text goes to standard output.
    pub fn shows_text(&self) -> bool {
        match self.file {
            Some(_) => !self.quiet,
            None => self.form == Output::Text,
        }
    }

    /// The file, where it gets the report in this form.
    pub fn file_of(&self, form: Output) -> Option<&Path> {
        self.file.as_deref().filter(|_| self.form == form)
    }
}

/// Makes sure that a file can be written, before the work that it is of.
pub fn check(path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let file = File::options().append(true).create(true).open(path);
    let failed = |error| Failure::file("creating", path, error);
    file.map(drop).map_err(failed)
}

/// Reports: as JSON, as the page that `draw` makes, or both.
pub fn show(report: &impl Serialize, draw: impl FnOnce() -> Page) -> Result<()> {
    let destination = Destination::of_all();
    if destination.form == Output::Json {
        write_json(report, destination.file.as_deref())?;
    }
    if destination.shows_text() || destination.form == Output::Text {
        print_page(&draw());
    }
    Ok(())
}

/// Adds a page to the report.
pub fn print_page(page: &Page) {
    say(&render::text(page));
}

/// Writes a report as JSON to a file, or to standard output.
fn write_json(report: &impl Serialize, file: Option<&Path>) -> Result<()> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    match file {
        Some(path) => write(path, &text),
        None => {
            print(&text);
            Ok(())
        }
    }
}

/// Adds text to the report, where text is wanted.
pub fn say(text: &str) {
    let destination = Destination::of_all();
    if destination.shows_text() {
        print(text);
    }
    if destination.file_of(Output::Text).is_some() {
        let mut all = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
        *all += &console::strip_ansi_codes(text);
    }
}

/// Writes what text of the report is for a file.
pub fn finish() -> Result<()> {
    let text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    match Destination::of_all().file_of(Output::Text) {
        Some(path) if !text.is_empty() => write(path, &text),
        _ => Ok(()),
    }
}

/// What a report is written to, and in which form, where it is too long to be held in memory.
pub fn writers() -> Result<Vec<(Output, Box<dyn Write>)>> {
    let destination = Destination::of_all();
    let mut writers: Vec<(Output, Box<dyn Write>)> = Vec::new();
    if let Some(path) = &destination.file {
        let file = File::create(path).map_err(|error| Failure::file("creating", path, error))?;
        writers.push((destination.form, Box::new(file)));
    }
    match destination.shows_text() {
        true => writers.push((Output::Text, Box::new(io::stdout()))),
        false if writers.is_empty() => writers.push((destination.form, Box::new(io::stdout()))),
        false => {}
    }
    Ok(writers)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| Failure::file("writing", path, error))
}

/// Prints to standard output; a reader who has gone (`| head`) is no failure.
fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _gone = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Reads a report that was stored, of this kind and no other.
pub fn load<T: DeserializeOwned>(path: &Path, schema: &str) -> Result<T> {
    /// What distinguishes the kinds.
    #[derive(Deserialize)]
    struct Kind {
        schema: String,
    }
    let no_report = |error: serde_json::Error| {
        Failure::new(
            Exit::BadInput,
            format!("{} is no report of forebay: {error}", path.display()),
            "give a file that --output-file, --inspect or --record wrote",
        )
    };
    let text = fs::read(path).map_err(|error| Failure::file("reading", path, error))?;
    let Kind { schema: found } = serde_json::from_slice(&text).map_err(no_report)?;
    if found != schema {
        return Err(Failure::input(
            &path.display().to_string(),
            format_args!("a {found:?}"),
            &format!("{schema:?} is needed here"),
            "--inspect writes a forebay.inspect, --record of `vm serve ssd` a forebay.record",
        ));
    }
    serde_json::from_slice(&text).map_err(no_report)
}
