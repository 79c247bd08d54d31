// SPDX-License-Identifier: Apache-2.0
//! Integration tests of the co-simulation, in one executable: linking takes longer than most tests.

mod array;
mod bar;
mod common;
mod drives;
mod feed;
mod flight;
mod host_port;
mod memories;
mod network;
mod other_rtl;
mod parity;
mod peer;
mod poison;
mod progress;
mod recorder;
mod reference;
mod root;
mod system;
