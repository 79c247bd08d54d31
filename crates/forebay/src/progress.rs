// SPDX-License-Identifier: Apache-2.0
//! Progress on the terminal: on standard error, and only where that is one.

use std::time::Duration;

use forebay_rtl::Progress as Build;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line that shows what goes on, gone when dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// One that is not shown.
    pub fn hidden() -> Self {
        let bar = ProgressBar::hidden();
        Self { bar }
    }

    /// A spinner with a text.
    pub fn stage(text: &str) -> Self {
        // The stderr target hides itself where standard error is no terminal.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(style("{spinner:.cyan} {msg:.dim} {elapsed:.dim}"));
        bar.set_message(text.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar }
    }

    /// A bar over this many bytes.
    pub fn bytes(text: &str, total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        bar.set_style(
            style("{msg:.dim} {bar:32.cyan/blue} {bytes}/{total_bytes} {eta:.dim}")
                .progress_chars("━━─"),
        );
        bar.set_message(text.to_owned());
        Self { bar }
    }

    /// A bar over this many things.
    pub fn count(text: &str, total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        bar.set_style(
            style("{msg:.dim} {bar:32.cyan/blue} {pos}/{len} {eta:.dim}").progress_chars("━━─"),
        );
        bar.set_message(text.to_owned());
        Self { bar }
    }

    /// How far it has come.
    pub fn at(&self, position: u64) {
        self.bar.set_position(position);
    }

    /// Moves the bar from elsewhere.
    pub fn handle(&self) -> ProgressBar {
        self.bar.clone()
    }

    /// Shows a step of building the RTL.
    pub fn build(&self, step: Build) {
        match step {
            Build::Cached => {}
            Build::Verilating => self.bar.set_message("RTL to C++ (once for this RTL)"),
            Build::Compiling { done, of } => {
                self.bar.set_message(format!(
                    "C++ to a library (once for this RTL), {done} of {of}"
                ));
            }
            Build::Linking => self.bar.set_message("linking the library"),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
