// SPDX-License-Identifier: Apache-2.0
//! What is to be measured, and whether it may be.

use std::fs;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use forebay_vfio::Sysfs;
use forebay_vfio::usage::{self, Claim};

use super::QualifySpec;
use crate::failure::{Exit, Failure, Result};

/// The least that is worth measuring.
const LEAST_BYTES: u64 = 16 << 20;

/// A device or file that may be measured.
#[derive(Debug)]
pub struct Target {
    /// Its path.
    pub path: PathBuf,
    /// Bytes.
    pub bytes: u64,
    /// log2 of its logical block.
    pub block_shift: u8,
    /// What it is, in plain letters.
    pub model: String,
    /// Keeps others from beginning to use the device meanwhile.
    _claim: Option<Claim>,
}

impl Target {
    /// The target that the options name.
    ///
    /// # Errors
    /// Where it is neither file nor block device, too small, or in use and not told so twice.
    pub fn of(spec: &QualifySpec, path: &Path) -> Result<Self> {
        let fails = |source| Failure::file("looking at", path, source);
        // A link is followed, so that what is checked is what fio opens.
        let path = &path.canonicalize().map_err(fails)?;
        let about = fs::metadata(path).map_err(fails)?;
        let target = if about.is_file() {
            Self {
                path: path.clone(),
                bytes: about.len(),
                block_shift: 9,
                model: "file".into(),
                _claim: None,
            }
        } else if about.file_type().is_block_device() {
            Self::device(spec, path, about.st_rdev())?
        } else {
            return Err(Failure::input(
                "DEVICE|FILE",
                path.display(),
                "it must be a block device or a regular file",
                "`forebay devices` lists the drives; namespaces are /dev/nvme0n1 and so on",
            ));
        };
        if target.bytes < LEAST_BYTES {
            return Err(Failure::input(
                "DEVICE|FILE",
                format!("{} with {} bytes", path.display(), target.bytes),
                "16 MiB are the least to measure",
                "fill a file first, such as with dd if=/dev/urandom bs=1M count=4096",
            ));
        }
        Ok(target)
    }

    fn device(spec: &QualifySpec, path: &Path, number: u64) -> Result<Self> {
        let sysfs = Sysfs::default();
        let (major, minor) = split(number);
        let Some(name) = usage::block_name(&sysfs, major, minor) else {
            return Err(Failure::new(
                Exit::Impossible,
                format!(
                    "the kernel does not know {} ({major}:{minor})",
                    path.display()
                ),
                "check that /sys is mounted: without it the users of the device are not known",
            ));
        };
        let uses = usage::block_uses(&sysfs, &name)?;
        let told_twice = spec.even_in_use && spec.i_mean_it;
        if !uses.is_empty() && !told_twice {
            return Err(Failure::new(
                Exit::BadInput,
                format!("{} is in use: {}", path.display(), uses.join("; ")),
                "measure a drive that is not in use, or a file on this one; with both --even-in-use \
                 and --i-mean-it it is done all the same, and with --write what is there is lost",
            ));
        }
        let claim = usage::claim_block(&sysfs, &name);
        if claim.is_none() && uses.is_empty() {
            return Err(Failure::new(
                Exit::Impossible,
                format!("{} cannot be opened for this alone", path.display()),
                "be root, and check that no program uses it",
            ));
        }
        let text = |file: &str| {
            let path = sysfs.path(&format!("sys/class/block/{name}/{file}"));
            fs::read_to_string(path)
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let block: u64 = text("queue/logical_block_size").parse().unwrap_or(512);
        let plain = |c: &char| c.is_ascii_alphanumeric() || " .-".contains(*c);
        let model: String = text("device/model")
            .chars()
            .filter(plain)
            .take(40)
            .collect();
        Ok(Self {
            path: path.to_owned(),
            // In blocks of 512 bytes, whatever the device's are.
            bytes: text("size").parse::<u64>().unwrap_or(0).saturating_mul(512),
            block_shift: if block == 4096 { 12 } else { 9 },
            model: if model.is_empty() { name } else { model },
            _claim: claim,
        })
    }
}

/// Major and minor number, as glibc's `gnu_dev_major` and `gnu_dev_minor` have them.
const fn split(number: u64) -> (u32, u32) {
    let major = number >> 8 & 0xfff | number >> 32 & 0xffff_f000;
    let minor = number & 0xff | number >> 12 & 0xffff_ff00;
    (major as u32, minor as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_split_as_in_glibc() {
        assert_eq!(split(0x10302), (259, 2));
        assert_eq!(split(0x801), (8, 1));
        assert_eq!(split(0x0010_0805), (8, 0x105));
    }
}
