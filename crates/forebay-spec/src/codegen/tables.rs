// SPDX-License-Identifier: Apache-2.0
//! Names of the shared constants.

use super::{Constant, Group};
use crate::net::{Arrival, Place, ethernet, header, pause};
use crate::nvme::{AdminOpcode, Cqe, IoOpcode, Sqe, Status, entry, prp};
use crate::pci;
use crate::store::{index, pcapng};
use crate::streamer::{self, TraceKind, bar0, error, trace, user, window};

/// A plain number: count, size or bit position.
const fn count(name: &'static str, value: u64) -> Constant {
    Constant {
        name,
        bits: 0,
        value,
    }
}

/// A code of a given width.
const fn code(name: &'static str, bits: u32, value: u64) -> Constant {
    Constant { name, bits, value }
}

const fn admin(name: &'static str, opcode: AdminOpcode) -> Constant {
    code(name, 8, opcode as u64)
}

const fn io(name: &'static str, opcode: IoOpcode) -> Constant {
    code(name, 8, opcode as u64)
}

const fn status(name: &'static str, status: Status) -> Constant {
    // Type and code only: a device may set the other bits as it likes.
    code(name, 11, (status.bits() & 0x7ff) as u64)
}

const fn kind(name: &'static str, kind: TraceKind) -> Constant {
    code(name, 4, kind as u64)
}

const fn err(name: &'static str, value: u8) -> Constant {
    code(name, 8, value as u64)
}

const fn ethertype(name: &'static str, value: u16) -> Constant {
    code(name, 16, value as u64)
}

const fn arrival(name: &'static str, arrival: Arrival) -> Constant {
    code(name, 4, arrival as u64)
}

const fn place(name: &'static str, place: Place) -> Constant {
    code(name, 4, place as u64)
}

/// A MAC address as a number, its first byte on the wire the highest.
const fn address([a, b, c, d, e, f]: [u8; 6]) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

