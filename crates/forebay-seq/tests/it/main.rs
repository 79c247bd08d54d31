// SPDX-License-Identifier: Apache-2.0
//! Programs of the sequencer: their words, their errors, how they run.

mod errors;
mod flow;
mod properties;
mod running;
mod support;
mod words;
