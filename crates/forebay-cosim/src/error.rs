// SPDX-License-Identifier: Apache-2.0
//! What can go wrong in a co-simulation.

use std::path::PathBuf;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A rule of AXI that the RTL broke.
    pub(crate) fn protocol(cycle: u64, channel: &'static str, what: impl Into<String>) -> Self {
        Self::Protocol {
            cycle,
            channel,
            what: what.into(),
        }
    }
}

/// Everything that can go wrong here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The RTL could not be built or loaded.
    #[error(transparent)]
    Rtl(#[from] forebay_rtl::Error),
    /// What is below the root port, which is no model, failed.
    #[error("below the root port: {0}")]
    Downstream(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A model could not be made.
    #[error(transparent)]
    Model(#[from] forebay_model::ModelError),
    /// The machine under the driver failed.
    #[error(transparent)]
    Bus(#[from] forebay_driver::BusError),
    /// The driver could not bring the devices up or down.
    #[error(transparent)]
    Driver(#[from] forebay_driver::Failure),
    /// The driver refused a command, or the drive did.
    #[error(transparent)]
    Command(forebay_driver::Error),
    /// A drive is lost, and what [`System::on_loss`](crate::System::on_loss) does then failed.
    #[error("drive {drive} is lost, and the superblocks of the others cannot be written: {source}")]
    Unmarked {
        /// Its number.
        drive: u8,
        /// What went wrong.
        source: std::io::Error,
    },
    /// The RTL's pins are not those of a streamer.
    #[error(
        "the top module '{top}' has no pin '{pin}' (nor '{other}'); the pins of fb_top_onchip or \
         of SNAcc's streamer are needed, see docs/explanation/cosim.md"
    )]
    MissingPin {
        /// Top module.
        top: String,
        /// The pin under our name.
        pin: String,
        /// The pin under SNAcc's name.
        other: String,
    },
    /// A transaction was submitted to RTL whose streams belong to its host port.
    #[error(
        "the top module '{top}' has no user streams: its host port has them, write and read through \
         that (forebay_driver::HostPort), or load fb_top_onchip"
    )]
    NoStreams {
        /// Top module.
        top: String,
    },
    /// A pin has another width or direction than it must have.
    #[error("pin '{pin}' of '{top}' is {found}, but must be {expected}")]
    WrongPin {
        /// Top module.
        top: String,
        /// The pin.
        pin: String,
        /// What it is.
        found: String,
        /// What it must be.
        expected: String,
    },
    /// A path given as RTL holds no streamer.
    #[error("no RTL at {}: {what}", .path.display())]
    NoRtl {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The RTL broke a rule of AXI.
    #[error("cycle {cycle}: the RTL breaks the AXI protocol on {channel}: {what}")]
    Protocol {
        /// When.
        cycle: u64,
        /// On which channel.
        channel: &'static str,
        /// Which rule.
        what: String,
    },
    /// A page of payload was used by streamer and drive at once.
    #[error("cycle {cycle}: command {cid} of drive {drive}, page {page:#x}: {what}")]
    PageInUse {
        /// When.
        cycle: u64,
        /// The drive.
        drive: usize,
        /// The command that the page is, or would be, held by.
        cid: u16,
        /// Its address, as the memory's own port has it; on chip, its offset in the data window.
        page: u64,
        /// Who does what.
        what: &'static str,
    },
    /// An assertion in the RTL failed, or it stopped by itself.
    #[error("cycle {cycle}: {source}")]
    Assertion {
        /// When.
        cycle: u64,
        /// The RTL's own message.
        source: forebay_rtl::Error,
    },
    /// No transaction came nearer to its end for too long: see [`crate::Config::watchdog`].
    #[error("cycle {cycle}: no progress for {idle} cycles; {waiting}")]
    Stuck {
        /// When it was noticed.
        cycle: u64,
        /// Cycles since a beat, an entry, a doorbell, payload or a frame last moved, a drive had
        /// something scheduled, or a source had nothing to send yet. `cycle - idle` is where waves of
        /// the hang should begin.
        idle: u64,
        /// What waits for what: transactions, ports, commands that drives hold.
        waiting: String,
    },
    /// Commands of the host have not completed for too long.
    #[error(
        "{outstanding} commands of the host have not completed for {seconds} simulated seconds"
    )]
    HostStuck {
        /// How many.
        outstanding: usize,
        /// For how long.
        seconds: u64,
    },
    /// Data for a write could not be read, or read data not be written away.
    #[error("transaction {id}: {what}: {source}")]
    Data {
        /// Which transaction.
        id: u64,
        /// What was being done.
        what: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The contents of on-board DRAM are in a file, and that fails.
    #[error("the file that holds the contents of on-board DRAM: {0}")]
    Memory(std::io::Error),
    /// The contents of a drive cannot be read.
    #[error("the contents of a drive: {0}")]
    Medium(std::io::Error),
    /// On-board DRAM is mapped past the RTL, and the RTL was given other addresses in it.
    #[error(
        "register {register} was set to {value:#x}, but payload that is mapped has its place at \
         {place:#x}: let the driver choose it, or trap the payload"
    )]
    Displaced {
        /// The register.
        register: &'static str,
        /// What was written there.
        value: u64,
        /// Where it has to be.
        place: u64,
    },
    /// The user wants to stop; statistics up to here are valid.
    #[error("interrupted")]
    Interrupted,
    /// A setting that cannot work.
    #[error("{field} = {value}, but {limit}")]
    Setting {
        /// The setting.
        field: &'static str,
        /// Its value.
        value: String,
        /// What it may be and what to do.
        limit: &'static str,
    },
}
