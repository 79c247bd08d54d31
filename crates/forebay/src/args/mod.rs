// SPDX-License-Identifier: Apache-2.0
//! The command line's grammar.

mod array;
mod boot;
mod dnn;
mod faults;
mod global;
mod hardware;
mod io;
pub mod machine;
mod pipeline;
mod plan;
mod record;
mod recorder;
mod repro;
pub mod run;
mod send;
mod seq;
mod serve;
mod soak;
mod ssd;
mod store;
mod store_tools;
mod swarm;
pub mod values;
mod vm;
mod words;

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub use boot::BootArgs;
pub use dnn::{
    DnnCheckArgs, DnnCommand, DnnCompileArgs, DnnDrawArgs, DnnNetArgs, DnnRunArgs, DnnSpeedArgs,
};
pub use faults::FaultArgs;
use forebay_app::Exit;
use forebay_driver::PciAddress;
pub use global::{GlobalArgs, Output};
pub use hardware::{ConsentArgs, DoctorArgs, HardwareBusArgs};
pub use io::{BusKind, IoArgs};
pub use machine::MachineArgs;
pub use pipeline::{
    NewCommand, NewPeArgs, PeCommand, PeListArgs, PePathArgs, PeTestArgs, PipelineCheckArgs,
    PipelineCommand,
};
pub use plan::PlanArgs;
pub use record::{RecordArgs, ReplayArgs};
pub use recorder::RecorderArgs;
pub use repro::ReproArgs;
pub use send::SendArgs;
pub use seq::{Ram, RootTarget, SeqCommand, SeqListArgs, SeqRomArgs, SeqRunArgs};
pub use serve::{ServeCommand, ServeSsdArgs, ServeStreamerArgs, SocketArgs};
pub use soak::{CaseArgs, command_of};
pub use ssd::{QualifyArgs, SsdCommand};
pub use store::{
    DisksArgs, KeyArgs, StoreCatArgs, StoreCommand, StoreExtractArgs, StoreFormatArgs,
    StoreInfoArgs, StoreLsArgs, StoreMode, StoreMountArgs, StorePackArgs, StoreRepairArgs,
    StoreTarArgs, StoreUndoArgs, StoreVerifyArgs,
};
pub use store_tools::{StoreExport, StoreExportArgs, StoreReportArgs, StoreSqlArgs};
pub use swarm::SwarmArgs;
pub use vm::{VmArgs, VmCommand, VmRunArgs};

/// Streams bytes through the NVMe streamer's RTL onto a simulated SSD, cycle by cycle.
///
/// What streams is simulated: the RTL runs in Verilator, drive and PCIe fabric are models. Only
/// `devices`, `doctor` and `ssd` look at this machine's own hardware, `send` uses its network, `store` opens
/// recordings, and only `io` and `record` with `--bus vfio`, `ssd qualify --write`, `doctor --check
/// --scratch`, `store format`, `store pack` and `store repair` write to a drive.
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(after_help = after_help())]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// What holds for every command: units and exit codes.
fn after_help() -> String {
    let mut text = "Units:\n  \
        Sizes: KiB, MiB, GiB and, for short, K, M, G are powers of 1024; kB, MB, GB powers of 1000\n  \
        Rates: bytes (12.5GB/s) or bits (100Gb/s) a second\n  \
        Times: 500ns, 20us, 3ms, 5s, 2min, 1h\n\nExit codes:"
        .to_owned();
    for (exit, meaning) in Exit::ALL {
        text += &format!("\n  {:>3}  {meaning}", exit as u8);
    }
    text + "\n  any  of `vm run`: the guest command's own"
}

/// Options whose names are not those of the fields that they set.
const OF_FIELDS: [(&str, &str); 5] = [
    ("array.stripe_unit", "chunk"),
    ("buffer_pages", "buffer"),
    ("parameters", "param"),
    ("profiles", "profile"),
    ("source.senders", "streams"),
];

