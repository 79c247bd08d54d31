// SPDX-License-Identifier: Apache-2.0
//! What is moved in a measurement: lists of transactions.

use std::collections::BTreeSet;
use std::io;

use forebay_cosim::{Access, Direction, Read, Sink, System, Workload, Write, fill_pattern};
use forebay_driver::Layout;
use forebay_model::Ssd;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::failure::{Exit, Failure, Result};

/// A transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// Which way.
    pub direction: Direction,
    /// First byte on the drive.
    pub address: u64,
    /// Bytes.
    pub length: u64,
}

impl Op {
    /// Hands it to the user's streams: writes carry the pattern of `seed`, reads are compared with
    /// it.
    pub fn submit(&self, system: &mut System, seed: u64) -> u64 {
        let Self {
            direction,
            address,
            length,
        } = *self;
        match direction {
            Direction::Write => system.submit_write(Write::pattern(address, length, seed)),
            Direction::Read => {
                system.submit_read(Read::new(address, length, Sink::Pattern { seed }))
            }
        }
    }
}

/// Random numbers that follow from a seed; `stream` gives each user of one seed numbers of its own.
pub fn random(seed: u64, stream: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// A number below `limit`, which is not 0. The bias of at most `limit` in 2^64 is of no matter.
pub fn below(random: &mut Pcg64Mcg, limit: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(limit)) >> 64) as u64
}

/// The transactions of a workload.
pub fn ops(workload: &Workload) -> Vec<Op> {
    let Workload {
        direction,
        size: length,
        ..
    } = *workload;
    workload
        .addresses()
        .map(|address| Op {
            direction,
            address,
            length,
        })
        .collect()
}

/// One after the other from address 0: `bytes` in all, `size` each, the last one whole.
pub fn sequential(direction: Direction, bytes: u64, size: u64) -> Workload {
    let count = bytes.div_ceil(size).max(1);
    let (access, span) = (Access::Sequential, count * size);
    Workload {
        direction,
        access,
        size,
        count,
        span,
        seed: 0,
    }
}

/// Random multiples of `size` in the first `span` bytes: `bytes` in all.
pub fn scattered(direction: Direction, bytes: u64, size: u64, span: u64, seed: u64) -> Workload {
    let count = (bytes / size).max(1);
    Workload {
        direction,
        access: Access::Random,
        size,
        count,
        span,
        seed,
    }
}

/// Puts the pattern where reads will look for it, and the parity of it, past the drives' own ways:
/// what a drive holds before a measurement is not part of it.
///
/// # Errors
/// Where a medium ends before or its file fails.
pub fn prepare(ssds: &mut [Ssd], layout: Layout, ops: &[Op], seed: u64) -> Result<()> {
    let mut data = Vec::new();
    let mut rows = BTreeSet::new();
    for op in ops {
        let mut address = op.address;
        for (drive, at, bytes) in layout.split(op.address, op.length) {
            data.resize(bytes as usize, 0);
            fill_pattern(seed, address, &mut data);
            address += bytes;
            rows.insert(at / layout.stripe_unit());
            let Some(ssd) = ssds.get_mut(drive) else {
                continue;
            };
            let written = ssd.medium_mut().write(at, &data);
            written.map_err(|error| too_small(drive, at, bytes, &error))?;
        }
    }
    let Some((last, others)) = ssds.split_last_mut().filter(|_| layout.parity()) else {
        return Ok(());
    };
    for row in rows {
        let (at, bytes) = (row * layout.stripe_unit(), layout.stripe_unit());
        let mut sum = vec![0; bytes as usize];
        for (drive, ssd) in others.iter().enumerate() {
            let data = ssd.medium().read(at, bytes as usize);
            let data = data.map_err(|error| too_small(drive, at, bytes, &error))?;
            sum.iter_mut().zip(data.iter()).for_each(|(a, b)| *a ^= b);
        }
        let written = last.medium_mut().write(at, &sum);
        written.map_err(|error| too_small(others.len(), at, bytes, &error))?;
    }
    Ok(())
}

fn too_small(drive: usize, at: u64, bytes: u64, error: &io::Error) -> Failure {
    Failure::new(
        Exit::BadInput,
        format!("drive {drive} cannot hold {bytes} bytes at {at:#x}: {error}"),
        "move fewer bytes, or take a larger drive (--profile)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_driver::ArrayOptions;
    use forebay_model::Medium;

    #[test]
    fn workloads_move_what_they_should() {
        let all = ops(&sequential(Direction::Read, 10_000, 4096));
        assert_eq!(
            all.iter().map(|op| op.address).collect::<Vec<_>>(),
            [0, 4096, 8192]
        );
        let all = ops(&scattered(Direction::Write, 1 << 20, 4096, 2 << 20, 3));
        assert_eq!(all.len(), 256);
        assert!(
            all.iter()
                .all(|op| op.address % 4096 == 0 && op.address + 4096 <= 2 << 20)
        );
    }

    #[test]
    fn what_is_prepared_lies_there() {
        let ssd = || {
            let profile = forebay_model::Profile::builtin("ideal").unwrap();
            Ssd::new(&profile.ssd, Medium::in_memory(profile.ssd.bytes()), 1).unwrap()
        };
        let mut ssds = [ssd(), ssd()];
        let (drives, chunk) = (2, 4096);
        let layout = Layout::new(ArrayOptions::striped(drives, chunk)).unwrap();
        let all = ops(&scattered(Direction::Read, 16384, 8192, 1 << 20, 9));
        assert!(prepare(&mut ssds, layout, &all, 5).is_ok());
        let mut expected = vec![0; 8192];
        fill_pattern(5, all[0].address, &mut expected);
        let mut stored = Vec::new();
        for (drive, at, bytes) in layout.split(all[0].address, 8192) {
            stored.extend_from_slice(&ssds[drive].medium().read(at, bytes as usize).unwrap());
        }
        assert_eq!(stored, expected);
        let beyond = [Op {
            address: 1 << 60,
            ..all[0]
        }];
        assert!(prepare(&mut ssds, Layout::ONE, &beyond, 5).is_err());
    }
}
