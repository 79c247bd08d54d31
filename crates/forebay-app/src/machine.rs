// SPDX-License-Identifier: Apache-2.0
//! A machine as plain data: drives, RTL, memory, seed, waves.

mod array;
mod card;

use std::path::{Path, PathBuf};

use forebay_cosim::{Config, Drive, rtl};
use forebay_model::{DramProfile, Profile, Refresh};
use forebay_rtl::Source;
use forebay_spec::streamer::window;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};
use crate::{home, third_party};

pub use array::{ArraySpec, PARITY_PAGES};
use card::card_rtl;
pub use forebay_pipeline::Memory;

/// Entries of a queue of our RTL where nothing else is asked for.
pub const QUEUE_DEPTH: u32 = 64;
/// Entries of all its queues together, at most.
pub const QUEUE_ENTRIES_MOST: u32 = 1024;

/// When on-board DRAM refreshes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefreshSpec {
    /// One each interval.
    OnTime,
    /// Each put off by a random part of what the standard allows.
    Random,
    /// As many as may be postponed are, then all follow at once.
    Late,
    /// None.
    Never,
}

impl RefreshSpec {
    /// All that there are.
    pub const ALL: [Self; 4] = [Self::OnTime, Self::Random, Self::Late, Self::Never];

    /// As it is called in files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnTime => "on-time",
            Self::Random => "random",
            Self::Late => "late",
            Self::Never => "never",
        }
    }
}

impl From<RefreshSpec> for Refresh {
    fn from(refresh: RefreshSpec) -> Self {
        match refresh {
            RefreshSpec::OnTime => Self::Regular,
            RefreshSpec::Random => Self::Jitter,
            RefreshSpec::Late => Self::Bunched,
            RefreshSpec::Never => Self::Never,
        }
    }
}

/// Channels of on-board DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelsSpec {
    /// How many.
    pub count: u32,
    /// Bytes after which the next one follows; none: the profile's.
    pub interleave_bytes: Option<u64>,
}

/// Waves of a simulation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WavesSpec {
    /// The FST file.
    pub path: PathBuf,
    /// First cycle.
    #[serde(default)]
    pub from: u64,
    /// Cycle after the last one; none: to the end.
    #[serde(default)]
    pub until: Option<u64>,
}

/// A machine: drives and fabric, RTL, memory of the payload, seed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct MachineSpec {
    /// Profiles of drive and fabric by name, or TOML files: one, or one for each drive.
    pub profiles: Vec<String>,
    /// How several drives make one address space.
    pub array: ArraySpec,
    /// Entries of each queue, 2 to 1024; none: 64, or as many as other RTL has.
    pub queue_depth: Option<u32>,
    /// Where the payload is.
    pub memory: Memory,
    /// 4 KiB pages of the buffer on chip, a power of two from 16 to 4096; none: 1024.
    pub buffer_pages: Option<u32>,
    /// Profile of on-board DRAM by name, or a TOML file; none: `ddr4-2400`.
    pub dram: Option<String>,
    /// When it refreshes; none: as its profile says.
    pub refresh: Option<RefreshSpec>,
    /// Its channels; none: as its profile says.
    pub channels: Option<ChannelsSpec>,
    /// Decides everything that is random.
    pub seed: u64,
    /// RTL to use in place of ours: a filelist, a folder, or Verilog files.
    pub rtl: Vec<PathBuf>,
    /// Its top module; none: the one with the pins of a streamer.
    pub top: Option<String>,
    /// Parameters of the top module.
    pub parameters: Vec<(String, String)>,
    /// Waves to record.
    pub waves: Option<WavesSpec>,
}

impl Default for MachineSpec {
    fn default() -> Self {
        Self {
            profiles: vec!["ideal".to_owned()],
            array: ArraySpec::default(),
            queue_depth: None,
            memory: Memory::Onchip,
            buffer_pages: None,
            dram: None,
            refresh: None,
            channels: None,
            seed: 1,
            rtl: Vec::new(),
            top: None,
            parameters: Vec::new(),
            waves: None,
        }
    }
}

