// SPDX-License-Identifier: Apache-2.0
//! Bring-up of drives without a CPU: what the sequencer's program in `rtl/boot` finds in its spaces,
//! and the codes that it ends with.

pub mod regs;

use crate::numbered::numbered;

/// Upper half of the `version` register: "FBB1" in memory order.
pub const VERSION_MAGIC: u64 = regs::version::MAGIC.get(regs::version::RESET);
/// Major version of the register map that this crate describes.
pub const VERSION_MAJOR: u64 = regs::version::MAJOR.get(regs::version::RESET);

/// Spaces of the sequencer.
pub mod space {
    /// Configuration space as ECAM: bus in bits 27:20, device in 19:15, function in 14:12.
    pub const CFG: u8 = 0;
    /// Memory below the root port, by bus address.
    pub const MMIO: u8 = 1;
    /// Registers of streamer and recorder.
    pub const CTL: u8 = 2;
    /// The window of the admin queues.
    pub const ADM: u8 = 3;
    /// The program's own memory.
    pub const RAM: u8 = 4;
    /// What the program is told, and what it tells.
    pub const PORT: u8 = 5;
    /// Spaces in all.
    pub const COUNT: u8 = 6;
}

/// Offsets in the space `PORT`. Registers are 64 bits wide; reads of others and writes to those that
/// are only read end in error.
pub mod port {
    /// Read: bit 0 is 1 while the link is up. Bit 1 is 1 after an access of the root port's bridge was
    /// never answered, until a reset.
    pub const LINK: u16 = 0x00;
    /// Write: bit 0 is 1 to assert PERST#, as it is from a reset on.
    pub const PERST: u16 = 0x08;
    /// Read: bus address of the admin window.
    pub const ADMIN_BASE: u16 = 0x10;
    /// Read: bus address of the first drive's submission queue.
    pub const QUEUE_BASE: u16 = 0x18;
    /// Read: bytes from a drive's submission queue to that of the next; the completion queue is in the
    /// middle.
    pub const QUEUE_STEP: u16 = 0x20;
    /// Read: first bus address for windows of bridges and BARs.
    pub const ROOM_FIRST: u16 = 0x28;
    /// Read: first bus address behind them, at most 2^32.
    pub const ROOM_END: u16 = 0x30;
    /// Read: what the root port's own BAR 0 is set to; 0: it is left alone.
    pub const ROOT_BAR: u16 = 0x38;
    /// Read: most drives, 1 to 8.
    pub const DRIVES_MOST: u16 = 0x40;
    /// Read: entries of an I/O queue, at most.
    pub const QUEUE_ENTRIES: u16 = 0x48;
    /// Read: bit 0: the failure of a drive ends the program. Bit 1: once drives are ready the program
    /// watches them, and ends when one fails.
    pub const OPTIONS: u16 = 0x50;
    /// Write: what the program is at, one of [`state`](super::state).
    pub const STATE: u16 = 0x58;
    /// Write: a code whose counter goes up.
    pub const COUNT: u16 = 0x60;
    /// Write: drives that are ready, a bit each.
    pub const DRIVES_READY: u16 = 0x68;
    /// Read: for how long PERST# is asserted, and what passes from link-up to the first request, in
    /// microseconds: 100 ms by PCI Express Base 5.0, 6.6.1.
    pub const RESET_US: u16 = 0x70;
    /// Read: bus address of the streamer's data window.
    pub const DATA_BASE: u16 = 0x78;
    /// Read: what is added to a bus address to reach it through the root port's bridge.
    pub const MMIO_OFFSET: u16 = 0x80;
    /// Write: bytes that the streamer's drives have together.
    pub const MEDIA_BYTES: u16 = 0x88;
    /// Write: log2 of the bytes of their logical blocks.
    pub const BLOCK_SHIFT: u16 = 0x90;
    /// Read: cycles after which the streamer gives a command up.
    pub const COMMAND_CYCLES: u16 = 0x98;
}

/// What the program is at.
pub mod state {
    /// Waits for the link.
    pub const LINK: u8 = 1;
    /// Looks for functions.
    pub const TREE: u8 = 2;
    /// Brings drives up.
    pub const DRIVES: u8 = 3;
    /// Drives are ready and are watched.
    pub const READY: u8 = 4;
}

/// The admin window: three pages that drives see, and the registers of the space `ADM`.
///
/// A drive reads submission entries from the first page: each entry of the page is the one that the
/// registers hold. It writes completion entries to the second page, and data to the third one. Both
/// queues have two entries.
pub mod admin {
    /// Bytes of the window, by its bus address.
    pub const WINDOW_BYTES: u64 = 0x4000;
    /// Offset of the submission queue.
    pub const SQ: u16 = 0x0000;
    /// Offset of the completion queue.
    pub const CQ: u16 = 0x1000;
    /// Offset of the page for data.
    pub const DATA_PAGE: u16 = 0x2000;
    /// Entries of each queue.
    pub const ENTRIES: u16 = 2;

    /// Write: begin anew, with empty queues.
    pub const RESTART: u16 = 0x000;
    /// Write: the entry is complete: its CID, which counts commands, and the tail move on; what was
    /// caught of completions and data is forgotten.
    pub const SUBMIT: u16 = 0x008;
    /// Read: tail of the submission queue.
    pub const TAIL: u16 = 0x010;
    /// Read: head of the completion queue, behind the entry that was caught.
    pub const HEAD: u16 = 0x018;
    /// Read: bit 31: a completion entry of the command has come. Bit 30: since it was submitted, one with
    /// another CID or out of turn has come, and was dropped. Bits 14:0: its status field.
    pub const STATUS: u16 = 0x020;
    /// Read: dword 0 of the entry.
    pub const RESULT: u16 = 0x028;
    /// Write: the submission entry, at the offset of each dword in it: 0 (bits 7:0, opcode), 1
    /// (namespace), 6 and 7 (PRP1), 10, 11. All others are 0, and writes to them end in error.
    pub const ENTRY: u16 = 0x040;
    /// Read: the page for data, 4096 bytes. Where nothing was written since `SUBMIT` a read ends in error.
    pub const DATA: u16 = 0x1000;
}

