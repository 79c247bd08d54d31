// SPDX-License-Identifier: Apache-2.0
//! Options that say on which machine something runs: drive, RTL, seed, waves.

use std::ffi::OsString;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum, arg, value_parser,
};
use forebay_cosim::{Config, DramFault, Drive, Waves, rtl};
use forebay_model::{DramProfile, Profile, Refresh, SsdProfile};
use forebay_pipeline::Memory;
use forebay_rtl::Source;
use forebay_spec::streamer::window;

use super::array::{self, ArrayArgs};
use super::values::FaultOption;
use super::words::Words;
use super::{DefaultProfile, third_party, values};
use crate::failure::{Exit, Failure, Result};
use crate::home;

/// Queue depths that the RTL knows.
const DEPTHS: std::ops::RangeInclusive<i64> = 2..=1024;
/// Windows that the RTL knows, besides being powers of two.
const WINDOWS: std::ops::RangeInclusive<u32> = 16..=1024;
/// Pages of the host port's staging memory.
const HOST_PAGES: u32 = 64;
/// Options that are of a simulated machine alone.
const SIMULATED: [&str; 14] = [
    "profile",
    "reorder",
    "seed",
    "memory",
    "buffer",
    "dram",
    "refresh",
    "channels",
    "rtl",
    "top",
    "param",
    "wave",
    "wave-from",
    "wave-until",
];

/// Reads where the streamer keeps its payload.
pub fn memory() -> impl TypedValueParser<Value = Memory> {
    let named = |memory: Memory| {
        PossibleValue::new(memory.name()).help(match memory {
            Memory::Onchip => "4 MiB in the FPGA",
            Memory::Dram => "On-board DRAM, 64 MiB for each direction",
            Memory::Host => "Host memory, reached over PCIe, 64 MiB for each direction",
        })
    };
    PossibleValuesParser::new(Memory::ALL.map(named)).try_map(|name| {
        let mut all = Memory::ALL.into_iter();
        all.find(|memory| memory.name() == name)
            .ok_or("there is no such memory")
    })
}

/// Our card with its payload in this memory, whose streams software feeds through a host port: in
/// this checkout, of this depth, with so many pages on chip.
pub fn card_rtl(memory: Memory, root: &Path, depth: u32, pages: u32) -> Source {
    match memory {
        Memory::Onchip => rtl::host(root, depth, pages, HOST_PAGES),
        Memory::Dram => rtl::host_dram(root, depth, HOST_PAGES),
        Memory::Host => rtl::host_hostdram(root, depth, HOST_PAGES),
    }
}

/// Bytes of that card which can be mapped: payload, and the port's staging memory.
pub fn mapped_bytes(memory: Memory, pages: u32) -> u64 {
    let payload = match memory {
        Memory::Onchip => u64::from(pages) * window::PAGE_BYTES,
        Memory::Dram => window::DRAM_WINDOW_BYTES,
        Memory::Host => 0,
    };
    payload + u64::from(HOST_PAGES) * window::PAGE_BYTES
}

/// When on-board DRAM refreshes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RefreshArg {
    /// One each interval
    OnTime,
    /// Each put off by a random part of what the standard allows
    Random,
    /// As many as may be postponed are, then all follow at once
    Late,
    /// None: to see what it costs
    Never,
}

impl RefreshArg {
    /// As it is called on the command line.
    const fn name(self) -> &'static str {
        match self {
            Self::OnTime => "on-time",
            Self::Random => "random",
            Self::Late => "late",
            Self::Never => "never",
        }
    }
}

impl From<RefreshArg> for Refresh {
    fn from(refresh: RefreshArg) -> Self {
        match refresh {
            RefreshArg::OnTime => Self::Regular,
            RefreshArg::Random => Self::Jitter,
            RefreshArg::Late => Self::Bunched,
            RefreshArg::Never => Self::Never,
        }
    }
}

