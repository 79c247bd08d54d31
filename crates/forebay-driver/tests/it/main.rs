// SPDX-License-Identifier: Apache-2.0
//! Integration tests of the driver, in one executable: linking takes longer than most tests.

mod bring_up;
mod chaos;
mod elements;
mod flight;
mod host_port;
mod inspect;
mod qemu;
mod queue_pair;
mod record;
mod support;
