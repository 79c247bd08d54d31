// SPDX-License-Identifier: Apache-2.0
//! What goes wrong, as the user reads it, and the exit code it ends with.

use std::error::Error;
use std::fmt;
use std::path::Path;

use miette::Diagnostic;

/// Exit codes of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, and the result is right.
    Good = 0,
    /// It could not be done: a tool is missing, this machine refuses something.
    Impossible = 1,
    /// An option, or what a file given holds, cannot be used.
    BadInput = 2,
    /// It was done, but data differ, were lost, or a transaction failed.
    BadResult = 3,
    /// A simulation made no progress any more.
    Stuck = 4,
    /// A recording is damaged.
    Damaged = 5,
    /// What was planned is infeasible.
    Infeasible = 6,
    /// A number is further off than allowed.
    OffTolerance = 7,
    /// A file or a drive cannot be read or written.
    FileFailed = 8,
    /// Stopped by Ctrl-C; the report holds what was reached.
    Interrupted = 130,
}

impl Exit {
    /// All codes and what they mean: the help and the guide list these.
    pub const ALL: [(Self, &str); 10] = [
        (Self::Good, "done, and the result is right"),
        (
            Self::Impossible,
            "could not be done: a tool is missing, or this machine refuses something",
        ),
        (
            Self::BadInput,
            "usage: an option, or what a file given holds, cannot be used",
        ),
        (
            Self::BadResult,
            "done, but data differ, were lost, or a transaction failed",
        ),
        (Self::Stuck, "a simulation made no progress any more"),
        (Self::Damaged, "a recording is damaged"),
        (Self::Infeasible, "the plan is infeasible"),
        (
            Self::OffTolerance,
            "a number is further off than the tolerance",
        ),
        (
            Self::FileFailed,
            "I/O: a file or a drive cannot be read or written",
        ),
        (
            Self::Interrupted,
            "stopped by Ctrl-C or SIGTERM; the report is of what was reached",
        ),
    ];
}

/// Cycles before and after the last progress that waves of a hang should hold.
const BEFORE_HANG: u64 = 5_000;
const AFTER_HANG: u64 = 1_000;

/// Result of a command's parts.
pub type Result<T> = std::result::Result<T, Failure>;

/// A failure: what, what to do, and with which exit code.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The field of a description that cannot be as it is.
    pub field: Option<String>,
    /// What to do.
    pub help: Option<String>,
    message: String,
}

impl Failure {
    /// A failure without a cause underneath.
    pub fn new(exit: Exit, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            exit,
            field: None,
            help: Some(help.into()),
            message: message.into(),
        }
    }

    /// Input that cannot be used: field or option, value, what it may be, what to do.
    pub fn input(field: &str, value: impl fmt::Display, limit: &str, remedy: &str) -> Self {
        let message = format!("{field} is {value}, but {limit}");
        Self {
            field: Some(field.to_owned()),
            ..Self::new(Exit::BadInput, message, remedy)
        }
    }

    /// A file that the user named and that fails.
    pub fn file(doing: &str, path: &Path, source: std::io::Error) -> Self {
        Self::new(
            Exit::FileFailed,
            format!("{doing} {}: {source}", path.display()),
            "check that the path exists, is readable and the disk has room",
        )
    }

    /// An error of a library that says itself what to do.
    fn diagnosed(exit: Exit, error: &impl Diagnostic) -> Self {
        Self {
            exit,
            field: None,
            help: error.help().map(|help| help.to_string()),
            message: error.to_string(),
        }
    }

    /// A simulation that made no progress after a cycle.
    fn stuck(error: &forebay_cosim::Error, since: u64) -> Self {
        let from = since.saturating_sub(BEFORE_HANG);
        let help = format!(
            "if a drive was told to drop commands, give them up sooner, such as with \
             --timeout-cycles 100000; else `forebay io` and `forebay bench` record waves with \
             --wave hang.fst --wave-from {from} --wave-until {}",
            since + AFTER_HANG
        );
        Self::new(Exit::Stuck, error.to_string(), help)
    }

    /// The user pressed Ctrl-C.
    pub fn interrupted() -> Self {
        Self {
            exit: Exit::Interrupted,
            field: None,
            help: None,
            message: "interrupted before there was anything to report".into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}

impl Diagnostic for Failure {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }
}

