// SPDX-License-Identifier: Apache-2.0
//! The terminal: progress on standard error, only where that is one, and Ctrl-C.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use forebay_app::progress::{Amount, Observer, Task};
use forebay_app::{Exit, interrupt};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a task says how far it is where there is no terminal to draw on.
const EACH: Duration = Duration::from_secs(60);

/// Draws a line for each task, gone when the task has ended.
#[derive(Debug)]
pub struct Terminal;

#[derive(Debug)]
struct Line {
    bar: ProgressBar,
    /// When it last said how far it is, in a log.
    said: Mutex<Instant>,
}

impl Observer for Terminal {
    fn begin(&self, name: &str, amount: Amount) -> Arc<dyn Task> {
        let (total, template) = match amount {
            Amount::Unknown => (None, "{spinner:.cyan} {msg:.dim} {elapsed:.dim}"),
            Amount::Bytes(total) => (
                Some(total),
                "{msg:.dim} {bar:32.cyan/blue} {bytes}/{total_bytes} {eta:.dim}",
            ),
            Amount::Count(total) => (
                Some(total),
                "{msg:.dim} {bar:32.cyan/blue} {pos}/{len} {eta:.dim}",
            ),
        };
        // The stderr target hides itself where standard error is no terminal.
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("━━─"));
        bar.set_message(name.to_owned());
        if total.is_none() {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        let said = Mutex::new(Instant::now());
        Arc::new(Line { bar, said })
    }

    fn step(&self, name: &str) {
        if !std::io::stderr().is_terminal() {
            eprintln!("{name}");
        }
    }
}

impl Task for Line {
    fn at(&self, position: u64) {
        self.bar.set_position(position);
        if !self.bar.is_hidden() {
            return;
        }
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(total), true) = (self.bar.length(), said.elapsed() >= EACH) {
            *said = Instant::now();
            eprintln!("{}: {position} of {total}", self.bar.message());
        }
    }

    fn rename(&self, name: &str) {
        self.bar.set_message(name.to_owned());
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Begins to listen to Ctrl-C and SIGTERM: the first asks for an end with a report, the second ends
/// at once.
pub fn listen() {
    let handler = || {
        if interrupt::ask() {
            std::process::exit(Exit::Interrupted as i32);
        }
    };
    // Without a handler Ctrl-C still ends the program, only without a report.
    if let Err(error) = ctrlc::set_handler(handler) {
        eprintln!("warning: Ctrl-C will give no report: {error}");
    }
}
