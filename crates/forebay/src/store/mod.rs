// SPDX-License-Identifier: Apache-2.0
//! `forebay store`: recordings on images and drives.

mod disks;
mod extract;
mod format;
mod info;
mod ls;
mod mount;
mod pack;
mod python;
mod repair;
mod report;
mod verify;

pub use disks::consent;
use forebay_spec::store::schema::Cipher;
use forebay_store::{Disk, Key, Recording};

use crate::args::{KeyArgs, StoreCommand};
use crate::failure::{Exit, Result};

/// Tells on standard error what is not as it should be.
fn warn(recording: &Recording<'_>) {
    for complaint in recording.complaints() {
        eprintln!("warning: {complaint}");
    }
}

/// Opens a recording, with its key where one is given; tells on standard error what is not as it should
/// be, and where payload will come encrypted.
fn open<'d>(disk: &'d dyn Disk, key: &KeyArgs) -> Result<Recording<'d>> {
    let mut recording = Recording::open(disk)?;
    match &key.key_file {
        Some(path) => recording = recording.with_key(&Key::read(path)?)?,
        None => note(recording.superblock().schema.cipher),
    }
    warn(&recording);
    Ok(recording)
}

/// Says that payload comes encrypted.
fn note(cipher: Option<Cipher>) {
    if let Some(cipher) = cipher {
        eprintln!(
            "note: payload is encrypted with {}, and comes as it lies there; `forebay store extract \
             --key-file` decrypts it",
            cipher.name()
        );
    }
}

/// Runs it.
pub fn run(store: &StoreCommand) -> Result<Exit> {
    match store {
        StoreCommand::Format(args) => format::run(args),
        StoreCommand::Pack(args) => pack::run(args),
        StoreCommand::Info(args) => info::run(args),
        StoreCommand::Ls(args) => ls::run(args),
        StoreCommand::Cat(args) => extract::cat(args),
        StoreCommand::Extract(args) => extract::run(args),
        StoreCommand::Tar(args) => extract::tar(args),
        StoreCommand::Verify(args) => verify::run(args),
        StoreCommand::Repair(args) => repair::run(args),
        StoreCommand::Undo(args) => repair::undo(args),
        StoreCommand::Mount(args) => mount::run(args),
        StoreCommand::Sql(args) => python::sql(args),
        StoreCommand::Export(args) => python::export(args),
        StoreCommand::Report(args) => report::run(args),
    }
}