/// The option that sets a field of a description, such as `--chunk` for `array.stripe_unit`.
pub fn option_of(field: &str) -> Option<String> {
    fn has(command: &clap::Command, name: &str) -> bool {
        let mut arguments = command.get_arguments();
        arguments.any(|one| one.get_long() == Some(name))
            || command.get_subcommands().any(|one| has(one, name))
    }
    let other = OF_FIELDS.iter().find(|(known, _)| *known == field);
    let name = match other {
        Some((_, name)) => (*name).to_owned(),
        None => field.trim_start_matches("array.").replace('_', "-"),
    };
    has(&Cli::command(), &name).then_some(name)
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Send a real file through the RTL to the drive and back, compare, report
    Demo(DemoArgs),
    /// Write files or patterns to drives, read from them, or both
    Io(Box<IoArgs>),
    /// Record what comes from the network onto drives, as a pipeline says
    Record(Box<RecordArgs>),
    /// Play a recording: send its objects from the drives onto the network
    Replay(Box<ReplayArgs>),
    /// Measure; beside each number an ideal host driver on the same drive
    Bench {
        #[command(subcommand)]
        bench: BenchCommand,
    },
    /// Run many small soaks, each drawn from a seed; make simpler what fails
    Swarm(SwarmArgs),
    /// Show registers, events, latencies and counters, and where a queue hangs
    Inspect(InspectArgs),
    /// Make processing elements of neural networks, and judge images with them
    Dnn {
        #[command(subcommand)]
        dnn: DnnCommand,
    },
    /// Count LUTs, flip-flops and RAMs of the RTL (Yosys)
    Resources(ResourcesArgs),
    /// List drive profiles, or show where each number of one comes from
    Profiles(ProfilesArgs),
    /// Reproduce published figures: the model of each design, what was published, and our streamer
    Repro(ReproArgs),
    /// Say which buffer and how many drives a recording needs, and simulate that
    Plan(PlanArgs),
    /// Send files as objects over UDP, paced: to the simulated port, or to a card
    Send(SendArgs),
    /// List NVMe drives and FPGA cards of this machine
    Devices(DevicesArgs),
    /// Say what will work on this machine, and why the rest will not
    Doctor(Box<DoctorArgs>),
    /// Drives of this machine: measure one and write a profile that behaves like it
    Ssd {
        #[command(subcommand)]
        ssd: SsdCommand,
    },
    /// Recordings on images and drives: make, list, check, repair, open them
    Store {
        #[command(subcommand)]
        store: StoreCommand,
    },
    /// Run Linux in QEMU, with drives from images and devices from sockets
    Vm {
        #[command(subcommand)]
        vm: VmCommand,
    },
    /// Bring drives up without a CPU, as the RTL of a recorder does it
    Boot(BootArgs),
    /// Programs of the sequencer: list, interpret, print for a ROM
    Seq {
        #[command(subcommand)]
        seq: SeqCommand,
    },
    /// Pipelines as files: what happens between wire and flash
    Pipeline {
        #[command(subcommand)]
        pipeline: PipelineCommand,
    },
    /// Processing elements: which there are, and testing your own
    Pe {
        #[command(subcommand)]
        pe: PeCommand,
    },
    /// Make something of your own to begin with
    New {
        #[command(subcommand)]
        new: NewCommand,
    },
    /// Print the script that completes command lines
    Completion {
        /// Of which shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write a manual page for each command
    Man {
        /// The folder, made if need be
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Print the JSON Schema of a file, for editors
    Schema {
        /// Of which file
        #[arg(value_enum)]
        of: SchemaOf,
    },
    /// Print the constants that hardware and software share
    Spec {
        /// In which language
        #[arg(value_enum)]
        language: Language,
    },
}

#[derive(Args, Debug)]
pub struct DemoArgs {
    /// The file to send [default: this program itself]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Most bytes of it to send
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = values::length)]
    pub limit: u64,
    #[command(flatten)]
    pub machine: MachineArgs<Drive990Pro>,
}

/// The profile used where none is named.
pub trait DefaultProfile: Send + Sync + Clone + std::fmt::Debug + 'static {
    /// Its name.
    const NAME: &'static str;
}

/// A real drive's timing.
#[derive(Clone, Debug)]
pub struct Drive990Pro;
/// Neither drive nor fabric ever waits.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveIdeal;

impl DefaultProfile for Drive990Pro {
    const NAME: &'static str = "990pro-2tb";
}
impl DefaultProfile for DriveIdeal {
    const NAME: &'static str = "ideal";
}

/// The benches.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Sequential: write 64 MiB, write 8 MiB in one transaction with its start, read 64 MiB
    Core(BenchArgs<DriveIdeal>),
    /// The same sequential and random 4 KiB work on 1, 2, 3, 4 and 8 drives
    Drives(BenchArgs<DriveIdeal>),
    /// Cycles of one transaction: 4 KiB and 1 MiB, write and read
    Latency(BenchArgs<DriveIdeal>),
    /// Cycles of a command from 1 to 1023 outstanding, and from 1 to 8 drives
    Scale(ScaleArgs),
    /// Random: 4 KiB reads, 4 KiB writes, 512 B writes
    Random(BenchArgs<DriveIdeal>),
    /// From 100G Ethernet onto 1, 2 and 3 drives; room above XOFF; loss where pause is ignored; frames
    /// of 64 bytes at line rate
    Net(NetArgs),
    /// Recordings: objects of 9 MB and of 4 KiB beside the bare streamer, and what a loss of power
    /// at any instant leaves of one
    Store(StoreBenchArgs),
    /// Pictures of 9 MB with MobileNet-V1 in the chain: rates beside those without, classes beside the
    /// twin's
    Classify(ClassifyArgs),
    /// A recorder without a CPU: sessions of 1, 2, 4 … chunks of 128 KiB, written and read back; or
    /// a source that cannot wait
    Recorder(Box<RecorderArgs>),
    /// Simulated cycles per second: streamer busy, and nothing but a clock
    Speed(BenchArgs<DriveIdeal>),
    /// Random transactions of mixed size, direction and alignment, ports pausing, drives failing,
    /// resets: each byte checked
    Soak(Box<CaseArgs>),
}

