// SPDX-License-Identifier: Apache-2.0
//! The terminal: progress on standard error, only where that is one, and Ctrl-C.

use std::sync::Arc;
use std::time::Duration;

use forebay_app::progress::{Amount, Observer, Task};
use forebay_app::{Exit, interrupt};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Draws a line for each task, gone when the task has ended.
#[derive(Debug)]
pub struct Terminal;

#[derive(Debug)]
struct Line(ProgressBar);

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
        Arc::new(Line(bar))
    }
}

impl Task for Line {
    fn at(&self, position: u64) {
        self.0.set_position(position);
    }

    fn rename(&self, name: &str) {
        self.0.set_message(name.to_owned());
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.0.finish_and_clear();
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
