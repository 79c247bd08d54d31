// SPDX-License-Identifier: Apache-2.0
//! `forebay seq run --on qemu`: a program that brings drives up, on those of QEMU.

use std::env;

use forebay_app::boot::DriveRow;
use forebay_app::interrupt;
use forebay_draw::text::Page;
use forebay_seq::boot::Boot;
use forebay_seq::{Program, Spaces};
use forebay_vm::guest::Ssd;
use forebay_vm::root::{QemuRoot, SETTINGS, attach, qemu};
use serde::Serialize;

use super::{Ran, carry_out};
use crate::args::SeqRunArgs;
use crate::boot::{complaint_list, drive_table};
use crate::failure::{Failure, Result};

/// What a program found below the root port.
#[derive(Serialize)]
pub struct Found {
    drives: Vec<DriveRow>,
    /// What QEMU's controllers have to say against the program.
    complaints: Vec<String>,
}

/// Runs a program with these drives below QEMU's root port.
pub fn run(args: &SeqRunArgs, program: &Program) -> Result<Ran> {
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::file("making a folder in", &env::temp_dir(), error))?;
    let drives: Vec<Ssd> = args.ssd.iter().map(|drive| drive.ssd.clone()).collect();
    let switch = args.ssd.iter().any(|drive| drive.switch);
    let mut machine = qemu();
    attach(&mut machine, &drives, switch)?;
    let root = QemuRoot::start(folder.path(), machine).map_err(interrupt::instead)?;
    let mut boot = Boot::new(root, SETTINGS);
    let began = boot.now_us();
    let mut ran = carry_out(args, program, &mut boot);
    ran.time_us = boot.now_us() - began;
    if let Some(failure) = boot.root().failure() {
        return Err(interrupt::instead(failure));
    }
    ran.found = Some(Found {
        drives: DriveRow::all(boot.ram(), boot.told().drives_ready),
        complaints: boot.root().machine().complaints()?,
    });
    Ok(ran)
}

impl Found {
    /// Shows drives and complaints.
    pub fn show(&self, page: &mut Page) {
        drive_table(page, &self.drives);
        complaint_list(page, &self.complaints);
    }
}