/// On which machine something runs.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineArgs<P> {
    /// Names of profiles, or TOML files: one, or one for each drive.
    pub profiles: Vec<String>,
    /// Several drives.
    pub array: ArrayArgs,
    /// Entries of the queues; none: as many as the RTL has.
    pub queue_depth: Option<u32>,
    /// Where the payload is.
    pub memory: Memory,
    /// Pages of a unit of the on-chip buffer, as their binary logarithm.
    pub unit_shift: Option<u32>,
    /// Name of a profile of on-board DRAM, or a TOML file.
    pub dram: Option<String>,
    /// When it refreshes.
    pub refresh: Option<RefreshArg>,
    /// Its channels, and the bytes after which the next follows.
    pub channels: Option<(u32, Option<u64>)>,
    /// Pages of the reorder window.
    pub reorder: u32,
    /// Decides everything random.
    pub seed: u64,
    /// RTL to use in place of ours.
    pub rtl: Vec<PathBuf>,
    /// Its top module.
    pub top: Option<String>,
    /// Parameters of the top module.
    pub parameters: Vec<(String, String)>,
    /// Where waves go.
    pub wave: Option<PathBuf>,
    /// First cycle with waves.
    pub wave_from: u64,
    /// First cycle without waves again.
    pub wave_until: Option<u64>,
    /// Options of the simulated machine that the user has given, by their names.
    pub given: Vec<&'static str>,
    /// The default profile.
    pub default: PhantomData<P>,
}

impl<P> MachineArgs<P> {
    /// Depth of the queues where nothing else was asked for.
    pub const DEPTH: u32 = 64;

    /// As a command line gives it that has these options.
    ///
    /// # Errors
    /// Where they cannot be.
    pub fn of(options: &[OsString]) -> Result<Self>
    where
        P: DefaultProfile,
    {
        let refused = |error: clap::Error| {
            let error = error.to_string();
            Failure::new(
                Exit::BadInput,
                error,
                "`forebay run --help` lists what there is",
            )
        };
        let command = Self::augment_args(Command::new("machine").no_binary_name(true));
        let matches = command.try_get_matches_from(options).map_err(refused)?;
        Self::from_arg_matches(&matches).map_err(refused)
    }

    /// The profile, and the drives beside the one that it has.
    ///
    /// # Errors
    /// Where there is none of this name, or its file is bad.
    pub fn load_profile(&self) -> Result<(Profile, Vec<Drive>)> {
        self.array.load(&self.profiles)
    }

    /// Entries of the queues, as far as the user and our RTL decide it.
    pub fn depth(&self) -> u32 {
        self.queue_depth.unwrap_or(Self::DEPTH)
    }

    /// The options that make this machine, those that are as they are anyway left out.
    pub fn words(&self) -> Words
    where
        P: DefaultProfile,
    {
        let mut words = Words::default();
        if self.profiles != [P::NAME] {
            words.each("profile", &self.profiles);
        }
        words.unless("memory", self.memory.name(), Memory::Onchip.name());
        words.maybe("queue-depth", self.queue_depth);
        words.maybe(
            "buffer",
            self.unit_shift.map(|shift| window::BUFFER_BYTES << shift),
        );
        words.unless("reorder", self.reorder, *WINDOWS.end());
        words.maybe("dram", self.dram.as_ref());
        words.maybe("refresh", self.refresh.map(RefreshArg::name));
        words.maybe("channels", self.channels.map(channels_text));
        words.each("rtl", self.rtl.iter().map(|path| path.display()));
        words.maybe("top", self.top.as_ref());
        let parameters = self.parameters.iter();
        words.each(
            "param",
            parameters.map(|(name, value)| format!("{name}={value}")),
        );
        self.array.add_to(&mut words);
        words.unless("seed", self.seed, 1);
        words
    }

    /// The RTL to build, and how it is called in reports.
    ///
    /// # Errors
    /// Where it is not found.
    pub fn source(&self) -> Result<Source> {
        if self.unit_shift.is_some() && self.memory != Memory::Onchip {
            return Err(Failure::input(
                "--buffer",
                "given",
                "it is the size of the buffer on chip",
                "leave it out, or take --memory onchip",
            ));
        }
        if self.reorder != *WINDOWS.end() && self.memory != Memory::Onchip {
            return Err(Failure::input(
                "--reorder",
                self.reorder,
                "with its payload in DRAM the streamer has a window of 512 commands",
                "leave it out, or take --memory onchip",
            ));
        }
        match self.memory {
            Memory::Onchip => self.source_of(|root, depth, pages| {
                let source = rtl::onchip(root, depth, pages);
                match self.unit_shift {
                    Some(shift) => source.parameter("UnitBits", shift),
                    None => source,
                }
            }),
            Memory::Dram => self.source_of(|root, depth, _| rtl::dram(root, depth)),
            Memory::Host => self.source_of(|root, depth, _| rtl::hostdram(root, depth)),
        }
    }