impl MachineSpec {
    /// One with drives of this profile.
    #[must_use]
    pub fn of_profile(name: &str) -> Self {
        Self {
            profiles: vec![name.to_owned()],
            ..Self::default()
        }
    }

    /// The profile, and the drives beside the one that it has.
    ///
    /// # Errors
    /// Where there is none of this name, or its file is bad.
    pub fn load_profile(&self) -> Result<(Profile, Vec<Drive>)> {
        self.array.load(&self.profiles)
    }

    /// Entries of each queue, as far as the user and our RTL decide it.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.queue_depth.unwrap_or(QUEUE_DEPTH)
    }

    /// Pages of the buffer on chip.
    fn pages(&self) -> u32 {
        self.buffer_pages.unwrap_or(window::BUFFER_PAGES as u32)
    }

    /// The RTL to build.
    ///
    /// # Errors
    /// Where it is not found, or an option does not suit the memory.
    pub fn source(&self) -> Result<Source> {
        match self.memory {
            Memory::Onchip => self.source_of(rtl::onchip),
            Memory::Dram => self.source_of(|root, depth, _| rtl::dram(root, depth)),
            Memory::Host => self.source_of(|root, depth, _| rtl::hostdram(root, depth)),
        }
    }

    /// Refuses numbers that our RTL cannot be built with.
    fn check_numbers(&self) -> Result<()> {
        if self.buffer_pages.is_some() && self.memory != Memory::Onchip {
            return Err(Failure::input(
                "buffer_pages",
                "given",
                "it sizes the buffer on chip; DRAM has 60 MiB for one direction, 32 MiB each for both",
                "leave it out, or take memory onchip",
            ));
        }
        let (depth, pages) = (self.depth(), self.pages());
        let counts = window::BUFFER_PAGES_LEAST..=window::BUFFER_PAGES_MOST;
        let drives = self.array.drives.unwrap_or(1);
        for (option, value, good, limit) in [
            (
                "queue_depth",
                depth,
                (2..=QUEUE_ENTRIES_MOST).contains(&depth),
                "a queue has 2 to 1024 entries",
            ),
            (
                "buffer_pages",
                pages,
                pages.is_power_of_two() && counts.contains(&pages.into()),
                "the buffer on chip has a power of two of pages, 16 to 4096",
            ),
            (
                "array.drives",
                drives.into(),
                (1..=8).contains(&drives),
                "there are 1 to 8",
            ),
        ] {
            if !good {
                return Err(Failure::input(option, value, limit, "choose another value"));
            }
        }
        Ok(())
    }

    /// The user's RTL, or what `ours` makes of checkout, queue depth and pages.
    fn source_of(&self, ours: impl FnOnce(&Path, u32, u32) -> Source) -> Result<Source> {
        self.check_numbers()?;
        if self.rtl.is_empty() {
            let depth = self.depth().next_power_of_two();
            Ok(ours(&home::find()?, depth, self.pages()))
        } else {
            third_party::source(&self.rtl, self.top.as_deref())
        }
    }

    /// A co-simulation.
    ///
    /// # Errors
    /// Where the RTL or a profile is not found, or options contradict each other.
    pub fn config(&self) -> Result<Config> {
        self.config_of(self.source()?)
    }

    /// The same with our card, whose streams software feeds through its host port.
    ///
    /// # Errors
    /// As [`MachineSpec::config`].
    pub fn config_of_card(&self) -> Result<Config> {
        if self.array.parity {
            return Err(Failure::input(
                "array.parity",
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
    /// As [`MachineSpec::config`].
    pub fn config_of_net(
        &self,
        with_chain: impl FnOnce(Vec<PathBuf>) -> Vec<PathBuf>,
    ) -> Result<Config> {
        let mut source = self.source_of(|root, depth, pages| match self.memory {
            Memory::Onchip => rtl::net(root, depth, pages),
            Memory::Dram => rtl::net_dram(root, depth),
            Memory::Host => rtl::net_hostdram(root, depth),
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
            if self.array.parity {
                source = source.parameter("ParityPages", PARITY_PAGES);
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
        config.waves = self.waves.as_ref().map(|waves| forebay_cosim::Waves {
            path: waves.path.clone(),
            from: waves.from,
            until: waves.until,
        });
        config.dram = dram;
        Ok(config)
    }

    /// The on-board DRAM, where the payload is there.
    fn load_dram(&self) -> Result<Option<DramProfile>> {
        if self.memory == Memory::Dram {
            let mut dram = DramProfile::load(self.dram.as_deref().unwrap_or("ddr4-2400"))?;
            if let Some(channels) = self.channels {
                dram = dram.with_channels(channels.count, channels.interleave_bytes)?;
            }
            if let Some(refresh) = self.refresh {
                dram.refresh = refresh.into();
            }
            return Ok(Some(dram));
        }
        for (option, given) in [
            ("dram", self.dram.is_some()),
            ("refresh", self.refresh.is_some()),
            ("channels", self.channels.is_some()),
        ] {
            if given {
                return Err(Failure::input(
                    option,
                    "given",
                    "the payload is not in on-board DRAM",
                    "take memory dram, or leave it out",
                ));
            }
        }
        Ok(None)
    }

    /// Our RTL has places for [`QUEUE_ENTRIES_MOST`] commands in all.
    fn check_depth(&self, drives: usize) -> Result<()> {
        let most = QUEUE_ENTRIES_MOST as usize / drives;
        let depth = self.depth().next_power_of_two() as usize;
        if depth <= most {
            return Ok(());
        }
        Err(Failure::input(
            "queue_depth",
            self.depth(),
            &format!(
                "{drives} drives have at most {} entries each",
                1 << most.ilog2()
            ),
            "choose a smaller depth, or fewer drives",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_plain_data() {
        let spec = MachineSpec {
            memory: Memory::Dram,
            channels: Some(ChannelsSpec {
                count: 2,
                interleave_bytes: Some(64 << 20),
            }),
            refresh: Some(RefreshSpec::OnTime),
            ..MachineSpec::of_profile("990pro-2tb")
        };
        let text = serde_json::to_string(&spec).expect("written");
        assert!(text.contains(r#""refresh":"on-time""#), "{text}");
        assert_eq!(
            serde_json::from_str::<MachineSpec>(&text).expect("read"),
            spec
        );
        let least: MachineSpec = serde_json::from_str("{}").expect("all has a default");
        assert_eq!(least, MachineSpec::default());
        assert!(serde_json::from_str::<MachineSpec>(r#"{"drives": 2}"#).is_err());
    }

    #[test]
    fn what_does_not_suit_the_memory_is_refused() {
        let refused = |spec: MachineSpec| spec.config().expect_err("refused").to_string();
        let host = MachineSpec {
            memory: Memory::Host,
            ..MachineSpec::default()
        };
        assert!(
            refused(MachineSpec {
                buffer_pages: Some(2048),
                ..host.clone()
            })
            .contains("buffer_pages")
        );
        assert!(
            refused(MachineSpec {
                dram: Some("hbm2-1800".into()),
                ..host.clone()
            })
            .contains("dram")
        );
        for (option, spec) in [
            (
                "queue_depth",
                MachineSpec {
                    queue_depth: Some(70_000),
                    ..MachineSpec::default()
                },
            ),
            (
                "buffer_pages",
                MachineSpec {
                    buffer_pages: Some(100),
                    ..MachineSpec::default()
                },
            ),
            (
                "buffer_pages",
                MachineSpec {
                    buffer_pages: Some(8192),
                    ..MachineSpec::default()
                },
            ),
        ] {
            assert!(refused(spec).contains(option), "{option}");
        }
        for drives in [0, 9] {
            let mut spec = MachineSpec::default();
            spec.array.drives = Some(drives);
            assert!(refused(spec).contains("array.drives"), "{drives}");
        }
        let mut deep = host;
        deep.queue_depth = Some(1024);
        deep.array.drives = Some(2);
        assert!(refused(deep).contains("queue_depth"));
    }
}
