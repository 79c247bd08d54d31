// SPDX-License-Identifier: Apache-2.0
//! Integration tests of the devices that QEMU is served, in one executable.

mod protocol;
mod root;
mod server;
mod ssd;
mod streamer;
mod support;