impl From<forebay_model::net::NetError> for Failure {
    fn from(error: forebay_model::net::NetError) -> Self {
        Self::new(Exit::BadInput, error.to_string(), error.remedy())
    }
}

impl From<forebay_model::ModelError> for Failure {
    fn from(error: forebay_model::ModelError) -> Self {
        let exit = match error {
            forebay_model::ModelError::File { .. } => Exit::FileFailed,
            _ => Exit::BadInput,
        };
        let help = "`forebay profiles` lists the profiles and what they hold";
        Self::new(exit, error.to_string(), help)
    }
}

impl From<forebay_rtl::Error> for Failure {
    fn from(error: forebay_rtl::Error) -> Self {
        use forebay_rtl::Error as Rtl;
        let (exit, help) = match &error {
            Rtl::Filelist { .. } | Rtl::NoFiles { .. } | Rtl::NoPort { .. } => (
                Exit::BadInput,
                "name a filelist, Verilog files or a folder with --rtl",
            ),
            Rtl::ToolFailed { .. } => (
                Exit::BadInput,
                "the RTL must pass Verilator; the first complaint is the one to mend",
            ),
            Rtl::Io { .. } => (
                Exit::FileFailed,
                "check that the path exists and can be used: of --rtl, its filelists, or --wave",
            ),
            Rtl::Model { .. } => (
                Exit::BadResult,
                "record waves with --wave FILE.fst and look at this cycle",
            ),
            Rtl::SourcesChange { .. } => (
                Exit::BadInput,
                "stop what writes to the sources, then start again",
            ),
            Rtl::NoCache => (
                Exit::BadInput,
                "set $FOREBAY_CACHE to a folder that only you can write to",
            ),
            _ => (Exit::Impossible, "`make setup` installs what is missing"),
        };
        Self::new(exit, error.to_string(), help)
    }
}

impl From<forebay_cosim::Error> for Failure {
    fn from(error: forebay_cosim::Error) -> Self {
        use forebay_cosim::Error as Cosim;
        let (exit, help) = match error {
            Cosim::Stuck { cycle, idle, .. } => return Self::stuck(&error, cycle - idle),
            Cosim::Rtl(error) => return error.into(),
            Cosim::Downstream(error) => match error.downcast::<forebay_vm::Error>() {
                Ok(error) => return (*error).into(),
                Err(error) => {
                    let help = "report this with the command line";
                    return Self::new(Exit::Impossible, error.to_string(), help);
                }
            },
            Cosim::Model(error) => return error.into(),
            Cosim::Driver(failure) => return failure.into(),
            Cosim::Interrupted | Cosim::Bus(forebay_driver::BusError::Interrupted) => {
                return Self::interrupted();
            }
            Cosim::MissingPin { .. } | Cosim::WrongPin { .. } => (
                Exit::BadInput,
                "--rtl takes a top module with the pins of fb_top_onchip or of SNAcc's streamer; \
                 name it with --top",
            ),
            Cosim::Unmarked { .. } => (
                Exit::FileFailed,
                "check the room and the permissions of the images' folder, then close the \
                 recording: `forebay store repair` of all images but that drive's",
            ),
            Cosim::NoRtl { .. } => (
                Exit::BadInput,
                "name a filelist (.f), a folder, or Verilog files with --rtl",
            ),
            Cosim::Protocol { .. } | Cosim::PageInUse { .. } | Cosim::Assertion { .. } => (
                Exit::BadResult,
                "this is a defect of the RTL: record waves with --wave FILE.fst --wave-from a \
                 little before this cycle",
            ),
            Cosim::HostStuck { .. } => (
                Exit::Stuck,
                "if the drive was told to drop commands, so it must be; else report this with the \
                 command line",
            ),
            Cosim::Data { .. } => (Exit::FileFailed, "check the file and the room on its disk"),
            Cosim::Setting { .. } => (Exit::BadInput, "choose another value"),
            _ => (Exit::Impossible, "report this with the command line"),
        };
        Self::new(exit, error.to_string(), help)
    }
}

