// SPDX-License-Identifier: Apache-2.0
//! Integration tests of recordings, in one executable: linking takes longer than most tests.

mod capture;
mod files;
mod power;
mod repair;
mod roundtrip;
