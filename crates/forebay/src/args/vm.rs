// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay vm`: the machine around the guest.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::{Args, Subcommand};
use forebay_vm::guest::{Access, Inject, Iommu, Namespace, Ssd};

use super::{ServeCommand, values};

/// What to do with a guest.
#[derive(Debug, Subcommand)]
pub enum VmCommand {
    /// Boot, run a command, bring back its output, its files and its exit code, power off
    Run(VmRunArgs),
    /// Boot and give the terminal to a shell; `exit` powers off
    Shell(VmArgs),
    /// Serve a model as a PCIe device: start this first, then `vm run --device SOCKET`
    Serve {
        #[command(subcommand)]
        device: ServeCommand,
    },
    /// Make the guest's image if it is not there, and list the packages in it
    Image,
}

#[derive(Args, Debug)]
pub struct VmRunArgs {
    /// Give up after this time
    #[arg(long, value_name = "TIME", default_value = "300s", value_parser = values::duration)]
    pub timeout: Duration,
    #[command(flatten)]
    pub vm: VmArgs,
    /// The command, run in /share of the guest
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// The guest and its machine.
#[derive(Args, Debug)]
pub struct VmArgs {
    /// Add an NVMe controller of QEMU's: FILE[:OPTION,…][+FILE[:OPTION,…]…], a namespace for each
    /// raw image. Options: block=512|4096, size=SIZE (made where missing), error=read@LBA or
    /// write@LBA[@once]; for the controller: mdts=SIZE|none, serial=TEXT, queues=N,
    /// cmb=SIZE (memory that other devices reach)
    #[arg(long, value_name = "FILE[:OPTIONS]", value_parser = ssd)]
    pub ssd: Vec<Ssd>,
    /// Add the device of the vfio-user server at this socket
    #[arg(long, value_name = "SOCKET")]
    pub device: Vec<PathBuf>,
    /// The IOMMU: none; one that the kernel's own drivers pass through; one that always translates
    #[arg(long, value_parser = iommu(), default_value = "off")]
    pub iommu: Iommu,
    /// Memory of the guest
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = values::length)]
    pub memory: u64,
    /// Copy this folder to /share of the guest, and files that change there back
    #[arg(long, value_name = "DIR")]
    pub share: Option<PathBuf>,
    /// Also put this program of this machine into the guest (`forebay` itself always is)
    #[arg(long, value_name = "FILE")]
    pub program: Vec<PathBuf>,
    /// Where the kernel's messages go [default: build/vm/serial.log]
    #[arg(long, value_name = "FILE")]
    pub serial_log: Option<PathBuf>,
    /// Let QEMU listen here to QMP, its own protocol
    #[arg(long, value_name = "SOCKET")]
    pub qmp: Option<PathBuf>,
}

/// Reads the mode of the IOMMU.
fn iommu() -> impl TypedValueParser<Value = Iommu> {
    values::named([
        (Iommu::Off, "off", "None"),
        (Iommu::PassThrough, "pt", "Pass-through"),
        (Iommu::Translate, "translate", "Translating"),
    ])
}

/// Reads `--ssd`.
pub(super) fn ssd(text: &str) -> Result<Ssd, String> {
    let mut ssd = Ssd::default();
    for part in text.split('+') {
        // A name may have a colon in it: options are what comes behind the last, if they look so.
        let (image, options) = match part.rsplit_once(':') {
            Some((image, options)) if options.contains('=') => (image, options),
            _ => (part, ""),
        };
        if image.is_empty() {
            return Err(format!("`{text}` lacks the name of an image"));
        }
        let mut namespace = Namespace {
            image: image.into(),
            size: None,
            block: 512,
            errors: Vec::new(),
        };
        for option in options.split(',').filter(|option| !option.is_empty()) {
            set(&mut ssd, &mut namespace, option)?;
        }
        ssd.namespaces.push(namespace);
    }
    Ok(ssd)
}

fn set(ssd: &mut Ssd, namespace: &mut Namespace, option: &str) -> Result<(), String> {
    let (key, value) = option.split_once('=').unwrap_or((option, ""));
    let number = |least: u16| match value.parse::<u16>() {
        Ok(number) if number >= least => Ok(number),
        _ => Err(format!("`{value}` is no number from {least} to 65535")),
    };
    match (key, value) {
        ("block", "512") => namespace.block = 512,
        ("block", "4096") => namespace.block = 4096,
        ("block", _) => return Err(format!("block is `{value}`; it can be 512 or 4096")),
        ("size", _) => namespace.size = Some(values::length(value)?),
        ("error", _) => namespace.errors.push(error(value)?),
        ("mdts", "none") => ssd.transfer = Some(0),
        ("mdts", _) => ssd.transfer = Some(values::length(value)?),
        ("cmb", _) => ssd.memory = values::length(value)?,
        ("queues", _) => ssd.queues = Some(number(1)?),
        // Identify Controller has 20 ASCII characters for it.
        ("serial", _) if (1..=20).contains(&value.len()) && value.is_ascii() => {
            ssd.serial = Some(value.to_owned());
        }
        ("serial", _) => return Err(format!("serial is `{value}`; 1 to 20 ASCII characters fit")),
        _ => {
            return Err(format!(
                "no option is named `{key}`; there are: block, size, error, mdts, serial, queues, cmb"
            ));
        }
    }
    Ok(())
}

fn error(text: &str) -> Result<Inject, String> {
    let bad = || format!("`{text}` is no error; write read@LBA or write@LBA, and @once behind it");
    let (access, rest) = text.split_once('@').ok_or_else(bad)?;
    let access = match access {
        "read" => Access::Read,
        "write" => Access::Write,
        _ => return Err(bad()),
    };
    let (lba, once) = match rest.split_once('@') {
        Some((lba, "once")) => (lba, true),
        Some(_) => return Err(bad()),
        None => (rest, false),
    };
    let lba = lba.parse().map_err(|_| bad())?;
    Ok(Inject { access, lba, once })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_are_read() {
        let two = ssd("a:b.img:mdts=8KiB+c.img:block=4096,size=1MiB,error=write@7@once").unwrap();
        assert_eq!(two.transfer, Some(8192));
        assert_eq!(two.namespaces.len(), 2);
        assert_eq!(two.namespaces[0].image, PathBuf::from("a:b.img"));
        let inject = Inject {
            access: Access::Write,
            lba: 7,
            once: true,
        };
        assert_eq!(two.namespaces[1].errors, [inject]);
        assert_eq!(two.namespaces[1].size, Some(1 << 20));
        for text in [
            "",
            "a.img+",
            "a.img:block=1024",
            "a.img:colour=red",
            "a.img:error=read",
            "a.img:error=flush@1",
            "a.img:error=read@1@twice",
            "a.img:serial=",
            "a.img:queues=0",
            "a.img:cmb=0",
        ] {
            assert!(ssd(text).is_err(), "{text}");
        }
    }
}
