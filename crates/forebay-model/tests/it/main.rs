// SPDX-License-Identifier: Apache-2.0
//! Integration tests of the models, in one executable: linking takes longer than most tests.

mod admin;
mod dram;
mod fabric;
mod faults;
mod ideal;
mod pressure;
mod profiles;
mod record;
mod robust;
mod support;
mod timing;
mod tree;
mod wire;
