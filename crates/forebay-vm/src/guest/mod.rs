// SPDX-License-Identifier: Apache-2.0
//! A Linux guest: its image, the machine around it, and running commands in it.
//!
//! Everything comes from Debian packages, unpacked into a cache folder: QEMU, kernel, tools. The
//! guest boots from memory into a process of ours, which runs one command and powers off. Its
//! output and its files travel over virtio ports; the serial line carries kernel messages only,
//! and is kept in a file.

pub mod cpio;
mod error;
mod image;
mod launch;
mod machine;
mod program;

pub use error::{Error, Result};
pub use image::Image;
pub use launch::{Job, run, shell};
pub use machine::{Access, Inject, Iommu, MEMORY_LEAST, Machine, Namespace, Ssd};
pub(crate) use machine::{device, vfio_user};
pub use program::Program;
