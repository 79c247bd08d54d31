// SPDX-License-Identifier: Apache-2.0
//! The network beyond the MAC's pins: its time to the picosecond, its pauses, its frames.

mod line;
mod objects;
mod pause;
mod rig;
mod sources;
mod switch;
