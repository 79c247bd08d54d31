// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay bench recorder`: a recorder without a CPU.

use clap::{Args, value_parser};
use forebay_app::recorder::{CHUNK_BYTES, CHUNKS_MOST, GaplessSpec, PauseSpec, RecorderSpec};
use forebay_cosim::DramFault;
use forebay_model::Time;

use super::boot::{clock, entries, seconds, stall};
use super::values::{self, FaultSpec, StallSpec};

/// For how long a source that cannot wait sends where nothing else is said.
const GAPLESS: Time = 50 * forebay_model::MILLISECOND;

#[derive(Args, Debug)]
pub struct RecorderArgs {
    /// Drives and links by name, or TOML files; again for each further drive
    #[arg(long, value_name = "NAME|FILE", default_value = "960evo-250")]
    pub profile: Vec<String>,
    /// Drives, 1 to 8: several are one address space of stripes of 128 KiB
    #[arg(long, value_name = "N", value_parser = value_parser!(u8).range(1..=8))]
    pub drives: Option<u8>,
    /// Most entries of a queue: a power of two from 2 to 1024
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = entries)]
    pub queue_entries: u16,
    /// Chunks of each session, 1 to 256 each: N,N,… [default: 1,2,4 … 64]
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', conflicts_with_all = ["full", "gapless"],
          value_parser = value_parser!(u64).range(1..=CHUNKS_MOST))]
    pub chunks: Option<Vec<u64>>,
    /// Sessions of 1, 2, 4 … 256 chunks: minutes
    #[arg(long, conflicts_with = "gapless")]
    pub full: bool,
    /// Bytes of a chunk: a power of two from 16KiB to 1MiB
    #[arg(long, value_name = "SIZE", default_value_t = CHUNK_BYTES, value_parser = chunk_bytes)]
    pub chunk_bytes: u64,
    /// Record from a source that cannot wait, in place of sessions: what finds no room is lost
    #[arg(long, requires = "rate")]
    pub gapless: bool,
    /// Bytes a second that the source sends, such as 2GB/s [default: as many as are taken]
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    pub rate: Option<u64>,
    /// Bytes a second at which what is read back is taken [default: as it comes]
    #[arg(long, value_name = "RATE", value_parser = values::rate, conflicts_with = "gapless")]
    pub read_rate: Option<u64>,
    /// For how long a source that cannot wait sends, in simulated time [default: 50ms]
    #[arg(long = "for", value_name = "TIME", value_parser = seconds, requires = "gapless")]
    pub time: Option<Time>,
    /// Bytes of the stream FIFO in DRAM, a multiple of 4KiB; 0: it is on chip, with 32 KiB
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = values::size)]
    pub fifo: u64,
    /// That DRAM: ddr4-2400, hbm2-1800, or a TOML file
    #[arg(long, value_name = "NAME", default_value = "ddr4-2400")]
    pub dram: String,
    /// Let drives pause after this number of bytes written [default: the profile's]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub pause_every: Option<u64>,
    /// For how long they pause [default: the profile's]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub pause: Option<Time>,
    /// Time from enabling a drive's controller until it is ready: tens of milliseconds are usual, and
    /// take millions of cycles
    #[arg(long, value_name = "TIME", default_value = "200us", value_parser = seconds)]
    pub ready: Time,
    /// For how long PERST# is asserted, and what passes from link-up to the first request; PCI
    /// Express has 100ms
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = seconds)]
    pub reset: Time,
    /// Time from PERST# to link-up
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = seconds)]
    pub link: Time,
    /// Period of the RTL's clock: a fraction of a microsecond. The stream carries 64 bytes in each
    #[arg(long, value_name = "TIME", default_value = "4ns", value_parser = clock)]
    pub clock: Time,
    /// Pause all ports at random: CHANCE[:CYCLES]
    #[arg(long, value_name = "PAUSE", value_parser = stall)]
    pub stall: Option<StallSpec>,
    /// Let a drive fail: [DRIVE/]ACTION@WHEN[:TIMES], e.g. fail=0x281@nth=3, not-ready@2ms,
    /// fatal@500us
    #[arg(long, value_name = "FAULT", value_parser = values::fault)]
    pub fault: Vec<FaultSpec>,
    /// Let the memory of the FIFO answer with errors: read@FROM..TO or write@FROM..TO
    #[arg(long, value_name = "FAULT", value_parser = values::dram_fault)]
    pub dram_fault: Vec<DramFault>,
    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

impl RecorderArgs {
    /// What is recorded, on what.
    pub fn spec(&self) -> RecorderSpec {
        let most = if self.full { CHUNKS_MOST } else { 64 };
        let powers = (0..).map(|power| 1 << power);
        let sessions = powers.take_while(|chunks| *chunks <= most);
        let chunks = self.chunks.clone().unwrap_or_else(|| sessions.collect());
        let gapless = self.rate.filter(|_| self.gapless);
        let pauses = self.pause_every.is_some() || self.pause.is_some();
        RecorderSpec {
            profiles: self.profile.clone(),
            drives: self.drives,
            queue_entries: self.queue_entries,
            chunk_bytes: self.chunk_bytes,
            chunks: if self.gapless { Vec::new() } else { chunks },
            gapless: gapless.map(|bytes_per_second| GaplessSpec {
                bytes_per_second,
                time_ps: self.time.unwrap_or(GAPLESS),
            }),
            bytes_per_second: self.rate.filter(|_| !self.gapless),
            read_bytes_per_second: self.read_rate,
            fifo_bytes: self.fifo,
            dram: self.dram.clone(),
            pause: pauses.then_some(PauseSpec {
                every_bytes: self.pause_every,
                length_ps: self.pause,
            }),
            ready_ps: Some(self.ready),
            reset_us: self.reset.div_ceil(forebay_model::MICROSECOND),
            link_ps: self.link,
            period_ps: self.clock,
            stall: self.stall.clone(),
            faults: self.fault.clone(),
            dram_faults: self.dram_fault.clone(),
            seed: self.seed,
        }
    }
}

/// Reads `--chunk-bytes`.
fn chunk_bytes(text: &str) -> Result<u64, String> {
    match values::length(text)? {
        bytes if bytes.is_power_of_two() && (16 << 10..=1 << 20).contains(&bytes) => Ok(bytes),
        _ => Err(format!(
            "`{text}` is no power of two from 16KiB to 1MiB; choose 128KiB"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_have_sizes_of_the_rtl() {
        assert_eq!(chunk_bytes("128KiB"), Ok(CHUNK_BYTES));
        for text in ["8KiB", "2MiB", "48KiB", "x"] {
            assert!(chunk_bytes(text).is_err(), "{text}");
        }
    }
}
