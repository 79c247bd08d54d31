// SPDX-License-Identifier: Apache-2.0
//! `forebay store mount`: objects as files, through FUSE, read-only.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use forebay_app::interrupt;
use forebay_store::{Disk, Node, Recording, Tree};
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, LockOwner,
    MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEntry, Request,
};

use super::{disks, open};
use crate::args::StoreMountArgs;
use crate::failure::{Exit, Failure, Result};
use crate::report;

/// How long the system may remember: nothing changes while it is mounted.
const REMEMBER: Duration = Duration::from_secs(3600);
/// Between two looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(100);

struct Files {
    tree: Tree<'static>,
    /// User and group of the image.
    owner: (u32, u32),
}

impl Files {
    fn attributes(&self, node: Node) -> Option<FileAttr> {
        let (size, time_ns) = self.tree.attributes(node)?;
        let time = UNIX_EPOCH.checked_add(Duration::from_nanos(time_ns));
        let time = time.unwrap_or(UNIX_EPOCH);
        let folder = node.is_folder();
        Some(FileAttr {
            ino: INodeNo(node.inode()),
            size,
            blocks: size.div_ceil(512),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind: kind(node),
            perm: if folder { 0o555 } else { 0o444 },
            nlink: if folder { 2 } else { 1 },
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

const fn kind(node: Node) -> FileType {
    match node.is_folder() {
        true => FileType::Directory,
        false => FileType::RegularFile,
    }
}

impl Filesystem for Files {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = Node::of(parent.into())
            .zip(name.to_str())
            .and_then(|(parent, name)| self.tree.find(parent, name))
            .and_then(|node| self.attributes(node));
        match found {
            Some(attributes) => reply.entry(&REMEMBER, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let node = Node::of(inode.into());
        match node.and_then(|node| self.attributes(node)) {
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
        match node.map(|node| self.tree.read(node, offset, size as usize)) {
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
        while let Some((child, name)) = self.tree.child(node, at) {
            at += 1;
            if reply.add(INodeNo(child.inode()), at, kind(child), name) {
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
    let disk: &'static dyn Disk = Box::leak(disks::read(&args.on.disks)?);
    let recording: &'static Recording<'static> = Box::leak(Box::new(open(disk, &args.key)?));
    let first = &disks::named(&args.on.disks)[0];
    let owner = std::fs::metadata(first).map_err(|error| Failure::file("reading", first, error))?;
    let tree = Tree::new(recording, !args.unchecked);
    let files = tree.len();
    let owner = (owner.uid(), owner.gid());
    let mut options = Config::default();
    options.mount_options = vec![
        MountOption::RO,
        MountOption::FSName("forebay".into()),
        MountOption::DefaultPermissions,
    ];
    let mount = fuser::spawn_mount(Files { tree, owner }, &args.folder, &options)
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
