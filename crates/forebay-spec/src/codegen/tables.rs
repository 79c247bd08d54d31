// SPDX-License-Identifier: Apache-2.0
//! Names of the shared constants.

use super::{Constant, Group};
use crate::boot::{Code, admin, port, ram, space, state};
use crate::net::{Arrival, Place, ethernet, header, pause};
use crate::nvme::identify::cns;
use crate::nvme::regs::{self, CC_ENABLE};
use crate::nvme::{AdminOpcode, Cqe, IoOpcode, Sqe, Status, entry, feature, prp};
use crate::pci;
use crate::recorder::{elements, packet};
use crate::store::{index, pcapng};
use crate::streamer::{self, TraceKind, bar0, error, trace, user, window};

/// Constants of `bits` bits (0: plain counts, sizes or bit positions) out of a module or an enum: each
/// is called by a prefix and its own name there, or by another name before `=`.
macro_rules! list {
    ($bits:literal, $prefix:literal, $from:ident: $($name:ident $(= $value:ident)?)*) => {
        &[$(Constant {
            name: concat!($prefix, stringify!($name)),
            bits: $bits,
            value: list!(@ $from $name $($value)?) as u64,
        }),*]
    };
    (@ $from:ident $name:ident) => { $from::$name };
    (@ $from:ident $name:ident $value:ident) => { $from::$value };
}

/// Status: type and code only, as a device may set the other bits as it likes.
macro_rules! statuses {
    ($($name:ident)*) => {
        &[$(code(
            concat!("STATUS_", stringify!($name)),
            11,
            (Status::$name.bits() & 0x7ff) as u64,
        )),*]
    };
}

/// A plain number: count, size or bit position.
const fn count(name: &'static str, value: u64) -> Constant {
    code(name, 0, value)
}

/// A code of a given width.
const fn code(name: &'static str, bits: u32, value: u64) -> Constant {
    Constant { name, bits, value }
}

/// Offsets of the streamer's registers.
mod offsets {
    use crate::streamer::regs;

    pub const SQ_DOORBELL: u64 = regs::sq_doorbell::OFFSET;
    pub const ENABLE: u64 = regs::enable::OFFSET;
    pub const BLOCK_SHIFT: u64 = regs::block_shift::OFFSET;
    pub const STATUS: u64 = regs::status::OFFSET;
    pub const DOORBELL_OFFSET: u64 = regs::doorbell_offset::OFFSET;
    /// Of drive 1, behind which the others are.
    pub const DRIVES: u64 = regs::drive_sq_doorbell::of(1);
    pub const LAYOUT: u64 = regs::layout::OFFSET;
}

/// A MAC address as a number, its first byte on the wire the highest.
const fn address([a, b, c, d, e, f]: [u8; 6]) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

