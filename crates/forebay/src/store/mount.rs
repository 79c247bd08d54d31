// SPDX-License-Identifier: Apache-2.0
//! `forebay store mount`: objects as files, through FUSE, read-only.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use forebay_store::{FileDisk, Recording};
use fuser::{
    Config, Errno, FileHandle, Filesystem, Generation, INodeNo, LockOwner, MountOption, OpenFlags,
    ReplyAttr, ReplyData, ReplyDirectory, ReplyEntry, Request,
};

use super::open;
use super::tree::{Node, Tree};
use crate::args::StoreMountArgs;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::report;

/// How long the system may remember: nothing changes while it is mounted.
const REMEMBER: Duration = Duration::from_secs(3600);
/// Between two looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(100);

struct Files(Tree<'static>);

impl Filesystem for Files {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = Node::of(parent.into())
            .zip(name.to_str())
            .and_then(|(parent, name)| self.0.find(parent, name))
            .and_then(|node| self.0.attributes(node));
        match found {
            Some(attributes) => reply.entry(&REMEMBER, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let node = Node::of(inode.into());
        match node.and_then(|node| self.0.attributes(node)) {
            Some(attributes) => reply.attr(&REMEMBER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let node = Node::of(inode.into());
        match node.map(|node| self.0.read(node, offset, size as usize)) {
            Some(Ok(bytes)) => reply.data(&bytes),
            Some(Err(_)) => reply.error(Errno::EIO),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let Some(node) = Node::of(inode.into()) else {
            return reply.error(Errno::ENOENT);
        };
        let mut at = offset;
        while let Some((child, name)) = self.0.child(node, at) {
            at += 1;
            if reply.add(INodeNo(child.inode()), at, child.kind(), name) {
                break;
            }
        }
        reply.ok();
    }
}

fn failed(folder: &Path, error: &std::io::Error) -> Failure {
    let what = format!("mounting at {}: {error}", folder.display());
    Failure::new(
        Exit::Impossible,
        what,
        "the folder must be there and yours, and the system needs /dev/fuse and, for others than \
         root, fusermount3 (Debian's package fuse3); `forebay store extract` needs nothing",
    )
}

/// Runs it.
pub fn run(args: &StoreMountArgs) -> Result<Exit> {
    // Threads of the mount use both until the program ends.
    let disk: &'static FileDisk = Box::leak(Box::new(open::read(&args.disk)?));
    let recording: &'static Recording<'static, FileDisk> =
        Box::leak(Box::new(Recording::open(disk)?));
    open::warn(recording);
    let owner = std::fs::metadata(&args.disk)
        .map_err(|error| Failure::file("reading", &args.disk, error))?;
    let tree = Tree::new(recording, &owner, !args.unchecked);
    let files = tree.len();
    let mut options = Config::default();
    options.mount_options = vec![
        MountOption::RO,
        MountOption::FSName("forebay".into()),
        MountOption::DefaultPermissions,
    ];
    let mount = fuser::spawn_mount(Files(tree), &args.folder, &options)
        .map_err(|error| failed(&args.folder, &error))?;
    report::say(&format!(
        "{files} payloads at {}: Ctrl-C or `umount` ends it\n",
        args.folder.display()
    ));
    while !interrupt::wanted() && !mount.guard.is_finished() {
        std::thread::sleep(LOOK);
    }
    let ended = match mount.guard.is_finished() {
        true => mount.join(),
        false => mount.umount_and_join(),
    };
    ended.map_err(|error| failed(&args.folder, &error))?;
    Ok(Exit::Good)
}
