// SPDX-License-Identifier: Apache-2.0
//! The streamer's RTL, a PCIe fabric, an NVMe drive and host memory on one clock.
//!
//! ```no_run
//! use forebay_cosim::{Config, Read, Sink, System, Write, rtl};
//! use forebay_model::Profile;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rtl = rtl::onchip(".".as_ref(), 64, 1024);
//! let mut system = System::new(Config::new(rtl, Profile::load("ideal")?), &mut |_| {})?;
//! system.bring_up(&mut |step| println!("{step:?}"))?;
//! system.reset_stats();
//! system.submit_write(Write::pattern(0, 1 << 20, 7));
//! system.run()?;
//! system.submit_read(Read::new(0, 1 << 20, Sink::Pattern { seed: 7 }));
//! system.run()?;
//! let stats = system.stats();
//! println!("{} B/cycle, {} differ", stats.writes.bytes_per_cycle(), stats.reads.mismatched);
//! system.shutdown(&mut |_| {})?;
//! # Ok(()) }
//! ```
//!
//! Each clock cycle the models set the inputs, the RTL is evaluated with the clock low, transfers
//! are taken where valid and ready meet, and the RTL is evaluated with the clock high. What reaches
//! the fabric in a cycle can be answered from the next cycle on. Everything random follows from
//! [`Config::seed`].
//!
//! Any RTL with the same pins can be loaded in place of ours, see [`rtl::third_party`].
#![forbid(unsafe_code)]

mod aperture;
mod bridge;
mod card;
mod config;
mod core;
mod dma;
mod dram;
mod dut;
mod error;
mod held;
mod lifecycle;
mod lite;
mod mac;
mod machine;
pub mod measure;
mod own_clock;
mod ownership;
mod pace;
mod payload;
mod pins;
mod reads;
pub mod reference;
pub mod root;
mod stall;
mod stats;
mod system;
mod target;
mod transaction;
mod window;
mod workload;
mod writes;

pub use card::{Card, Sent};
pub use config::{CLOCK_PERIOD, Config, DramFault, Drive, Stall, Stalls, Waves, rtl};
pub use error::{Error, Result};
pub use machine::{FPGA, SSD};
pub use pace::{Pace, Paced};
pub use payload::{Mismatch, Payload, Sink, fill_pattern};
pub use pins::PinSet;
pub use reference::{Design, Fed, Feed, FeedPace, RTL_ANSWER, Reference, ReferenceRun};
pub use stats::{Beats, Direction, Flow, Outcome, Stats};
pub use system::{Snapshot, System};
pub use transaction::{Damage, Read, Write};
pub use workload::{Access, Workload};
