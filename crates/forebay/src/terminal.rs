// SPDX-License-Identifier: Apache-2.0
//! The terminal: progress on standard error, only where that is one, colours, and Ctrl-C.

use std::env;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::{ColorChoice, ValueEnum};
use forebay_app::progress::{self, Amount, Observer, Task};
use forebay_app::{Exit, interrupt};
use forebay_draw::text::seconds;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use miette::MietteHandlerOpts;

use crate::args::GlobalArgs;

/// How often a task says how far it is where there is no terminal to draw on.
const EACH: Duration = Duration::from_secs(60);

/// Colours as the words of the command line say: help is drawn before these are read.
pub fn wanted_color() -> ColorChoice {
    let words: Vec<_> = env::args().take_while(|word| word != "--").collect();
    let separate = words.windows(2).filter(|pair| pair[0] == "--color");
    let separate = separate.map(|pair| pair[1].as_str());
    let joined = words
        .iter()
        .filter_map(|word| word.strip_prefix("--color="));
    let named = separate.chain(joined).last().unwrap_or_default();
    ColorChoice::from_str(named, true).unwrap_or_default()
}

/// Sets colours and progress up.
pub fn set_up(options: &GlobalArgs) {
    let colors = match options.color {
        ColorChoice::Auto => None,
        ColorChoice::Always => Some(true),
        ColorChoice::Never => Some(false),
    };
    if let Some(on) = colors {
        owo_colors::set_override(on);
        console::set_colors_enabled(on);
        console::set_colors_enabled_stderr(on);
        let style = MietteHandlerOpts::new().color(on);
        let hook = move |_: &_| Box::new(style.clone().build()) as _;
        // The first one stays.
        let _kept = miette::set_hook(Box::new(hook));
    }
    if !options.quiet {
        progress::set_observer(Box::new(Terminal {
            verbose: options.verbose,
        }));
    }
}

/// Draws a line for each task, gone when the task has ended.
#[derive(Debug)]
struct Terminal {
    /// Says also in words when a task begins, and how long it took.
    verbose: bool,
}

#[derive(Debug)]
struct Line {
    bar: ProgressBar,
    /// When it last said how far it is, in a log.
    said: Mutex<Instant>,
    /// When it began, where it says how long it took.
    began: Option<Instant>,
}

impl Line {
    /// Says something in a line of its own.
    fn say(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }
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
        let line = Line {
            bar,
            said: Mutex::new(Instant::now()),
            began: self.verbose.then(Instant::now),
        };
        if self.verbose {
            line.say(&format!("{name} …"));
        }
        Arc::new(line)
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
        if self.began.is_some() {
            self.say(&format!("{name} …"));
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if let Some(began) = self.began {
            let took = seconds(began.elapsed().as_secs_f64());
            self.say(&format!("{}: {took}", self.bar.message()));
        }
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