    /// The user's RTL, or what `ours` makes of checkout, queue depth and pages.
    fn source_of(&self, ours: impl FnOnce(&Path, u32, u32) -> Source) -> Result<Source> {
        let source = if self.rtl.is_empty() {
            let root = home::find()?;
            let depth = self.depth().next_power_of_two();
            ours(&root, depth, self.reorder)
        } else {
            third_party::source(&self.rtl, self.top.as_deref())?
        };
        Ok(source)
    }

    /// A co-simulation.
    ///
    /// # Errors
    /// Where the RTL or a profile is not found.
    pub fn config(&self) -> Result<Config> {
        self.config_of(self.source()?)
    }

    /// The same with our card, whose streams software feeds through its host port.
    ///
    /// # Errors
    /// Where the RTL or a profile is not found.
    pub fn config_of_card(&self) -> Result<Config> {
        if self.array.parity() {
            return Err(Failure::input(
                "--parity",
                "given",
                "the card with a host port has one drive",
                "leave it out",
            ));
        }
        self.config_of(
            self.source_of(|root, depth, pages| card_rtl(self.memory, root, depth, pages))?,
        )
    }

    /// The same from the wire to flash: network side, recorder and what `with_chain` adds to the files
    /// of that design.
    ///
    /// # Errors
    /// Where the RTL or a profile is not found.
    pub fn config_of_net(
        &self,
        with_chain: impl FnOnce(Vec<PathBuf>) -> Vec<PathBuf>,
    ) -> Result<Config> {
        let mut source =
            self.source_of(|root, depth, pages| match (self.memory, self.unit_shift) {
                (Memory::Onchip, None) => rtl::net(root, depth, pages),
                (Memory::Onchip, Some(shift)) => {
                    rtl::net(root, depth, pages).parameter("UnitBits", shift)
                }
                (Memory::Dram, _) => rtl::net_dram(root, depth),
                (Memory::Host, _) => rtl::net_hostdram(root, depth),
            })?;
        source.files = with_chain(source.all_files()?);
        source.filelists.clear();
        self.config_of(source)
    }

    fn config_of(&self, mut source: Source) -> Result<Config> {
        let (profile, more) = self.load_profile()?;
        let drives = 1 + more.len();
        self.array.check(drives)?;
        if drives > 1 && self.rtl.is_empty() {
            self.check_depth(drives)?;
            source = source.parameter("Drives", drives);
            if self.array.parity() {
                source = source.parameter("ParityPages", array::PARITY_PAGES);
            }
        }
        let dram = self.load_dram()?;
        let channels = dram.as_ref().map_or(1, |dram| dram.channels);
        if channels > 1 && self.rtl.is_empty() {
            source = source.parameter("Channels", channels);
        }
        for (name, value) in &self.parameters {
            source = source.parameter(name, value);
        }
        let mut config = Config::new(source, profile);
        config.driver.array = self.array.options(drives);
        config.more_drives = more;
        config.seed = self.seed;
        if let Some(depth) = self.queue_depth {
            config.driver.queue_entries = depth as u16;
        }
        config.waves = self.wave.as_ref().map(|path| Waves {
            path: path.clone(),
            from: self.wave_from,
            until: self.wave_until,
        });
        config.dram = dram;
        Ok(config)
    }

    /// The on-board DRAM, where the payload is there.
    fn load_dram(&self) -> Result<Option<DramProfile>> {
        if self.memory == Memory::Dram {
            let mut dram = DramProfile::load(self.dram.as_deref().unwrap_or("ddr4-2400"))?;
            if let Some((channels, bytes)) = self.channels {
                dram = dram.with_channels(channels, bytes)?;
            }
            if let Some(refresh) = self.refresh {
                dram.refresh = refresh.into();
            }
            return Ok(Some(dram));
        }
        for (option, given) in [
            ("--dram", self.dram.is_some()),
            ("--refresh", self.refresh.is_some()),
            ("--channels", self.channels.is_some()),
        ] {
            if given {
                return Err(Failure::input(
                    option,
                    "given",
                    "the payload is not in on-board DRAM",
                    "add --memory dram, or leave it out",
                ));
            }
        }
        Ok(None)
    }

