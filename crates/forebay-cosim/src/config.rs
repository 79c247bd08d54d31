// SPDX-License-Identifier: Apache-2.0
//! What a co-simulation consists of.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use forebay_driver::{Options, Outbound};
use forebay_model::net::Network;
use forebay_model::{DramProfile, FaultPlan, Medium, Profile, SsdProfile, Time};
use forebay_rtl::{Library, Source};

use crate::error::{Error, Result};

/// Period of the core clock, 300 MHz, in picoseconds.
pub const CLOCK_PERIOD: Time = 3333;

/// How often and how long a port of a model pauses. A paused source offers nothing, a paused sink
/// accepts nothing. Follows from the seed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stall {
    /// Chance that a pause begins, for each cycle in which none is under way: 0 (never) to 1.
    pub chance: f64,
    /// Longest pause in cycles; each is 1 to this long.
    pub longest: u32,
}

impl Stall {
    /// No pauses.
    pub const NONE: Self = Self {
        chance: 0.0,
        longest: 0,
    };

    /// Pauses that begin with probability `chance` and last up to `longest` cycles.
    #[must_use]
    pub const fn new(chance: f64, longest: u32) -> Self {
        Self { chance, longest }
    }
}

macro_rules! stalls {
    ($($(#[$doc:meta])* $port:ident,)*) => {
        /// Pauses of every port.
        #[derive(Debug, Clone, Copy, PartialEq, Default)]
        pub struct Stalls {
            $($(#[$doc])* pub $port: Stall,)*
        }

        impl Stalls {
            /// The same at every port.
            #[must_use]
            pub const fn everywhere(stall: Stall) -> Self {
                Self { $($port: stall,)* }
            }

            /// Longest pause of any port that does not pause for ever.
            fn longest(&self) -> u32 {
                let all = [$(self.$port,)*];
                let ends = all.into_iter().filter(|stall| stall.chance < 1.0);
                ends.map(|stall| stall.longest).max().unwrap_or(0)
            }
        }
    };
}

stalls! {
    /// Source of write data.
    write,
    /// Sink of write responses.
    response,
    /// Source of read commands.
    command,
    /// Sink of read data.
    read,
    /// Write address and write data at the AXI4 targets.
    window_write,
    /// Read address there.
    window_read,
    /// Acceptance of read data and write responses of them.
    window_answer,
    /// Acceptance of doorbell writes.
    doorbell,
    /// Requests of the master to on-board DRAM or host memory: acceptance of addresses and data.
    dram,
    /// Its answers: read data and write responses.
    dram_answer,
    /// Requests of that master to host memory: delay of each, or of its answer.
    host,
}

/// Addresses at which on-board DRAM answers with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DramFault {
    /// Of writes, which then change nothing; otherwise of reads.
    pub write: bool,
    /// Addresses on the memory's side: writes of the streamer from 0, reads from 64 MiB.
    pub range: Range<u64>,
}

/// Recording of waves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waves {
    /// The FST file.
    pub path: PathBuf,
    /// First cycle recorded.
    pub from: u64,
    /// First cycle no longer recorded; none: to the end.
    pub until: Option<u64>,
}

/// A drive beside the first.
#[derive(Debug)]
pub struct Drive {
    /// What it is.
    pub profile: SsdProfile,
    /// What it stores on; none: memory.
    pub medium: Option<Medium>,
    /// What it does wrong, and when.
    pub faults: FaultPlan,
}

impl Drive {
    /// A sound one that stores in memory.
    #[must_use]
    pub fn new(profile: SsdProfile) -> Self {
        Self {
            profile,
            medium: None,
            faults: FaultPlan::default(),
        }
    }
}

/// A co-simulation: the RTL, what surrounds it, and how.
///
/// ```no_run
/// use forebay_cosim::{Config, System, rtl};
/// use forebay_model::Profile;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let config = Config::new(rtl::onchip(".".as_ref(), 64, 1024), Profile::builtin("ideal")?);
/// let mut system = System::new(config, &mut |_| {})?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Config {
    /// The RTL; [`crate::rtl`] makes it. Its `trace` is set where waves are asked for.
    pub rtl: Source,
    /// The same, built before: nothing is looked for or compiled then.
    pub library: Option<Library>,
    /// SSD and fabric.
    pub profile: Profile,
    /// Decides everything that is random.
    pub seed: u64,
    /// Period of the clock in picoseconds.
    pub clock_period: Time,
    /// What the driver decides at bring-up: entries of the queue, time-out, retries and the like.
    pub driver: Options,
    /// Simulate both halves of each clock cycle. Needed for RTL whose outputs follow inputs within a
    /// cycle, which ours do not; slower.
    pub half_cycles: bool,
    /// Pauses at the ports.
    pub stalls: Stalls,
    /// Recording of waves.
    pub waves: Option<Waves>,
    /// What the SSD stores on; none: memory.
    pub medium: Option<Medium>,
    /// What the SSD does wrong, and when.
    pub faults: FaultPlan,
    /// Further drives; [`Options::array`] says what becomes of them.
    pub more_drives: Vec<Drive>,
    /// Cycles without progress after which a run ends with [`Error::Stuck`]. Progress is a beat of
    /// the user's streams, a doorbell, a submission or completion entry, payload, a frame; of our
    /// pause frames only 400 in a row count, and accesses to registers do not. What may take long by
    /// right is added: pauses of [`Config::stalls`], the driver's time-out of a command if it is 100
    /// million cycles or less, what a drive has scheduled, a source that has nothing to send yet.
    pub watchdog: u64,
    /// Bytes that were never written, and payload that is no longer valid, hold patterns in the place of
    /// zeros: media without a file, on-board DRAM, the payload buffer on chip, payload in host
    /// memory. So data that come from the wrong place or too late differ. [`System::unwritten`] says
    /// what a read finds where nothing was written.
    ///
    /// [`System::unwritten`]: crate::System::unwritten
    pub poison: bool,
    /// Bytes of host memory.
    pub host_memory: usize,
    /// On-board DRAM, for RTL that has its payload there; none: one channel of DDR4-2400.
    pub dram: Option<DramProfile>,
    /// Where on-board DRAM answers with errors.
    pub dram_faults: Vec<DramFault>,
    /// Where the bridge's apertures, and on-board DRAM, lie among the addresses of the RTL: what it
    /// subtracts from them. The driver is told by [`Options::fpga`].
    pub outbound: Outbound,
    /// What is beyond the MAC's pins, for RTL with a network side; none: no link.
    pub network: Option<Network>,
    /// Period of the clock of processing elements that have their own, in ps; none: it stands.
    pub element_period: Option<Time>,
}

impl Config {
    /// This RTL and profile, and otherwise: seed 1, 300 MHz, no pauses, no waves, medium in memory.
    #[must_use]
    pub fn new(rtl: Source, profile: Profile) -> Self {
        Self {
            rtl,
            library: None,
            profile,
            seed: 1,
            clock_period: CLOCK_PERIOD,
            driver: Options::default(),
            half_cycles: false,
            stalls: Stalls::default(),
            waves: None,
            medium: None,
            faults: FaultPlan::default(),
            more_drives: Vec::new(),
            watchdog: 2_000_000,
            poison: false,
            host_memory: 160 << 20,
            dram: None,
            dram_faults: Vec::new(),
            outbound: Outbound::default(),
            network: None,
            element_period: None,
        }
    }
}

/// Pauses that may follow one another without a beat between them: that there are more has a chance
/// of 2e-6 where 19 of 20 cycles begin one, the most that the command line allows.
const PAUSES: u64 = 256;
/// A longer time-out of commands is not waited for: the driver's default, 5 s, is for hardware.
const TIMEOUT_MOST: u64 = 100_000_000;

impl Config {
    /// Cycles without progress that are right at most.
    pub(crate) fn patience(&self) -> u64 {
        let timeout = u64::from(self.driver.timeout_cycles);
        let timeout = if timeout > TIMEOUT_MOST { 0 } else { timeout };
        let pauses = PAUSES * u64::from(self.stalls.longest());
        self.watchdog.saturating_add(timeout + pauses)
    }
}

/// RTL to load.
pub mod rtl {
    use super::{Error, Path, PathBuf, Result, Source, fs};

    /// Pages that a resting direction keeps, where there are enough.
    const RESERVE: u32 = 64;

    /// Our streamer with on-chip buffer: `root` is the folder that holds `rtl/`.
    #[must_use]
    pub fn onchip(root: &Path, queue_depth: u32, pages: u32) -> Source {
        of_pages(ours(root, "onchip", queue_depth), pages)
    }

    /// Our streamer with its payload in on-board DRAM.
    #[must_use]
    pub fn dram(root: &Path, queue_depth: u32) -> Source {
        ours(root, "dram", queue_depth)
    }

    /// Our streamer with its payload in host memory, of which there must be 128 MiB for it.
    #[must_use]
    pub fn hostdram(root: &Path, queue_depth: u32) -> Source {
        ours(root, "hostdram", queue_depth)
    }

    /// [`onchip`] with a host port in place of the user's streams. `host_pages` is the number of
    /// staging pages for both directions, 16 to 1024.
    #[must_use]
    pub fn host(root: &Path, queue_depth: u32, pages: u32, host_pages: u32) -> Source {
        of_pages(ours(root, "host", queue_depth), pages).parameter("HostPages", host_pages)
    }

    /// [`dram`] with a host port.
    #[must_use]
    pub fn host_dram(root: &Path, queue_depth: u32, host_pages: u32) -> Source {
        ours(root, "host_dram", queue_depth).parameter("HostPages", host_pages)
    }

    /// [`hostdram`] with a host port.
    #[must_use]
    pub fn host_hostdram(root: &Path, queue_depth: u32, host_pages: u32) -> Source {
        ours(root, "host_hostdram", queue_depth).parameter("HostPages", host_pages)
    }

    /// [`onchip`] with the network side in the place of the user's streams. The chain of processing
    /// elements is still to be added: `rtl/pe/pe.f` for none.
    #[must_use]
    pub fn net(root: &Path, queue_depth: u32, pages: u32) -> Source {
        of_pages(ours(root, "net", queue_depth), pages)
    }

    /// [`dram`] with the network side, as [`net`].
    #[must_use]
    pub fn net_dram(root: &Path, queue_depth: u32) -> Source {
        ours(root, "net_dram", queue_depth)
    }

    /// [`hostdram`] with the network side, as [`net`].
    #[must_use]
    pub fn net_hostdram(root: &Path, queue_depth: u32) -> Source {
        ours(root, "net_hostdram", queue_depth)
    }

    fn ours(root: &Path, name: &str, queue_depth: u32) -> Source {
        Source::new(format!("fb_top_{name}"))
            .filelist(root.join(format!("rtl/top/{name}.f")))
            .root(root)
            .parameter("QueueDepth", queue_depth)
    }

    fn of_pages(source: Source, pages: u32) -> Source {
        // The RTL refuses to keep more than half of its pages for one direction.
        let reserve = RESERVE.min(pages / 2);
        let source = source.parameter("Pages", pages);
        source.parameter("ReservePages", reserve)
    }

    /// Any RTL with the pins of ours or of SNAcc's streamer: a filelist (`.f`, paths in it relative
    /// to its own folder or one above it), a Verilog file, or a folder of Verilog files. Without
    /// `top`, the last module that has the pins of a streamer is taken.
    ///
    /// # Errors
    /// When there is nothing, or no module with such pins.
    pub fn third_party(path: &Path, top: Option<&str>) -> Result<Source> {
        let nothing = |what: &str| Error::NoRtl {
            path: path.to_owned(),
            what: what.to_owned(),
        };
        let source = Source::new(top.unwrap_or_default());
        let mut source = if path.is_dir() {
            source.files_of_folder(path)?
        } else if !path.exists() {
            return Err(nothing("there is no such file or folder"));
        } else if path.extension().is_some_and(|e| e == "f") {
            with_filelist(source, path)?
        } else {
            source.file(path)
        };
        if source.top.is_empty() {
            let files = source.all_files()?;
            source.top = files.iter().rev().find_map(streamer_in).ok_or_else(|| {
                nothing("no module has the pins S_AXIS_WRITE_tvalid or s_axis_wr_tvalid")
            })?;
        }
        Ok(source)
    }

    /// With a filelist whose paths start from its own folder, or else from the nearest folder above
    /// it from which all of them exist.
    fn with_filelist(source: Source, list: &Path) -> Result<Source> {
        let list = list.canonicalize().unwrap_or_else(|_| list.to_owned());
        let source = source.filelist(&list);
        let from = |folder: &Path| source.clone().root(folder);
        let mut folders = list.ancestors().skip(1);
        let found = folders.find(|folder| from(folder).all_files().is_ok());
        match (found, list.parent()) {
            (Some(folder), _) => Ok(from(folder)),
            // What is said to be missing is then what is missing beside the list.
            (None, parent) => {
                let beside = from(parent.unwrap_or(Path::new("")));
                beside.all_files()?;
                Ok(beside)
            }
        }
    }

    /// The module of a file that declares the pins of a streamer.
    fn streamer_in(file: &PathBuf) -> Option<String> {
        let text = fs::read_to_string(file).ok()?;
        let pin = ["S_AXIS_WRITE_tvalid", "s_axis_wr_tvalid"]
            .iter()
            .find_map(|p| text.find(p))?;
        // The last module that begins before the first mention, or else the first that follows
        // (some generators list the pins in a comment at the top).
        let module = |text: &str| {
            let line = text.trim_start().strip_prefix("module")?;
            let name = line
                .trim_start()
                .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .next()?;
            (!name.is_empty()).then(|| name.to_owned())
        };
        text[..pin]
            .lines()
            .rev()
            .find_map(module)
            .or_else(|| text[pin..].lines().find_map(module))
    }
}