/// Options of every bench.
#[derive(Args, Debug)]
pub struct BenchArgs<P: DefaultProfile> {
    /// Bytes to move in each measurement of a rate [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = values::length)]
    pub bytes: Option<u64>,
    #[command(flatten)]
    pub machine: MachineArgs<P>,
}

#[derive(Args, Debug)]
pub struct NetArgs {
    /// Bytes to offer in each measurement of a rate
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = values::length)]
    pub bytes: u64,
    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Args, Debug)]
pub struct ClassifyArgs {
    /// Only these [default: all, which takes half an hour]
    #[arg(long, value_name = "CASE", num_args = 1.., value_parser = cases())]
    pub only: Vec<String>,
}

/// Reads the name of a case.
fn cases() -> clap::builder::PossibleValuesParser {
    let all = forebay_lab::bench::CASES.iter();
    all.map(|case| clap::builder::PossibleValue::new(case.id).help(case.title))
        .collect::<Vec<_>>()
        .into()
}

#[derive(Args, Debug)]
pub struct StoreBenchArgs {
    /// Bytes to record for a rate; no object is larger
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = values::length)]
    pub bytes: u64,
    /// Lose power so often; at each instant that there is, if that is enough; 0: not at all
    #[arg(long, value_name = "N", default_value_t = 3_000)]
    pub cuts: u32,
    /// With one drive, and with each number of drives up to this one; from 2 to 3 with parity, too
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u8).range(1..=4))]
    pub drives: u8,
    /// Keep the first images, repaired, in this folder
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Args, Debug)]
pub struct ScaleArgs {
    /// Commands of each measurement
    #[arg(long, value_name = "N", default_value_t = 4_096,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub commands: u64,
    /// Draw them into this file
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    pub machine: MachineArgs<DriveIdeal>,
}

#[derive(Args, Debug)]
pub struct InspectArgs {
    /// Show what `forebay io --inspect FILE` stored, instead of running anything
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Compare with what this drive recorded: a file of `forebay vm serve ssd --record`
    #[arg(long, value_name = "FILE", requires = "from")]
    pub drive: Option<PathBuf>,
    /// Show only the last N events, of each side
    #[arg(long, value_name = "N", default_value_t = 24)]
    pub events: usize,
    #[command(flatten)]
    pub machine: MachineArgs<Drive990Pro>,
}

#[derive(Args, Debug)]
pub struct ResourcesArgs {
    /// Further options, for `python -m forebay.resources`
    #[arg(last = true, value_name = "OPTIONS")]
    pub rest: Vec<String>,
}

#[derive(Args, Debug)]
pub struct ProfilesArgs {
    /// Show every parameter of this profile (a name, or a TOML file)
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Run the model and print it beside what was measured of the drive
    #[arg(long, requires = "name")]
    pub measure: bool,
    /// End with exit code 7 where a measurement that the drive limits is further off, in percent
    #[arg(long, value_name = "PERCENT", requires = "measure", value_parser = values::percent)]
    pub within: Option<f64>,
    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value = "1", requires = "measure")]
    pub seed: u64,
}

#[derive(Args, Debug)]
pub struct DevicesArgs {
    /// First give this device back to its own driver, where a killed program has left it to VFIO
    #[arg(long, value_name = "ADDRESS")]
    pub give_back: Option<PciAddress>,
}

/// Files that `forebay schema` knows.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaOf {
    /// A pipeline, such as pipelines/record.toml.
    Pipeline,
    /// The profile of a drive, such as profiles/ideal.toml.
    Profile,
}

