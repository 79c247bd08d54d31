// SPDX-License-Identifier: Apache-2.0
//! Options that say on which machine something runs: drive, RTL, seed, waves.

use std::marker::PhantomData;
use std::ops::Deref;
use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, arg, value_parser};
use forebay_app::machine::{ChannelsSpec, MachineSpec, RefreshSpec, WavesSpec};
use forebay_pipeline::Memory;
use forebay_spec::streamer::window;

use super::array::{self, ArrayArgs};
use super::words::Words;
use super::{DefaultProfile, values};

/// Queue depths that the RTL knows.
pub const DEPTHS: std::ops::RangeInclusive<i64> = 2..=1024;
/// Options that are of a simulated machine alone.
const SIMULATED: [&str; 13] = [
    "profile",
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
    let meanings = [
        "4 MiB in the FPGA",
        "On-board DRAM: 60 MiB for one direction, 32 MiB for each of both",
        "Host memory over PCIe: 60 MiB for one direction, 32 MiB for each of both",
    ];
    let all = [Memory::Onchip, Memory::Dram, Memory::Host];
    values::named(std::array::from_fn::<_, 3, _>(|at| {
        (all[at], all[at].name(), meanings[at])
    }))
}

/// Reads when on-board DRAM refreshes.
fn refresh() -> impl TypedValueParser<Value = RefreshSpec> {
    let meanings = [
        "One each interval",
        "Each put off by a random part of what the standard allows",
        "As many as may be postponed are, then all follow at once",
        "None: to see what it costs",
    ];
    let all = RefreshSpec::ALL;
    values::named(std::array::from_fn::<_, 4, _>(|at| {
        (all[at], all[at].name(), meanings[at])
    }))
}

/// On which machine something runs, as the options say.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineArgs<P> {
    /// The machine.
    pub spec: MachineSpec,
    /// Options of the simulated machine that the user has given, by their names.
    pub given: Vec<&'static str>,
    /// The default profile.
    default: PhantomData<P>,
}

impl<P> Deref for MachineArgs<P> {
    type Target = MachineSpec;

    fn deref(&self) -> &MachineSpec {
        &self.spec
    }
}

/// The options that make this machine, those that are as they are anyway left out; `profile` is the
/// one that is taken anyway.
pub fn words(machine: &MachineSpec, profile: &str) -> Words {
    let mut words = Words::default();
    if machine.profiles != [profile] {
        words.each("profile", &machine.profiles);
    }
    words.unless("memory", machine.memory.name(), Memory::Onchip.name());
    words.each("queue-depth", machine.queue_depth);
    words.each(
        "buffer",
        machine
            .buffer_pages
            .map(|pages| u64::from(pages) * window::PAGE_BYTES),
    );
    words.each("dram", machine.dram.as_ref());
    words.each("refresh", machine.refresh.map(RefreshSpec::name));
    words.each("channels", machine.channels.map(channels_text));
    words.each("rtl", machine.rtl.iter().map(|path| path.display()));
    words.each("top", machine.top.as_ref());
    let parameters = machine.parameters.iter();
    words.each(
        "param",
        parameters.map(|(name, value)| format!("{name}={value}")),
    );
    array::add_words(&machine.array, &mut words);
    words.unless("seed", machine.seed, 1);
    words
}

/// As 4 KiB pages.
fn buffer(text: &str) -> std::result::Result<u32, String> {
    const SIZES: std::ops::RangeInclusive<u64> = window::BUFFER_PAGES_LEAST * window::PAGE_BYTES
        ..=window::BUFFER_PAGES_MOST * window::PAGE_BYTES;
    let wanted = values::length(text)?;
    if SIZES.contains(&wanted) && wanted.is_power_of_two() {
        Ok((wanted / window::PAGE_BYTES) as u32)
    } else {
        Err(format!(
            "{text} cannot be built on chip; choose 64KiB, 128KiB … 8MiB or 16MiB"
        ))
    }
}

fn channels(text: &str) -> std::result::Result<ChannelsSpec, String> {
    let (count, bytes) = match text.split_once(':') {
        Some((count, bytes)) => (count, Some(values::size(bytes)?)),
        None => (text, None),
    };
    match count.parse() {
        Ok(count) => Ok(ChannelsSpec {
            count,
            interleave_bytes: bytes,
        }),
        Err(_) => Err(format!(
            "`{count}` is no number of channels; write N or N:BYTES"
        )),
    }
}

fn channels_text(channels: ChannelsSpec) -> String {
    let count = channels.count.to_string();
    channels
        .interleave_bytes
        .map_or(count.clone(), |bytes| format!("{count}:{bytes}"))
}

/// Reads NAME=VALUE.
pub fn parameter(text: &str) -> std::result::Result<(String, String), String> {
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
        let memory = arg!(--memory <WHERE> "Where the streamer keeps its payload")
            .value_parser(memory())
            .conflicts_with("rtl")
            .default_value("onchip");
        let buffer = arg!(--buffer <SIZE> "On-chip buffer and reorder window: 64KiB … 16MiB [default: 4MiB]")
            .value_parser(buffer)
            .required(false)
            .conflicts_with("rtl");
        let dram = arg!(--dram <NAME> "On-board DRAM: ddr4-2400, hbm2-1800, or a TOML file")
            .long_help("On-board DRAM: ddr4-2400, hbm2-1800, or a TOML file [default: ddr4-2400]")
            .required(false);
        let refresh = arg!(--refresh <WHEN> "When on-board DRAM refreshes [default: on-time]")
            .value_parser(refresh())
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
            .action(ArgAction::Append);
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
        let rare = [buffer, dram, refresh, channels, top, param, from, until];
        let command = command
            .next_help_heading("Machine")
            .args([profile, depth, memory, seed, rtl, wave])
            .args(rare.map(|option| option.hide_short_help(true)));
        ArrayArgs::augment_args(command.next_help_heading("Several drives")).next_help_heading(None)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<P: DefaultProfile> FromArgMatches for MachineArgs<P> {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let many = |name: &str| matches.get_many::<PathBuf>(name);
        let wave = matches.get_one::<PathBuf>("wave");
        let spec = MachineSpec {
            profiles: matches
                .get_many("profile")
                .map(|all| all.cloned().collect())
                .unwrap_or_default(),
            array: ArrayArgs::from_arg_matches(matches)?.into(),
            queue_depth: matches.get_one("queue-depth").copied(),
            memory: matches.get_one("memory").copied().unwrap_or(Memory::Onchip),
            buffer_pages: matches.get_one("buffer").copied(),
            dram: matches.get_one("dram").cloned(),
            refresh: matches.get_one("refresh").copied(),
            channels: matches.get_one("channels").copied(),
            seed: matches.get_one("seed").copied().unwrap_or(1),
            rtl: many("rtl")
                .map(|paths| paths.cloned().collect())
                .unwrap_or_default(),
            top: matches.get_one("top").cloned(),
            parameters: matches
                .get_many("param")
                .map(|all| all.cloned().collect())
                .unwrap_or_default(),
            waves: wave.map(|path| WavesSpec {
                path: path.clone(),
                from: matches.get_one("wave-from").copied().unwrap_or(0),
                until: matches.get_one("wave-until").copied(),
            }),
        };
        Ok(Self {
            spec,
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