/// The program's memory, 2048 bytes, accessed in words of 64 bits. Software reads it, too.
pub mod ram {
    /// Bytes.
    pub const BYTES: u16 = 0x800;
    /// Records of drives.
    pub const DRIVES: u16 = 0x000;
    /// Bytes of a record.
    pub const DRIVE_BYTES: u16 = 0xc0;
    /// Most drives.
    pub const DRIVES_MOST: u16 = 8;
    /// Where the function is: its ECAM offset.
    pub const BDF: u16 = 0x00;
    /// Bus address of BAR 0.
    pub const BAR: u16 = 0x08;
    /// Register CAP.
    pub const CAP: u16 = 0x10;
    /// Code of what went wrong with the drive; 0: nothing.
    pub const CODE: u16 = 0x18;
    /// What was read or found there.
    pub const FOUND: u16 = 0x20;
    /// Most time for CSTS.RDY, in microseconds.
    pub const TIMEOUT: u16 = 0x28;
    /// Identifier of the namespace.
    pub const NSID: u16 = 0x30;
    /// Logical blocks of the namespace.
    pub const BLOCKS: u16 = 0x38;
    /// log2 of the bytes of a logical block: 9 or 12.
    pub const BLOCK_SHIFT: u16 = 0x40;
    /// Most bytes of a transfer; 0: no limit.
    pub const TRANSFER: u16 = 0x48;
    /// Entries of its I/O queues.
    pub const ENTRIES: u16 = 0x50;
    /// Bytes of BAR 0.
    pub const BAR_BYTES: u16 = 0x58;
    /// Model number, 40 characters.
    pub const MODEL: u16 = 0x60;
    /// Serial number, 20 characters, 4 bytes of 0.
    pub const SERIAL: u16 = 0x88;
    /// Firmware revision, 8 characters.
    pub const FIRMWARE: u16 = 0xa0;
    /// Of each bridge above what is looked at: devices that its bus may have, minus 1; where its window
    /// begins. 16 bytes each.
    pub const STACK: u16 = 0x600;
    /// Most levels of bridges, the root port included.
    pub const DEPTH_MOST: u16 = 8;
    /// For the program alone.
    pub const SCRATCH: u16 = 0x690;
    /// ECAM offset of the bridge above each bus, from bus 1 on, 8 bytes each.
    pub const BRIDGES: u16 = 0x6c0;
    /// Most buses, bus 0 not counted.
    pub const BUSES_MOST: u16 = 40;
}

numbered! {
    /// What the program ends with, and what each drive failed with.
    Code: u8 {
        /// The link did not come up in time.
        NoLink = 1 "no link";
        /// The function at 00:00.0 is no bridge.
        NoRootPort = 2 "no root port";
        /// More levels of bridges than there is room for.
        TooDeep = 3 "too deep";
        /// More buses than there is room for.
        TooManyBuses = 4 "too many buses";
        /// A function answers «retry» for longer than it may.
        RetryWithoutEnd = 5 "retry without end";
        /// There is no PCI Express capability, or the list does not end.
        CapabilityList = 6 "capability list";
        /// No room is left for a BAR.
        NoRoom = 7 "no room";
        /// BAR 0 of a drive is no memory of 16 KiB to 16 MiB.
        BadBar = 8 "bad BAR";
        /// No drive was found, or none is ready, or not all are where they are wanted together.
        NoDrive = 9 "no drive";
        /// A controller does not answer.
        NoAnswer = 10 "no answer";
        /// A controller cannot do what is needed, by its register CAP.
        Capabilities = 11 "capabilities";
        /// CSTS.RDY did not follow CC.EN in time.
        NotReady = 12 "not ready";
        /// CSTS.CFS is set.
        Fatal = 13 "fatal";
        /// An admin command was not completed in time.
        AdminLate = 14 "admin command late";
        /// An admin command failed.
        AdminFailed = 15 "admin command failed";
        /// Entries of queues have other sizes than 64 and 16 bytes.
        EntrySizes = 16 "entry sizes";
        /// There is no active namespace.
        NoNamespace = 17 "no namespace";
        /// The format of the namespace is none that we know.
        Format = 18 "format";
        /// The controller gives no I/O queue.
        NoQueue = 19 "no queue";
        /// A register of the streamer does not hold what was written to it, or the streamer has halted.
        Streamer = 20 "streamer";
        /// Drives have different block sizes.
        DrivesDiffer = 21 "drives differ";
        /// The link went down.
        LinkLost = 22 "link lost";
        /// A drive that was ready is no more.
        DriveDied = 23 "drive died";
        /// The root port's bridge did not answer an access.
        BridgeHung = 24 "bridge hung";
    }
}

const _: () = {
    assert!(ram::DRIVES + ram::DRIVE_BYTES * ram::DRIVES_MOST <= ram::STACK);
    assert!(ram::STACK + 16 * (ram::DEPTH_MOST + 1) <= ram::SCRATCH);
    assert!(ram::FIRMWARE + 8 <= ram::DRIVE_BYTES && ram::SCRATCH < ram::BRIDGES);
    assert!(ram::BRIDGES + 8 * ram::BUSES_MOST <= ram::BYTES);
};