    /// Our RTL has places for so many commands in all.
    fn check_depth(&self, drives: usize) -> Result<()> {
        let most = *DEPTHS.end() as usize / drives;
        let depth = self.depth().next_power_of_two() as usize;
        if depth <= most {
            return Ok(());
        }
        Err(Failure::input(
            "--queue-depth",
            self.depth(),
            &format!(
                "{drives} drives have at most {} entries each",
                1 << most.ilog2()
            ),
            "choose a smaller depth, or fewer drives",
        ))
    }
}

/// The logical block of all drives: `512` or `4096` bytes.
pub fn set_block(config: &mut Config, block: &str) {
    let shift = if block == "4096" { 12 } else { 9 };
    for ssd in drives(config) {
        for namespace in &mut ssd.namespaces {
            namespace.block_shift = shift;
            namespace.bytes &= !((1 << shift) - 1);
        }
    }
}

/// The longest command that all drives take, in bytes: a power of two of pages.
pub fn set_mdts(config: &mut Config, bytes: u64) {
    for ssd in drives(config) {
        ssd.controller.mdts = (bytes >> 12).ilog2() as u8;
    }
}

fn drives(config: &mut Config) -> impl Iterator<Item = &mut SsdProfile> {
    let others = config.more_drives.iter_mut();
    let others = others.map(|drive| &mut drive.profile);
    others.chain([&mut config.profile.ssd])
}

/// What the drives and the DRAM do wrong.
///
/// # Errors
/// Where there is no such drive, or no DRAM.
pub fn set_faults(
    config: &mut Config,
    faults: &[FaultOption],
    dram_faults: &[DramFault],
) -> Result<()> {
    let drives = 1 + config.more_drives.len();
    if let Some(fault) = faults.iter().find(|fault| fault.drive() >= drives) {
        return Err(Failure::input(
            "--fault",
            fault,
            &format!("the drives are 0 to {}", drives - 1),
            "name one of them, or add --drives N",
        ));
    }
    config.faults = values::faults(faults, 0);
    for (number, drive) in (1..).zip(&mut config.more_drives) {
        drive.faults = values::faults(faults, number);
    }
    if !dram_faults.is_empty() && config.dram.is_none() {
        return Err(Failure::input(
            "--dram-fault",
            "given",
            "the payload is not in on-board DRAM",
            "add --memory dram, or leave it out",
        ));
    }
    config.dram_faults = dram_faults.to_vec();
    Ok(())
}

fn window(text: &str) -> std::result::Result<u32, String> {
    match text.parse::<u32>() {
        Ok(pages) if WINDOWS.contains(&pages) && pages.is_power_of_two() => Ok(pages),
        _ => Err(format!(
            "{text} pages cannot be built; choose 16, 32, 64, 128, 256, 512 or 1024"
        )),
    }
}

/// As the binary logarithm of the pages of a unit, of which there are as many as the RTL counts.
fn buffer(text: &str) -> std::result::Result<u32, String> {
    let wanted = values::length(text)?;
    (0..=window::ONCHIP_UNIT_SHIFT_MOST)
        .find(|shift| window::BUFFER_BYTES << shift == wanted)
        .ok_or_else(|| format!("{text} cannot be built on chip; choose 4MiB, 8MiB or 16MiB"))
}

fn channels(text: &str) -> std::result::Result<(u32, Option<u64>), String> {
    let (count, bytes) = match text.split_once(':') {
        Some((count, bytes)) => (count, Some(values::size(bytes)?)),
        None => (text, None),
    };
    match count.parse() {
        Ok(count) => Ok((count, bytes)),
        Err(_) => Err(format!(
            "`{count}` is no number of channels; write N or N:BYTES"
        )),
    }
}

fn channels_text((count, bytes): (u32, Option<u64>)) -> String {
    bytes.map_or(count.to_string(), |bytes| format!("{count}:{bytes}"))
}

fn parameter(text: &str) -> std::result::Result<(String, String), String> {
    text.split_once('=')
        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| format!("`{text}` is no parameter; write NAME=VALUE"))
}

