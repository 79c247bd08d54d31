// SPDX-License-Identifier: Apache-2.0
//! The guest's image: made by a recipe, kept under the recipe's hash.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use super::error::{Error, Result};

const RECIPE: &str = include_str!("../../guest/make.sh");
const INIT: &str = include_str!("../../guest/init");
/// What a whole image has.
const PARTS: [&str; 4] = ["root", "vmlinux", "initramfs.cpio", "packages.txt"];
/// Lines of the recipe's output that are shown when it fails.
const SHOWN_LINES: usize = 12;
/// Where Debian keeps libraries, in `root/`.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// A folder with QEMU, a kernel and what the guest runs.
#[derive(Clone, Debug)]
pub struct Image {
    folder: PathBuf,
}

impl Image {
    /// The image in this cache folder, made if it is not there; `making` is called before that.
    ///
    /// It appears by one rename, so that it is either whole or absent.
    ///
    /// # Errors
    /// Where the recipe fails: a tool or the network is missing.
    pub fn get(cache: &Path, making: impl FnOnce()) -> Result<Self> {
        let image = Self::at(cache);
        if image.is_whole() {
            return Ok(image);
        }
        fs::create_dir_all(cache).map_err(Error::io("making the cache folder", cache))?;
        let lock_path = image.folder.with_extension("lock");
        let lock = File::create(&lock_path).map_err(Error::io("making the file", &lock_path))?;
        lock.lock()
            .map_err(Error::io("waiting for the lock", &lock_path))?;
        // Another process may have made it while this one waited.
        if !image.is_whole() {
            making();
            image.make(cache)?;
        }
        Ok(image)
    }

    /// Where the image of this recipe lies in this cache folder.
    fn at(cache: &Path) -> Self {
        let hash = Sha256::new()
            .chain_update(RECIPE)
            .chain_update([0])
            .chain_update(INIT)
            .finalize();
        let name: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            folder: cache.join(name),
        }
    }

    fn is_whole(&self) -> bool {
        PARTS.iter().all(|part| self.folder.join(part).exists())
    }

    fn make(&self, cache: &Path) -> Result<()> {
        let work = tempfile::Builder::new()
            .prefix("work-")
            .tempdir_in(cache)
            .map_err(Error::io("making a folder in", cache))?;
        let (recipe, init) = (work.path().join("make.sh"), work.path().join("init"));
        for (path, text) in [(&recipe, RECIPE), (&init, INIT)] {
            fs::write(path, text).map_err(Error::io("writing", path))?;
        }
        let done = Command::new("bash")
            .args([&recipe, work.path(), &init])
            .env_remove("LD_LIBRARY_PATH")
            .stdin(Stdio::null())
            .output()
            .map_err(Error::io("starting bash for", &recipe))?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            let mut lines: Vec<_> = said.lines().collect();
            let remedy = lines.pop().unwrap_or("try again").to_owned();
            // The recipe's own words come last, behind those of the tool that failed.
            let what = lines.pop().unwrap_or("it said nothing");
            let from = lines.len().saturating_sub(SHOWN_LINES);
            let said = [&[what], &lines[from..]].concat().join("\n");
            return Err(Error::Image { said, remedy });
        }
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(Error::io("removing", &self.folder))?;
        }
        let made = work.keep();
        fs::rename(&made, &self.folder).map_err(Error::io("renaming to", &self.folder))
    }

    /// Where it lies.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Name, version and hash of each package, a line each.
    pub fn packages(&self) -> Result<String> {
        let path = self.folder.join("packages.txt");
        fs::read_to_string(&path).map_err(Error::io("reading", &path))
    }

    pub(crate) fn kernel(&self) -> PathBuf {
        self.folder.join("vmlinux")
    }

    pub(crate) fn initramfs(&self) -> PathBuf {
        self.folder.join("initramfs.cpio")
    }

    /// QEMU, started through the loader and the libraries of the image.
    pub(crate) fn qemu(&self) -> Command {
        let root = self.folder.join("root");
        let libraries = root.join(LIBRARIES);
        let mut command = Command::new(libraries.join("ld-linux-x86-64.so.2"));
        command
            .arg("--library-path")
            .arg(&libraries)
            .arg(root.join("usr/bin/qemu-system-x86_64"))
            .env("QEMU_MODULE_DIR", libraries.join("qemu"));
        for data in ["usr/share/qemu", "usr/share/seabios"] {
            command.arg("-L").arg(root.join(data));
        }
        command
    }
}