/// Everything that is shared.
pub const GROUPS: &[Group] = &[
    Group {
        title: "NVM command set opcodes (NVM Command Set 1.0c, figure 16)",
        constants: &[
            io("OPCODE_FLUSH", IoOpcode::Flush),
            io("OPCODE_WRITE", IoOpcode::Write),
            io("OPCODE_READ", IoOpcode::Read),
            io("OPCODE_COMPARE", IoOpcode::Compare),
            io("OPCODE_WRITE_ZEROES", IoOpcode::WriteZeroes),
            io("OPCODE_DATASET_MANAGEMENT", IoOpcode::DatasetManagement),
        ],
    },
    Group {
        title: "Admin command set opcodes (NVMe Base 2.0c, figure 138)",
        constants: &[
            admin("ADMIN_DELETE_IO_SQ", AdminOpcode::DeleteIoSq),
            admin("ADMIN_CREATE_IO_SQ", AdminOpcode::CreateIoSq),
            admin("ADMIN_GET_LOG_PAGE", AdminOpcode::GetLogPage),
            admin("ADMIN_DELETE_IO_CQ", AdminOpcode::DeleteIoCq),
            admin("ADMIN_CREATE_IO_CQ", AdminOpcode::CreateIoCq),
            admin("ADMIN_IDENTIFY", AdminOpcode::Identify),
            admin("ADMIN_ABORT", AdminOpcode::Abort),
            admin("ADMIN_SET_FEATURES", AdminOpcode::SetFeatures),
            admin("ADMIN_GET_FEATURES", AdminOpcode::GetFeatures),
            admin("ADMIN_ASYNC_EVENT_REQUEST", AdminOpcode::AsyncEventRequest),
            admin("ADMIN_FORMAT_NVM", AdminOpcode::FormatNvm),
        ],
    },
    Group {
        title: "Status: type in [10:8], code in [7:0] (NVMe Base 2.0c, 3.3.3.2.1)",
        constants: &[
            status("STATUS_SUCCESS", Status::SUCCESS),
            status("STATUS_INVALID_OPCODE", Status::INVALID_OPCODE),
            status("STATUS_INVALID_FIELD", Status::INVALID_FIELD),
            status("STATUS_CID_CONFLICT", Status::CID_CONFLICT),
            status("STATUS_DATA_TRANSFER_ERROR", Status::DATA_TRANSFER_ERROR),
            status("STATUS_INTERNAL_ERROR", Status::INTERNAL_ERROR),
            status("STATUS_ABORT_REQUESTED", Status::ABORT_REQUESTED),
            status("STATUS_ABORTED_SQ_DELETION", Status::ABORTED_SQ_DELETION),
            status("STATUS_INVALID_NAMESPACE", Status::INVALID_NAMESPACE),
            status("STATUS_INVALID_PRP_OFFSET", Status::INVALID_PRP_OFFSET),
            status("STATUS_LBA_OUT_OF_RANGE", Status::LBA_OUT_OF_RANGE),
            status("STATUS_CAPACITY_EXCEEDED", Status::CAPACITY_EXCEEDED),
            status("STATUS_NAMESPACE_NOT_READY", Status::NAMESPACE_NOT_READY),
            status("STATUS_WRITE_FAULT", Status::WRITE_FAULT),
            status(
                "STATUS_UNRECOVERED_READ_ERROR",
                Status::UNRECOVERED_READ_ERROR,
            ),
        ],
    },
    Group {
        title: "Status field of a completion: bit positions (15 bits, without the phase)",
        constants: &[
            count("STATUS_BITS", 15),
            count("STATUS_SC_LSB", 0),
            count("STATUS_SCT_LSB", 8),
            count("STATUS_MORE_BIT", 13),
            count("STATUS_DNR_BIT", 14),
        ],
    },
    Group {
        title: "Submission queue entry: bit positions (NVMe Base 2.0c, figure 88)",
        constants: &[
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
        ],
    },
    Group {
        title: "Completion queue entry: bit positions (NVMe Base 2.0c, figure 91)",
        constants: &[
            count("CQE_BYTES", Cqe::BYTES as u64),
            count("CQE_SQ_HEAD_LSB", 8 * 8),
            count("CQE_SQ_ID_LSB", 10 * 8),
            count("CQE_CID_LSB", 12 * 8),
            count("CQE_PHASE_BIT", 14 * 8),
            count("CQE_STATUS_LSB", 14 * 8 + 1),
        ],
    },
    Group {
        title: "User side: error codes",
        constants: &[
            err("ERR_OK", error::OK),
            err("ERR_MISALIGNED", error::MISALIGNED),
            err("ERR_ZERO_LENGTH", error::ZERO_LENGTH),
            err("ERR_OUT_OF_RANGE", error::OUT_OF_RANGE),
            err("ERR_TIMEOUT", error::TIMEOUT),
            err("ERR_HALTED", error::HALTED),
            err("ERR_BAD_KEEP", error::BAD_KEEP),
            err("ERR_TOO_LONG", error::TOO_LONG),
            err("ERR_MEMORY", error::MEMORY),
            err("ERR_OFFLINE", error::OFFLINE),
            err("ERR_NVME", error::NVME_FLAG),
        ],
    },
    Group {
        title: "User side: command beats, bit positions",
        constants: &[
            count("USER_DATA_BITS", user::DATA_BITS as u64),
            count("USER_BEAT_BYTES", user::BEAT_BYTES as u64),
            count("USER_ADDRESS_LSB", user::ADDRESS_LSB as u64),
            count("USER_READ_LENGTH_LSB", user::LENGTH_LSB as u64),
            count("USER_READ_UNORDERED_BIT", user::UNORDERED_BIT as u64),
            count("USER_READ_TAG_LSB", user::TAG_LSB as u64),
            count("USER_READ_TAG_BITS", user::TAG_BITS as u64),
            count("USER_WRITE_FUA_BIT", user::FUA_BIT as u64),
            count("USER_WRITE_FLUSH_BIT", user::FLUSH_BIT as u64),
        ],
    },
    Group {
        title: "Windows that the SSD reads and writes",
        constants: &[
            count("PAGE_BYTES", window::PAGE_BYTES),
            count("PAGE_SHIFT", window::PAGE_SHIFT as u64),
            count("BUFFER_BYTES", window::BUFFER_BYTES),
            count("BUFFER_PAGES", window::BUFFER_PAGES),
            count("PRP_VIEW_BIT", window::PRP_VIEW_BIT as u64),
            count("DATA_WINDOW_BYTES", window::DATA_WINDOW_BYTES),
            count("DRAM_UNIT_SHIFT", window::DRAM_UNIT_SHIFT as u64),
            count("DRAM_WINDOW_BYTES", window::DRAM_WINDOW_BYTES),
            count("PRP_LISTS_BYTES", window::PRP_LISTS_BYTES),
            count("CQ_OFFSET_MIN", window::CQ_OFFSET_MIN),
            count("QUEUE_DEPTH_LEAST", window::QUEUE_DEPTH_LEAST),
            count("QUEUE_DEPTH_MOST", window::QUEUE_DEPTH_MOST),
        ],
    },
    Group {
        title: "BAR 0 of the FPGA card",
        constants: &[
            count("BAR0_BYTES", bar0::BYTES),
            count("BAR0_QUEUES", bar0::QUEUES),
            count("BAR0_QUEUES_DEEP", bar0::QUEUES_DEEP),
            count("BAR0_CONTROL", bar0::CONTROL),
            count("BAR0_HOST_CONTROL", bar0::HOST_CONTROL),
            count("BAR0_NET_CONTROL", bar0::NET_CONTROL),
            count("BAR0_RECORDER_CONTROL", bar0::RECORDER_CONTROL),
            count("BAR0_HOST", bar0::HOST),
            count("BAR0_DATA", bar0::DATA),
            count("BAR0_BYTES_DRAM", bar0::BYTES_DRAM),
            count("BAR0_PRP_LISTS", bar0::PRP_LISTS),
            count("BAR0_DATA_DRAM", bar0::DATA_DRAM),
        ],
    },
    Group {
        title: "Trace of queue events: kinds, causes, bit positions",
        constants: &[
            kind("TRACE_SUBMIT", TraceKind::Submit),
            kind("TRACE_SQ_DOORBELL", TraceKind::SqDoorbell),
            kind("TRACE_FETCH", TraceKind::Fetch),
            kind("TRACE_COMPLETE", TraceKind::Complete),
            kind("TRACE_COMPLETE_ERROR", TraceKind::CompleteError),
            kind("TRACE_RETRY", TraceKind::Retry),
            kind("TRACE_ROGUE", TraceKind::Rogue),
            kind("TRACE_CQ_DOORBELL", TraceKind::CqDoorbell),
            kind("TRACE_TIMEOUT", TraceKind::Timeout),
            kind("TRACE_REJECT", TraceKind::Reject),
            code("TRACE_ROGUE_PHASE", 16, trace::ROGUE_PHASE as u64),
            code("TRACE_ROGUE_CID", 16, trace::ROGUE_CID as u64),
            code("TRACE_ROGUE_HEAD", 16, trace::ROGUE_HEAD as u64),
            count("TRACE_ENTRIES", trace::ENTRIES as u64),
            count("TRACE_KIND_LSB", trace::KIND_LSB as u64),
            count("TRACE_CID_LSB", trace::CID_LSB as u64),
            count("TRACE_DETAIL_LSB", trace::DETAIL_LSB as u64),
        ],
    },
    Group {
        title: "Identity of the streamer",
        constants: &[
            code("IDENTITY_ONCHIP", 64, streamer::IDENTITY_ONCHIP),
            code("IDENTITY_ONBOARD", 64, streamer::IDENTITY_ONBOARD),
            code("IDENTITY_HOST", 64, streamer::IDENTITY_HOST),
            code("VERSION_MAGIC", 32, streamer::VERSION_MAGIC as u64),
            code("PCI_VENDOR", 16, streamer::PCI_VENDOR as u64),
            code("PCI_DEVICE", 16, streamer::PCI_DEVICE as u64),
            code("PCI_CLASS_NVME", 24, pci::CLASS_NVME as u64),
        ],
    },
    Group {
        title: "Ethernet, IPv4, UDP; bytes of a frame do not count its check sequence",
        constants: &[
            ethertype("ETHERTYPE_IPV4", ethernet::TYPE_IPV4),
            ethertype("ETHERTYPE_ARP", ethernet::TYPE_ARP),
            ethertype("ETHERTYPE_VLAN", ethernet::TYPE_VLAN),
            ethertype("ETHERTYPE_MAC_CONTROL", ethernet::TYPE_MAC_CONTROL),
            ethertype("ETHERTYPE_FOREBAY", ethernet::TYPE_FOREBAY),
            count("ETHERNET_BYTES", ethernet::HEADER_BYTES as u64),
            count("VLAN_BYTES", ethernet::TAG_BYTES as u64),
            count("IPV4_BYTES", ethernet::IPV4_BYTES as u64),
            count("UDP_BYTES", ethernet::UDP_BYTES as u64),
            count("FRAME_LEAST_BYTES", ethernet::LEAST_BYTES as u64),
            count("FRAME_WIRE_BYTES", ethernet::WIRE_BYTES as u64),
            code("PROTOCOL_ICMP", 8, ethernet::PROTOCOL_ICMP as u64),
            code("PROTOCOL_UDP", 8, ethernet::PROTOCOL_UDP as u64),
            code("UDP_PORT", 16, ethernet::UDP_PORT as u64),
        ],
    },
    Group {
        title: "Header in front of the payload of a frame, offsets in bytes",
        constants: &[
            count("FRAMING_BYTES", header::BYTES as u64),
            code(
                "FRAMING_MAGIC",
                32,
                u32::from_le_bytes(header::MAGIC) as u64,
            ),
            code("FRAMING_VERSION", 4, header::VERSION as u64),
            code("FRAMING_FIRST", 4, header::FIRST as u64),
            code("FRAMING_LAST", 4, header::LAST as u64),
            count("FRAMING_FLAGS_AT", header::FLAGS_AT as u64),
            count("FRAMING_SESSION_AT", header::SESSION_AT as u64),
            count("FRAMING_STREAM_AT", header::STREAM_AT as u64),
            count("FRAMING_SEQUENCE_AT", header::SEQUENCE_AT as u64),
            count("FRAMING_OBJECT_AT", header::OBJECT_AT as u64),
            count("FRAMING_PLACE_AT", header::PLACE_AT as u64),
        ],
    },
    Group {
        title: "Index of the store: bytes of a block, and bits of a row's flags",
        constants: &[
            count("INDEX_ROWS", index::ROWS as u64),
            count("INDEX_SESSION_AT", index::SESSION_AT as u64),
            count("INDEX_NUMBER_AT", index::NUMBER_AT as u64),
            count("INDEX_CRC_AT", index::CRC_AT as u64),
            count("INDEX_OBJECT_AT", index::OBJECT.at as u64),
            count("INDEX_OFFSET_AT", index::OFFSET.at as u64),
            count("INDEX_ADDRESS_AT", index::ADDRESS.at as u64),
            count("INDEX_TIME_AT", index::TIME.at as u64),
            count("INDEX_LENGTH_AT", index::LENGTH.at as u64),
            count("INDEX_CRC32C_AT", index::CRC.at as u64),
            count("INDEX_SCORE_AT", index::SCORE.at as u64),
            count("INDEX_MISSING_AT", index::MISSING.at as u64),
            count("INDEX_STREAM_AT", index::STREAM.at as u64),
            count("INDEX_CLASS_AT", index::CLASS.at as u64),
            count("INDEX_FLAGS_AT", index::FLAGS.at as u64),
            code("ROW_COUNTS", 16, index::COUNTS as u64),
            code("ROW_WHOLE", 16, index::WHOLE as u64),
            code("ROW_CUT", 16, index::CUT as u64),
            code("ROW_SKIPPED", 16, index::SKIPPED as u64),
            code("ROW_FAILED", 16, index::FAILED as u64),
            code("ROW_RESULT", 16, index::RESULT as u64),
            code("ROW_LATE", 16, index::LATE as u64),
            count("ROW_CODE_LSB", index::CODE_LSB as u64),
        ],
    },
    Group {
        title: "Blocks of a capture (pcapng) that hardware writes",
        constants: &[
            code("PCAPNG_PACKET", 32, pcapng::PACKET as u64),
            count("PCAPNG_PACKET_BYTES", pcapng::PACKET_BYTES as u64),
            code("PCAPNG_LOST_OPTION", 16, pcapng::LOST_OPTION as u64),
            count("PCAPNG_LOST_BYTES", pcapng::LOST_BYTES as u64),
            code("PCAPNG_PADDING", 32, pcapng::PADDING as u64),
            count("PCAPNG_PADDING_LEAST", pcapng::BLOCK_BYTES as u64),
        ],
    },
    Group {
        title: "Pause (IEEE 802.3 annex 31B) and priority pause (802.1Q clause 36)",
        constants: &[
            code("PAUSE_ADDRESS", 48, address(pause::ADDRESS)),
            code("PAUSE_OPCODE", 16, pause::OPCODE as u64),
            code("PAUSE_PRIORITY_OPCODE", 16, pause::PRIORITY_OPCODE as u64),
            count("PAUSE_CYCLES", pause::CYCLES as u64),
            count("PAUSE_QUANTA", pause::QUANTA as u64),
        ],
    },
    Group {
        title: "What the frame filter makes of a frame",
        constants: &[
            arrival("ARRIVAL_DATAGRAM", Arrival::Datagram),
            arrival("ARRIVAL_DAMAGED", Arrival::Damaged),
            arrival("ARRIVAL_RUNT", Arrival::Runt),
            arrival("ARRIVAL_GIANT", Arrival::Giant),
            arrival("ARRIVAL_ALIEN", Arrival::Alien),
            arrival("ARRIVAL_PAUSE", Arrival::Pause),
            arrival("ARRIVAL_REQUEST", Arrival::Request),
            arrival("ARRIVAL_IP_HEADER", Arrival::IpHeader),
            arrival("ARRIVAL_IP_CHECKSUM", Arrival::IpChecksum),
            arrival("ARRIVAL_FRAGMENT", Arrival::Fragment),
            arrival("ARRIVAL_LENGTH", Arrival::Length),
            arrival("ARRIVAL_UDP_CHECKSUM", Arrival::UdpChecksum),
            arrival("ARRIVAL_OVERFLOW", Arrival::Overflow),
        ],
    },
    Group {
        title: "What the sequence check makes of a datagram",
        constants: &[
            place("PLACE_DELIVERED", Place::Delivered),
            place("PLACE_HEADER", Place::Header),
            place("PLACE_STREAM", Place::Stream),
            place("PLACE_DUPLICATE", Place::Duplicate),
            place("PLACE_LATE", Place::Late),
            place("PLACE_OLD", Place::Old),
        ],
    },
];
