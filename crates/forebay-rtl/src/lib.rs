// SPDX-License-Identifier: Apache-2.0
//! Builds RTL with Verilator into a shared library at run time, loads it, and gives safe access to
//! its ports.
//!
//! ```no_run
//! use forebay_rtl::{Builder, Model, Source};
//! # fn main() -> Result<(), forebay_rtl::Error> {
//! let source = Source::new("counter").file("counter.sv");
//! let library = Builder::from_environment()?.build(&source, &mut |_| {})?;
//! let mut model = Model::load(&library)?;
//! let clk = model.port("clk")?;
//! let count = model.port("count")?;
//! for _ in 0..10 {
//!     model.set(clk, 1);
//!     model.eval()?;
//!     model.set(clk, 0);
//!     model.eval()?;
//! }
//! assert_eq!(model.get(count), 10);
//! # Ok(()) }
//! ```
//!
//! A [`Source`] says what to build; [`Builder`] runs Verilator and the C++ compiler and keeps the
//! result in a [`Cache`] under the hash of everything that went in, so that the second run of the
//! same design starts at once; [`Model`] is one instance of it. Assertions in the design, `$error`
//! and `$fatal` come back as [`Error::Model`], never as the end of the process.

mod builder;
mod cache;
mod error;
mod model;
mod ports;
mod source;
mod toolchain;

pub use builder::{Builder, Library, Progress};
pub use cache::Cache;
pub use error::{Error, Result};
pub use model::{Clock, Memory, Model, PortHandle};
pub use ports::{Direction, Port};
pub use source::Source;
pub use toolchain::{MARK as CHECKOUT_MARK, Toolchain, checkout_above};