// By hand, not derived: the default profile differs between commands.
impl<P: DefaultProfile> Args for MachineArgs<P> {
    fn augment_args(command: Command) -> Command {
        let profile = Arg::new("profile")
            .long("profile")
            .value_name("NAME")
            .help("Drive and fabric: a built-in profile, or a TOML file; again for each further drive")
            .action(ArgAction::Append)
            .default_value(P::NAME);
        let depth = arg!(--"queue-depth" <N> "Entries of the queues, 2 to 1024 [default: 64]")
            .value_parser(value_parser!(u32).range(DEPTHS))
            .required(false);
        let reorder = arg!(--reorder <PAGES> "Reorder window in 4 KiB pages, a power of two")
            .value_parser(window)
            .default_value("1024");
        let memory = arg!(--memory <WHERE> "Where the streamer keeps its payload")
            .value_parser(memory())
            .conflicts_with("rtl")
            .default_value("onchip");
        let buffer = arg!(--buffer <SIZE> "On-chip buffer: 4MiB, 8MiB or 16MiB [default: 4MiB]")
            .value_parser(buffer)
            .required(false)
            .conflicts_with("rtl");
        let dram = arg!(--dram <NAME> "On-board DRAM: ddr4-2400, hbm2-1800, or a TOML file")
            .long_help("On-board DRAM: ddr4-2400, hbm2-1800, or a TOML file [default: ddr4-2400]")
            .required(false);
        let refresh = arg!(--refresh <WHEN> "When on-board DRAM refreshes [default: on-time]")
            .value_parser(value_parser!(RefreshArg))
            .required(false);
        let channels = arg!(--channels <N> "Channels of on-board DRAM: N or N:BYTES [default: its own]")
            .long_help(
                "Channels of on-board DRAM: N, or N:BYTES, after which the next follows; 2:64MiB is \
                 one for each direction [default: its own]",
            )
            .value_parser(channels)
            .required(false);
        let seed = arg!(--seed <N> "Decides everything that is random")
            .value_parser(value_parser!(u64))
            .default_value("1");
        let rtl = Arg::new("rtl")
            .long("rtl")
            .value_name("PATH")
            .help("Other RTL with the pins of ours or of SNAcc's: filelist, folder, Verilog files")
            .value_parser(value_parser!(PathBuf))
            .num_args(1..)
            .action(ArgAction::Append)
            .conflicts_with("reorder");
        let top = arg!(--top <MODULE> "Its top module [default: the one with such pins]")
            .required(false)
            .requires("rtl");
        let param = Arg::new("param")
            .long("param")
            .value_name("NAME=VALUE")
            .help("Set a parameter of the top module")
            .value_parser(parameter)
            .action(ArgAction::Append);
        let wave = arg!(--wave <FILE> "Record waves in this FST file")
            .value_parser(value_parser!(PathBuf))
            .required(false);
        let from = arg!(--"wave-from" <CYCLE> "Record from this cycle on")
            .value_parser(value_parser!(u64))
            .required(false)
            .requires("wave");
        let until = arg!(--"wave-until" <CYCLE> "Record up to this cycle")
            .value_parser(value_parser!(u64))
            .required(false)
            .requires("wave");
        let command = command.next_help_heading("Machine").args([
            profile, depth, memory, buffer, dram, refresh, channels, reorder, seed, rtl, top,
            param, wave, from, until,
        ]);
        ArrayArgs::augment_args(command.next_help_heading("Several drives")).next_help_heading(None)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<P: DefaultProfile> FromArgMatches for MachineArgs<P> {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let path = |name: &str| matches.get_one::<PathBuf>(name).cloned();
        let many = |name: &str| matches.get_many::<PathBuf>(name);
        Ok(Self {
            profiles: matches
                .get_many("profile")
                .map(|all| all.cloned().collect())
                .unwrap_or_default(),
            array: ArrayArgs::from_arg_matches(matches)?,
            queue_depth: matches.get_one("queue-depth").copied(),
            memory: matches.get_one("memory").copied().unwrap_or(Memory::Onchip),
            unit_shift: matches.get_one("buffer").copied(),
            dram: matches.get_one("dram").cloned(),
            refresh: matches.get_one("refresh").copied(),
            channels: matches.get_one("channels").copied(),
            reorder: matches
                .get_one("reorder")
                .copied()
                .unwrap_or(*WINDOWS.end()),
            seed: matches.get_one("seed").copied().unwrap_or(1),
            rtl: many("rtl")
                .map(|paths| paths.cloned().collect())
                .unwrap_or_default(),
            top: matches.get_one("top").cloned(),
            parameters: matches
                .get_many("param")
                .map(|all| all.cloned().collect())
                .unwrap_or_default(),
            wave: path("wave"),
            wave_from: matches.get_one("wave-from").copied().unwrap_or(0),
            wave_until: matches.get_one("wave-until").copied(),
            given: SIMULATED
                .into_iter()
                .chain(array::NAMES)
                .filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine))
                .collect(),
            default: PhantomData,
        })
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