impl From<forebay_net::Error> for Failure {
    fn from(error: forebay_net::Error) -> Self {
        use forebay_net::Error as Net;
        let exit = match error {
            Net::File { .. } => Exit::FileFailed,
            Net::Setting { .. } | Net::NoCapture { .. } | Net::Damaged { .. } => Exit::BadInput,
            Net::Refused { .. }
            | Net::Gone { .. }
            | Net::Unlisted { .. }
            | Net::NoWay { .. }
            | Net::Unsent { .. } => Exit::Impossible,
        };
        Self::diagnosed(exit, &error)
    }
}

impl From<forebay_pipeline::Error> for Failure {
    fn from(error: forebay_pipeline::Error) -> Self {
        use forebay_pipeline::Error as Pipeline;
        match error {
            Pipeline::Model(error) => error.into(),
            Pipeline::Rtl(error) => error.into(),
            Pipeline::File { .. } => Self::diagnosed(Exit::FileFailed, &error),
            _ => Self::diagnosed(Exit::BadInput, &error),
        }
    }
}

impl From<forebay_draw::Error> for Failure {
    fn from(error: forebay_draw::Error) -> Self {
        Self::new(Exit::Impossible, error.to_string(), "report this defect")
    }
}

impl From<forebay_store::Error> for Failure {
    fn from(error: forebay_store::Error) -> Self {
        use forebay_store::Error as Store;
        let exit = match error {
            Store::Interrupted => return Self::interrupted(),
            Store::Recording { .. } | Store::Setting { .. } => Exit::BadInput,
            Store::File { .. } | Store::Disk { .. } | Store::Source(_) | Store::Sink(_) => {
                Exit::FileFailed
            }
        };
        Self::new(exit, error.to_string(), error.remedy())
    }
}

impl From<forebay_vm::guest::Error> for Failure {
    fn from(error: forebay_vm::guest::Error) -> Self {
        use forebay_vm::guest::Error as Guest;
        let exit = match error {
            Guest::Interrupted => return Self::interrupted(),
            Guest::Setting { .. } => Exit::BadInput,
            Guest::Io { .. } => Exit::FileFailed,
            Guest::Archive { .. } => Exit::BadResult,
            _ => Exit::Impossible,
        };
        Self::new(exit, error.to_string(), error.remedy())
    }
}

impl From<forebay_vm::root::Error> for Failure {
    fn from(error: forebay_vm::root::Error) -> Self {
        let exit = match error {
            forebay_vm::root::Error::File { .. } => Exit::FileFailed,
            _ => Exit::Impossible,
        };
        Self::new(exit, error.to_string(), error.remedy())
    }
}

impl From<forebay_vm::Error> for Failure {
    fn from(error: forebay_vm::Error) -> Self {
        use forebay_vm::Error as Vm;
        let (exit, help) = match error {
            Vm::Qemu(error) => return error.into(),
            Vm::Listen { .. } | Vm::InUse { .. } => (Exit::BadInput, "name another --socket"),
            Vm::Device(_) => (Exit::BadResult, "the device is at fault, not the guest"),
            _ => (
                Exit::Impossible,
                "see what the virtual machine says of this device",
            ),
        };
        Self::new(exit, error.to_string(), help)
    }
}

impl From<forebay_vfio::Error> for Failure {
    fn from(error: forebay_vfio::Error) -> Self {
        let help = error.remedy();
        Self::new(Exit::Impossible, error.to_string(), help)
    }
}

impl From<forebay_driver::Failure> for Failure {
    fn from(failure: forebay_driver::Failure) -> Self {
        if matches!(
            *failure.error,
            forebay_driver::Error::Bus(forebay_driver::BusError::Interrupted)
        ) {
            return Self::interrupted();
        }
        let help = failure.remedy().to_owned();
        let mut message = failure.to_string();
        for step in &failure.before {
            message.push_str(&format!("\n  done before: {}: {}", step.name, step.found));
        }
        Self::new(Exit::BadResult, message, help)
    }
}

impl From<forebay_driver::Error> for Failure {
    fn from(error: forebay_driver::Error) -> Self {
        if let forebay_driver::Error::Bus(forebay_driver::BusError::Interrupted) = error {
            return Self::interrupted();
        }
        Self::new(Exit::BadResult, error.to_string(), error.remedy())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::new(
            Exit::BadInput,
            format!("this is no report of forebay: {error}"),
            "give a file that --output-file or --inspect wrote",
        )
    }
}