/// Languages of `forebay spec`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Language {
    /// A SystemVerilog package.
    Sv,
    /// A C header.
    C,
    /// A Python module.
    Python,
    /// A dissector of our frames for Wireshark, in Lua.
    Wireshark,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_lists_each_exit_code() {
        let guide = include_str!("../../../../docs/reference/cli.md");
        for (exit, meaning) in Exit::ALL {
            let row = format!("| {} | {meaning}", exit as u8);
            assert!(guide.contains(&row), "{row}");
        }
    }

    #[test]
    fn a_field_has_its_option() {
        for (field, option) in [
            ("array.stripe_unit", "chunk"),
            ("array.drives", "drives"),
            ("queue_depth", "queue-depth"),
        ] {
            assert_eq!(option_of(field).as_deref(), Some(option));
        }
        for field in ["--chunk", "NAME", "buffer.memory", "$FOREBAY_HOME"] {
            assert_eq!(option_of(field), None, "{field}");
        }
        for (field, option) in OF_FIELDS {
            assert_eq!(
                option_of(field).as_deref(),
                Some(option),
                "there is no --{option}"
            );
        }
    }

    #[test]
    fn the_grammar_holds() {
        Cli::command().debug_assert();
    }

    #[test]
    fn each_command_has_its_default_profile() {
        let profile = |line: &str| match Cli::parse_from(line.split(' ')).command {
            Command::Demo(args) => args.machine.profiles.concat(),
            Command::Bench {
                bench: BenchCommand::Core(args),
            } => args.machine.profiles.concat(),
            other => panic!("{other:?}"),
        };
        assert_eq!(profile("forebay demo"), "990pro-2tb");
        assert_eq!(profile("forebay bench core"), "ideal");
        assert_eq!(profile("forebay bench core --profile x.toml"), "x.toml");
    }

    #[test]
    fn senseless_lines_are_refused() {
        for line in [
            "forebay io",
            "forebay io --at 0",
            "forebay io --write f --generate 1",
            "forebay record --write f",
            "forebay record --profile ideal",
            "forebay record --backing x.img",
            "forebay record --pcap x --object 5",
            "forebay record --pcap x --streams 2",
            "forebay replay",
            "forebay replay x.toml --extract y",
            "forebay replay x.toml --objects 9..5",
            "forebay io --write f --at x",
            "forebay io --read --length 4KiB --block 1024",
            "forebay io --write f --length 5",
            "forebay demo --queue-depth 1",
            "forebay demo --queue-depth 100000",
            "forebay demo --buffer 100KiB",
            "forebay demo --wave-from 7",
            "forebay demo --limit 0",
            "forebay bench core --rtl x --buffer 256KiB",
            "forebay bench soak --transactions 0",
            "forebay profiles --measure",
            "forebay profiles ideal --within 10",
            "forebay profiles ideal --measure --within -1",
            "forebay ssd qualify",
            "forebay ssd qualify /dev/x --from y",
            "forebay ssd qualify --from y --write",
            "forebay ssd qualify /dev/x --job-time 0s",
            "forebay ssd qualify /dev/x --name a/b",
            "forebay repro",
            "forebay repro figure-5",
            "forebay repro snacc-fig4 --within -1",
            "forebay plan",
            "forebay plan --rate 0",
            "forebay plan --rate 12",
            "forebay plan --rate 12GB/s --wire 100",
            "forebay plan --rate 12GB/s --wire 0",
            "forebay plan --rate 5GB/s --burst 1MiB",
            "forebay plan --rate 5GB/s --every 1ms",
            "forebay plan --rate 5GB/s --drives 9",
            "forebay plan --rate 5GB/s --memory tape",
            "forebay plan --rate 5GB/s --mtu 20",
            "forebay send",
            "forebay send f",
            "forebay send --to h",
            "forebay send f --to h --rate 0",
            "forebay send f --to h --mtu 60",
            "forebay send f --to h --mtu 20000",
            "forebay send f --to h --stream 65536",
            "forebay send f --to h --epoch 4294967296",
            "forebay send f --to h --repeat 0",
            "forebay doctor --check",
            "forebay doctor --check --ssd 02:00.0",
            "forebay doctor --check --fpga 01:00.0",
            "forebay doctor --check --ssd 02:00.0 --fpga 01:00.0 --peer 03:00.0:2:0",
            "forebay doctor --check --ssd 02:00.0 --peer 03:00.0:6:0",
            "forebay doctor --scratch 0",
            "forebay vm run",
            "forebay vm serve ssd",
            "forebay vm serve streamer --socket s --at 0",
            "forebay vm run --timeout 0s -- true",
            "forebay vm run --iommu maybe -- true",
            "forebay seq list",
            "forebay seq run x.seq --ram ram",
            "forebay seq run x.seq --most 0",
            "forebay seq run x.seq --on vhdl",
            "forebay seq run x.seq --on qemu --ram ram=8",
            "forebay seq run x.seq --ssd a.img",
            "forebay boot --on vhdl",
            "forebay boot --on qemu",
            "forebay boot --ssd a.img",
            "forebay boot --record 1MiB",
            "forebay boot --on qemu --ssd a.img --drives 1",
            "forebay pipeline check",
            "forebay pe test",
            "forebay new pe",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
    }
}