/// Everything that is shared.
pub const GROUPS: &[Group] = &[
    Group {
        title: "NVM command set opcodes (NVM Command Set 1.0c, figure 16)",
        constants: &[list!(
            8, "OPCODE_", IoOpcode:
            FLUSH=Flush WRITE=Write READ=Read COMPARE=Compare WRITE_ZEROES=WriteZeroes
            DATASET_MANAGEMENT=DatasetManagement
        )],
    },
    Group {
        title: "Admin command set opcodes (NVMe Base 2.0c, figure 138)",
        constants: &[list!(
            8, "ADMIN_", AdminOpcode:
            DELETE_IO_SQ=DeleteIoSq CREATE_IO_SQ=CreateIoSq GET_LOG_PAGE=GetLogPage
            DELETE_IO_CQ=DeleteIoCq CREATE_IO_CQ=CreateIoCq IDENTIFY=Identify ABORT=Abort
            SET_FEATURES=SetFeatures GET_FEATURES=GetFeatures
            ASYNC_EVENT_REQUEST=AsyncEventRequest FORMAT_NVM=FormatNvm
        )],
    },
    Group {
        title: "Status: type in [10:8], code in [7:0] (NVMe Base 2.0c, 3.3.3.2.1)",
        constants: &[statuses!(
            SUCCESS INVALID_OPCODE INVALID_FIELD CID_CONFLICT DATA_TRANSFER_ERROR INTERNAL_ERROR
            ABORT_REQUESTED ABORTED_SQ_DELETION INVALID_NAMESPACE INVALID_PRP_OFFSET
            LBA_OUT_OF_RANGE CAPACITY_EXCEEDED NAMESPACE_NOT_READY WRITE_FAULT
            UNRECOVERED_READ_ERROR
        )],
    },
    Group {
        title: "Status field of a completion: bit positions (15 bits, without the phase)",
        constants: &[&[
            count("STATUS_BITS", 15),
            count("STATUS_SC_LSB", 0),
            count("STATUS_SCT_LSB", 8),
            count("STATUS_MORE_BIT", 13),
            count("STATUS_DNR_BIT", 14),
        ]],
    },
    Group {
        title: "Submission queue entry: bit positions (NVMe Base 2.0c, figure 88)",
        constants: &[&[
            count("SQE_BYTES", Sqe::BYTES as u64),
            count("SQE_OPCODE_LSB", 0),
            count("SQE_CID_LSB", 16),
            count("SQE_NSID_LSB", 32),
            count("SQE_PRP1_LSB", 24 * 8),
            count("SQE_PRP2_LSB", 32 * 8),
            count("SQE_SLBA_LSB", 40 * 8),
            count("SQE_NLB_LSB", 48 * 8),
            count("SQE_FUA_BIT", 48 * 8 + entry::FUA.trailing_zeros() as u64),
            count("PRP_ENTRY_BYTES", prp::ENTRY_BYTES),
        ]],
    },
    Group {
        title: "Completion queue entry: bit positions (NVMe Base 2.0c, figure 91)",
        constants: &[&[
            count("CQE_BYTES", Cqe::BYTES as u64),
            count("CQE_SQ_HEAD_LSB", 8 * 8),
            count("CQE_SQ_ID_LSB", 10 * 8),
            count("CQE_CID_LSB", 12 * 8),
            count("CQE_PHASE_BIT", 14 * 8),
            count("CQE_STATUS_LSB", 14 * 8 + 1),
        ]],
    },
    Group {
        title: "User side: error codes",
        constants: &[list!(
            8, "ERR_", error:
            OK MISALIGNED ZERO_LENGTH OUT_OF_RANGE TIMEOUT HALTED BAD_KEEP TOO_LONG MEMORY OFFLINE
            RESET NVME=NVME_FLAG
        )],
    },
    Group {
        title: "User side: command beats, bit positions",
        constants: &[list!(
            0, "USER_", user:
            DATA_BITS BEAT_BYTES ADDRESS_LSB READ_LENGTH_LSB=LENGTH_LSB
            READ_UNORDERED_BIT=UNORDERED_BIT READ_TAG_LSB=TAG_LSB READ_TAG_BITS=TAG_BITS
            WRITE_FUA_BIT=FUA_BIT WRITE_FLUSH_BIT=FLUSH_BIT WRITE_FENCE_BIT=FENCE_BIT
        )],
    },
    Group {
        title: "Windows that the SSD reads and writes",
        constants: &[list!(
            0, "", window:
            PAGE_BYTES PAGE_SHIFT BUFFER_BYTES BUFFER_PAGES PRP_VIEW_BIT DATA_WINDOW_BYTES
            DRAM_UNIT_SHIFT DRAM_WINDOW_BYTES PRP_LISTS_BYTES CQ_OFFSET_MIN QUEUE_DEPTH_LEAST
            QUEUE_DEPTH_MOST
        )],
    },
    Group {
        title: "BAR 0 of the FPGA card",
        constants: &[list!(
            0, "BAR0_", bar0:
            BYTES QUEUES QUEUES_DEEP CONTROL HOST_CONTROL NET_CONTROL RECORDER_CONTROL
            ELEMENTS ADMIN HOST DATA BYTES_DRAM PRP_LISTS DATA_DRAM
        )],
    },
    Group {
        title: "Trace of queue events: kinds, causes, bit positions",
        constants: &[
            list!(
                4, "TRACE_", TraceKind:
                SUBMIT=Submit SQ_DOORBELL=SqDoorbell FETCH=Fetch COMPLETE=Complete
                COMPLETE_ERROR=CompleteError RETRY=Retry ROGUE=Rogue CQ_DOORBELL=CqDoorbell
                TIMEOUT=Timeout REJECT=Reject
            ),
            list!(16, "TRACE_", trace: ROGUE_PHASE ROGUE_CID),
            list!(0, "TRACE_", trace: ENTRIES KIND_LSB CID_LSB DETAIL_LSB),
        ],
    },
    Group {
        title: "Identity of the streamer",
        constants: &[
            list!(64, "", streamer: IDENTITY_ONCHIP IDENTITY_ONBOARD IDENTITY_HOST),
            list!(32, "", streamer: VERSION_MAGIC),
            list!(16, "", streamer: PCI_VENDOR PCI_DEVICE),
            list!(24, "PCI_", pci: CLASS_NVME),
        ],
    },
    Group {
        title: "Ethernet, IP, UDP; bytes of a frame do not count its check sequence",
        constants: &[
            list!(16, "ETHER", ethernet: TYPE_IPV4 TYPE_IPV6 TYPE_ARP TYPE_VLAN TYPE_MAC_CONTROL TYPE_FOREBAY),
            list!(
                0, "", ethernet:
                ETHERNET_BYTES=HEADER_BYTES VLAN_BYTES=TAG_BYTES IPV4_BYTES IPV6_BYTES UDP_BYTES
                FRAME_LEAST_BYTES=LEAST_BYTES FRAME_WIRE_BYTES=WIRE_BYTES
            ),
            list!(8, "", ethernet: PROTOCOL_ICMP PROTOCOL_ICMPV6 PROTOCOL_UDP),
            list!(16, "", ethernet: UDP_PORT),
        ],
    },
    Group {
        title: "Header in front of the payload of a frame, offsets in bytes",
        constants: &[
            list!(0, "FRAMING_", header: BYTES),
            &[code(
                "FRAMING_MAGIC",
                32,
                u32::from_le_bytes(header::MAGIC) as u64,
            )],
            list!(4, "FRAMING_", header: VERSION FIRST LAST),
            list!(
                0, "FRAMING_", header:
                FLAGS_AT RESERVED_AT STREAM_AT EPOCH_AT SEQUENCE_AT OBJECT_AT PLACE_AT
                WINDOW
            ),
        ],
    },
    Group {
        title: "Packets through processing elements: bits of TUSER with TLAST, of TID, of the word before",
        constants: &[
            list!(2, "PACKET_", packet: PART ENDS_OBJECT),
            list!(4, "PACKET_", packet: GOES_ON),
            list!(0, "PACKET_", packet: TAG_BITS NS_AT SECONDS_AT HEAD_BITS NONCE_BITS READ_BITS),
        ],
    },
    Group {
        title: "Registers of processing elements: windows, offsets in the chain's own",
        constants: &[
            list!(32, "ELEMENTS_", elements: IDENTITY),
            list!(
                0, "ELEMENTS_", elements:
                COUNT WINDOW_BYTES CHAIN BYTES IDENTITY_AT PRESENT_AT REFUSED_AT SILENT_AT
                SETTINGS_AT STREAMS SETTINGS_BYTES
            ),
        ],
    },
    Group {
        title: "Index of the store: bits of a row's flags",
        constants: &[
            list!(16, "ROW_", index: COUNTS WHOLE CUT SKIPPED FAILED RESULT LATE),
            list!(0, "ROW_", index: CODE_LSB),
        ],
    },
    Group {
        title: "Blocks of a capture (pcapng) that hardware writes",
        constants: &[
            list!(32, "PCAPNG_", pcapng: PACKET),
            list!(0, "PCAPNG_", pcapng: PACKET_BYTES),
            list!(16, "PCAPNG_", pcapng: LOST_OPTION),
            list!(0, "PCAPNG_", pcapng: LOST_BYTES),
            list!(32, "PCAPNG_", pcapng: PADDING),
            list!(0, "PCAPNG_", pcapng: PADDING_LEAST=BLOCK_BYTES),
        ],
    },
    Group {
        title: "Pause (IEEE 802.3 annex 31B) and priority pause (802.1Q clause 36)",
        constants: &[
            &[code("PAUSE_ADDRESS", 48, address(pause::ADDRESS))],
            list!(16, "PAUSE_", pause: OPCODE PRIORITY_OPCODE),
            list!(0, "PAUSE_", pause: CYCLES QUANTA),
        ],
    },
    Group {
        title: "What the frame filter makes of a frame",
        constants: &[list!(
            4, "ARRIVAL_", Arrival:
            DATAGRAM=Datagram DAMAGED=Damaged RUNT=Runt GIANT=Giant ALIEN=Alien PAUSE=Pause
            REQUEST=Request IP_HEADER=IpHeader IP_CHECKSUM=IpChecksum FRAGMENT=Fragment
            LENGTH=Length UDP_CHECKSUM=UdpChecksum OVERFLOW=Overflow
        )],
    },
    Group {
        title: "What the sequence check makes of a datagram",
        constants: &[list!(
            4, "PLACE_", Place:
            DELIVERED=Delivered HEADER=Header STREAM=Stream DUPLICATE=Duplicate LATE=Late OLD=Old
        )],
    },
    Group {
        title: "Controller registers: offsets (NVMe Base 2.0c, 3.1.3) and bit positions",
        constants: &[
            list!(0, "NVME_", regs: CAP VS CC CSTS AQA ASQ ACQ DOORBELLS),
            &[
                count("CAP_MQES_LSB", 0),
                count("CAP_TO_LSB", 24),
                count("CAP_DSTRD_LSB", 32),
                count("CAP_CSS_NVM_BIT", 37),
                count("CAP_MPSMIN_LSB", 48),
                count("CSTS_RDY_BIT", 0),
                count("CSTS_CFS_BIT", 1),
                code("CC_ENABLE", 32, CC_ENABLE.bits() as u64),
            ],
        ],
    },
    Group {
        title: "Identify: kinds of data, and offsets of fields (NVMe Base 2.0c, 5.17)",
        constants: &[
            list!(8, "CNS_", cns: NAMESPACE CONTROLLER ACTIVE_NAMESPACES),
            list!(8, "FEATURE_", feature: NUMBER_OF_QUEUES),
            &[
                count("IDENTIFY_SERIAL", 4),
                count("IDENTIFY_MODEL", 24),
                count("IDENTIFY_FIRMWARE", 64),
                count("IDENTIFY_MDTS", 77),
                count("IDENTIFY_SQES", 512),
                count("IDENTIFY_FLBAS", 26),
                count("IDENTIFY_FORMATS", 128),
            ],
        ],
    },
    Group {
        title: "Configuration space: offsets, bit positions (PCI Express Base 5.0, 7.5)",
        constants: &[&[
            count("PCI_COMMAND", pci::offset::COMMAND as u64),
            count("PCI_CLASS_REVISION", pci::offset::CLASS_REVISION as u64),
            count("PCI_HEADER_TYPE", pci::offset::HEADER_TYPE as u64),
            count("PCI_BAR0", pci::offset::BAR0 as u64),
            count("PCI_CAPABILITIES", pci::offset::CAPABILITIES as u64),
            count("PCI_BUS_NUMBERS", pci::bridge::BUS_NUMBERS as u64),
            count("PCI_MEMORY_WINDOW", pci::bridge::MEMORY as u64),
            count("PCI_PREFETCHABLE", pci::bridge::PREFETCHABLE as u64),
            code("CLASS_NVME", 24, pci::CLASS_NVME as u64),
            code(
                "CAPABILITY_PCI_EXPRESS",
                8,
                pci::capability::PCI_EXPRESS as u64,
            ),
        ]],
    },
    Group {
        title: "Bring-up without a CPU: spaces of the sequencer",
        constants: &[list!(
            0, "SPACE_", space: CFG MMIO CTL ADM RAM PORT COUNT
        )],
    },
    Group {
        title: "Registers of the streamer that the bring-up writes, in the space CTL",
        constants: &[list!(
            0, "STREAMER_", offsets:
            SQ_DOORBELL ENABLE BLOCK_SHIFT STATUS DOORBELL_OFFSET DRIVES LAYOUT
        )],
    },
    Group {
        title: "Bring-up: registers in the space PORT",
        constants: &[list!(
            16, "PORT_", port:
            LINK PERST ADMIN_BASE QUEUE_BASE QUEUE_STEP ROOM_FIRST ROOM_END ROOT_BAR DRIVES_MOST
            QUEUE_ENTRIES OPTIONS STATE COUNT DRIVES_READY RESET_US DATA_BASE MMIO_OFFSET MEDIA_BYTES
            BLOCK_SHIFT COMMAND_CYCLES
        )],
    },
    Group {
        title: "Bring-up: what the program is at",
        constants: &[list!(3, "STATE_", state: LINK TREE DRIVES READY)],
    },
    Group {
        title: "Bring-up: the admin window, pages and registers in the space ADM",
        constants: &[
            list!(0, "ADM_", admin: WINDOW_BYTES ENTRIES),
            list!(
                16, "ADM_", admin:
                SQ CQ DATA_PAGE RESTART SUBMIT TAIL HEAD STATUS RESULT ENTRY DATA
            ),
        ],
    },
    Group {
        title: "Bring-up: the program's memory",
        constants: &[list!(
            16, "RAM_", ram:
            BYTES DRIVES DRIVE_BYTES DRIVES_MOST BDF BAR CAP CODE FOUND TIMEOUT NSID BLOCKS
            BLOCK_SHIFT TRANSFER ENTRIES BAR_BYTES MODEL SERIAL FIRMWARE STACK DEPTH_MOST SCRATCH
            BRIDGES BUSES_MOST
        )],
    },
    Group {
        title: "Bring-up: codes",
        constants: &[list!(
            8, "BOOT_", Code:
            NO_LINK=NoLink NO_ROOT_PORT=NoRootPort TOO_DEEP=TooDeep TOO_MANY_BUSES=TooManyBuses
            RETRY_WITHOUT_END=RetryWithoutEnd CAPABILITY_LIST=CapabilityList NO_ROOM=NoRoom
            BAD_BAR=BadBar NO_DRIVE=NoDrive NO_ANSWER=NoAnswer CAPABILITIES=Capabilities
            NOT_READY=NotReady FATAL=Fatal ADMIN_LATE=AdminLate ADMIN_FAILED=AdminFailed
            ENTRY_SIZES=EntrySizes NO_NAMESPACE=NoNamespace FORMAT=Format NO_QUEUE=NoQueue
            STREAMER=Streamer DRIVES_DIFFER=DrivesDiffer LINK_LOST=LinkLost DRIVE_DIED=DriveDied
            BRIDGE_HUNG=BridgeHung
        )],
    },
];
