// SPDX-License-Identifier: Apache-2.0
//! The pins of a streamer, found by name: ours (`s_axis_wr_tvalid`) or SNAcc's
//! (`S_AXIS_WRITE_tvalid`). Pins that one of the two lacks are optional.

use forebay_rtl::{Direction, Model, PortHandle};

use crate::error::{Error, Result};

/// Which set of names the RTL has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinSet {
    /// `fb_top_onchip`, `fb_top_host`, `fb_top_net` and the like.
    Forebay,
    /// SNAcc's published streamer, and our wrapper that takes its place.
    Snacc,
}

/// Prefix of a group of pins: ours, SNAcc's.
type Group = (&'static str, &'static str);

const WRITE: Group = ("s_axis_wr_", "S_AXIS_WRITE_");
const RESPONSE: Group = ("m_axis_wrsp_", "M_AXIS_WRITE_");
const COMMAND: Group = ("s_axis_rdcmd_", "S_AXIS_READ_");
const READ: Group = ("m_axis_rd_", "M_AXIS_READ_");
const DATA: Group = ("s_axi_data_", "S_AXI_URAM_PRP_");
const QUEUE: Group = ("s_axi_queue_", "S_AXI_Queues_");
const DOORBELL: Group = ("m_axil_db_", "M_AXI_Doorbells_");
const CONTROL: Group = ("s_axil_ctrl_", "S_CTRL_");
// SNAcc's streamer has no host port.
const HOST: Group = ("s_axi_host_", "s_axi_host_");
const DRAM: Group = ("m_axi_dram_", "m_axi_dram_");
const HOST_DRAM: Group = ("m_axi_host_", "m_axi_host_");
const HOST_CONTROL: Group = ("s_axil_host_", "s_axil_host_");
// Nor has it a network side.
const MAC_IN: Group = ("s_axis_mac_", "s_axis_mac_");
const MAC_OUT: Group = ("m_axis_mac_", "m_axis_mac_");
const NET_CONTROL: Group = ("s_axil_net_", "s_axil_net_");
const RECORDER_CONTROL: Group = ("s_axil_rec_", "s_axil_rec_");

/// A stream into the RTL, 512 bit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamIn {
    pub valid: PortHandle,
    pub ready: PortHandle,
    pub data: PortHandle,
    pub keep: Option<PortHandle>,
    pub last: PortHandle,
}

/// A stream out of the RTL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamOut {
    pub valid: PortHandle,
    pub ready: PortHandle,
    pub data: PortHandle,
    pub keep: Option<PortHandle>,
    pub last: Option<PortHandle>,
    pub user: Option<PortHandle>,
    pub id: Option<PortHandle>,
}

/// An AXI4 port of the RTL, 512 bit. Directions depend on the side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub awvalid: PortHandle,
    pub awready: PortHandle,
    pub awaddr: PortHandle,
    pub awlen: PortHandle,
    pub awsize: Option<PortHandle>,
    pub awburst: Option<PortHandle>,
    pub wvalid: PortHandle,
    pub wready: PortHandle,
    pub wdata: PortHandle,
    pub wstrb: PortHandle,
    pub wlast: PortHandle,
    pub bvalid: PortHandle,
    pub bready: PortHandle,
    pub bresp: Option<PortHandle>,
    pub arvalid: PortHandle,
    pub arready: PortHandle,
    pub araddr: PortHandle,
    pub arlen: PortHandle,
    pub arsize: Option<PortHandle>,
    pub arburst: Option<PortHandle>,
    pub rvalid: PortHandle,
    pub rready: PortHandle,
    pub rdata: PortHandle,
    pub rresp: Option<PortHandle>,
    pub rlast: PortHandle,
}

/// An AXI4-Lite port. Directions depend on the side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lite {
    pub awvalid: PortHandle,
    pub awready: PortHandle,
    pub awaddr: PortHandle,
    pub wvalid: PortHandle,
    pub wready: PortHandle,
    pub wdata: PortHandle,
    pub wstrb: Option<PortHandle>,
    pub bvalid: PortHandle,
    pub bready: PortHandle,
    pub bresp: Option<PortHandle>,
    pub arvalid: PortHandle,
    pub arready: PortHandle,
    pub araddr: PortHandle,
    pub rvalid: PortHandle,
    pub rready: PortHandle,
    pub rdata: PortHandle,
    pub rresp: Option<PortHandle>,
}

/// The user's streams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Streams {
    pub write: StreamIn,
    pub response: StreamOut,
    pub command: StreamIn,
    pub read: StreamOut,
    /// TKEEP of the last beat of read data says how many bytes it has; SNAcc's streamer always
    /// gives 64.
    pub exact: bool,
}

/// The host port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host {
    pub window: Window,
    pub control: Lite,
}

/// What comes from the MAC: it cannot be stopped, there is no ready.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MacIn {
    pub valid: PortHandle,
    pub data: PortHandle,
    pub keep: PortHandle,
    pub last: PortHandle,
    pub user: PortHandle,
}

/// What goes to the MAC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MacOut {
    pub valid: PortHandle,
    pub ready: PortHandle,
    pub data: PortHandle,
    pub keep: PortHandle,
    pub last: PortHandle,
    pub user: PortHandle,
}

/// The network side and the recorder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Net {
    pub clk: PortHandle,
    pub reset: PortHandle,
    pub receive: MacIn,
    pub transmit: MacOut,
    pub control: Lite,
    pub recorder: Lite,
}

/// All pins of a streamer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pins {
    pub set: PinSet,
    pub clk: PortHandle,
    pub reset: PortHandle,
    /// Value of `reset` that resets.
    pub reset_on: u64,
    /// None where a host port or the network takes their place.
    pub streams: Option<Streams>,
    pub data: Window,
    pub queue: Window,
    pub doorbell: Lite,
    pub control: Lite,
    pub host: Option<Host>,
    pub net: Option<Net>,
    /// The master for on-board DRAM, where the payload is there.
    pub dram: Option<Window>,
    /// The master to the PCIe bridge, where the payload is in host memory.
    pub host_dram: Option<Window>,
}

impl Pins {
    /// Finds and checks all pins.
    pub fn find(model: &Model) -> Result<Self> {
        let there = |pin| model.find_port(pin).is_some();
        let (user, host) = (there("s_axis_wr_tvalid"), there("s_axil_host_awvalid"));
        let net = there("s_axis_mac_tvalid");
        let set = if user || host || net {
            PinSet::Forebay
        } else {
            PinSet::Snacc
        };
        let f = Finder { model, set };
        let (clk, reset, reset_on) = match set {
            PinSet::Forebay => ("clk", "rst", 1),
            PinSet::Snacc => ("aclk", "aresetn", 0),
        };
        Ok(Self {
            set,
            clk: f.check(f.plain(clk)?, clk, Direction::Input, 1)?,
            reset: f.check(f.plain(reset)?, reset, Direction::Input, 1)?,
            reset_on,
            streams: (user || !(host || net)).then(|| f.streams()).transpose()?,
            data: f.window(DATA, Direction::Input)?,
            queue: f.window(QUEUE, Direction::Input)?,
            doorbell: f.lite(DOORBELL, Direction::Output, 32)?,
            control: f.lite(CONTROL, Direction::Input, 64)?,
            host: host.then(|| f.host()).transpose()?,
            net: net.then(|| f.net()).transpose()?,
            dram: there("m_axi_dram_awvalid")
                .then(|| f.window(DRAM, Direction::Output))
                .transpose()?,
            host_dram: there("m_axi_host_awvalid")
                .then(|| f.window(HOST_DRAM, Direction::Output))
                .transpose()?,
        })
    }
}

/// Any width.
const ANY: u32 = 0;

struct Finder<'m> {
    model: &'m Model,
    set: PinSet,
}

impl Finder<'_> {
    fn name(&self, group: Group, pin: &str) -> String {
        let prefix = if self.set == PinSet::Forebay {
            group.0
        } else {
            group.1
        };
        format!("{prefix}{pin}")
    }

    fn plain(&self, name: &str) -> Result<PortHandle> {
        self.model.find_port(name).ok_or_else(|| Error::MissingPin {
            top: self.model.top().to_owned(),
            pin: name.to_owned(),
            other: name.to_owned(),
        })
    }

    fn check(
        &self,
        handle: PortHandle,
        pin: &str,
        direction: Direction,
        width: u32,
    ) -> Result<PortHandle> {
        if handle.direction() == direction && (width == ANY || handle.width() == width) {
            return Ok(handle);
        }
        let text = |direction, width| match (direction, width) {
            (Direction::Input, ANY) => "an input".to_owned(),
            (Direction::Output, ANY) => "an output".to_owned(),
            (Direction::Input, n) => format!("an input of {n} bits"),
            (Direction::Output, n) => format!("an output of {n} bits"),
        };
        Err(Error::WrongPin {
            top: self.model.top().to_owned(),
            pin: pin.to_owned(),
            found: text(handle.direction(), handle.width()),
            expected: text(direction, width),
        })
    }

    fn need(&self, group: Group, pin: &str, to: Direction, width: u32) -> Result<PortHandle> {
        let name = self.name(group, pin);
        let handle = self
            .model
            .find_port(&name)
            .ok_or_else(|| Error::MissingPin {
                top: self.model.top().to_owned(),
                pin: format!("{}{pin}", group.0),
                other: format!("{}{pin}", group.1),
            })?;
        self.check(handle, &name, to, width)
    }

    fn may(
        &self,
        group: Group,
        pin: &str,
        to: Direction,
        width: u32,
    ) -> Result<Option<PortHandle>> {
        let name = self.name(group, pin);
        let found = self.model.find_port(&name);
        found
            .map(|handle| self.check(handle, &name, to, width))
            .transpose()
    }

    fn streams(&self) -> Result<Streams> {
        Ok(Streams {
            write: self.stream_in(WRITE)?,
            response: self.stream_out(RESPONSE, 8)?,
            command: self.stream_in(COMMAND)?,
            read: self.stream_out(READ, 512)?,
            exact: self.set == PinSet::Forebay,
        })
    }

    fn host(&self) -> Result<Host> {
        Ok(Host {
            window: self.window(HOST, Direction::Input)?,
            control: self.lite(HOST_CONTROL, Direction::Input, 64)?,
        })
    }

    fn net(&self) -> Result<Net> {
        use Direction::{Input, Output};
        let plain = |name| self.check(self.plain(name)?, name, Input, 1);
        Ok(Net {
            clk: plain("clk_mac")?,
            reset: plain("rst_mac")?,
            receive: MacIn {
                valid: self.need(MAC_IN, "tvalid", Input, 1)?,
                data: self.need(MAC_IN, "tdata", Input, 512)?,
                keep: self.need(MAC_IN, "tkeep", Input, 64)?,
                last: self.need(MAC_IN, "tlast", Input, 1)?,
                user: self.need(MAC_IN, "tuser", Input, 1)?,
            },
            transmit: MacOut {
                valid: self.need(MAC_OUT, "tvalid", Output, 1)?,
                ready: self.need(MAC_OUT, "tready", Input, 1)?,
                data: self.need(MAC_OUT, "tdata", Output, 512)?,
                keep: self.need(MAC_OUT, "tkeep", Output, 64)?,
                last: self.need(MAC_OUT, "tlast", Output, 1)?,
                user: self.need(MAC_OUT, "tuser", Output, 1)?,
            },
            control: self.lite(NET_CONTROL, Input, 64)?,
            recorder: self.lite(RECORDER_CONTROL, Input, 64)?,
        })
    }

    fn stream_in(&self, group: Group) -> Result<StreamIn> {
        use Direction::{Input, Output};
        Ok(StreamIn {
            valid: self.need(group, "tvalid", Input, 1)?,
            ready: self.need(group, "tready", Output, 1)?,
            data: self.need(group, "tdata", Input, 512)?,
            keep: self.may(group, "tkeep", Input, 64)?,
            last: self.need(group, "tlast", Input, 1)?,
        })
    }

    fn stream_out(&self, group: Group, width: u32) -> Result<StreamOut> {
        use Direction::{Input, Output};
        Ok(StreamOut {
            valid: self.need(group, "tvalid", Output, 1)?,
            ready: self.need(group, "tready", Input, 1)?,
            data: self.need(group, "tdata", Output, width)?,
            keep: self.may(group, "tkeep", Output, width / 8)?,
            last: self.may(group, "tlast", Output, 1)?,
            user: self.may(group, "tuser", Output, 1)?,
            id: self.may(group, "tid", Output, 8)?,
        })
    }

    /// `to` is the direction of the address: an input of a target, an output of an initiator.
    fn window(&self, group: Group, to: Direction) -> Result<Window> {
        let back = match to {
            Direction::Input => Direction::Output,
            Direction::Output => Direction::Input,
        };
        Ok(Window {
            awvalid: self.need(group, "awvalid", to, 1)?,
            awready: self.need(group, "awready", back, 1)?,
            awaddr: self.need(group, "awaddr", to, ANY)?,
            awlen: self.need(group, "awlen", to, 8)?,
            awsize: self.may(group, "awsize", to, 3)?,
            awburst: self.may(group, "awburst", to, 2)?,
            wvalid: self.need(group, "wvalid", to, 1)?,
            wready: self.need(group, "wready", back, 1)?,
            wdata: self.need(group, "wdata", to, 512)?,
            wstrb: self.need(group, "wstrb", to, 64)?,
            wlast: self.need(group, "wlast", to, 1)?,
            bvalid: self.need(group, "bvalid", back, 1)?,
            bready: self.need(group, "bready", to, 1)?,
            bresp: self.may(group, "bresp", back, 2)?,
            arvalid: self.need(group, "arvalid", to, 1)?,
            arready: self.need(group, "arready", back, 1)?,
            araddr: self.need(group, "araddr", to, ANY)?,
            arlen: self.need(group, "arlen", to, 8)?,
            arsize: self.may(group, "arsize", to, 3)?,
            arburst: self.may(group, "arburst", to, 2)?,
            rvalid: self.need(group, "rvalid", back, 1)?,
            rready: self.need(group, "rready", to, 1)?,
            rdata: self.need(group, "rdata", back, 512)?,
            rresp: self.may(group, "rresp", back, 2)?,
            rlast: self.need(group, "rlast", back, 1)?,
        })
    }

    /// `to` is the direction of the address: an input of a target, an output of an initiator.
    fn lite(&self, group: Group, to: Direction, width: u32) -> Result<Lite> {
        let back = match to {
            Direction::Input => Direction::Output,
            Direction::Output => Direction::Input,
        };
        Ok(Lite {
            awvalid: self.need(group, "awvalid", to, 1)?,
            awready: self.need(group, "awready", back, 1)?,
            awaddr: self.need(group, "awaddr", to, ANY)?,
            wvalid: self.need(group, "wvalid", to, 1)?,
            wready: self.need(group, "wready", back, 1)?,
            wdata: self.need(group, "wdata", to, width)?,
            wstrb: self.may(group, "wstrb", to, width / 8)?,
            bvalid: self.need(group, "bvalid", back, 1)?,
            bready: self.need(group, "bready", to, 1)?,
            bresp: self.may(group, "bresp", back, 2)?,
            arvalid: self.need(group, "arvalid", to, 1)?,
            arready: self.need(group, "arready", back, 1)?,
            araddr: self.need(group, "araddr", to, ANY)?,
            rvalid: self.need(group, "rvalid", back, 1)?,
            rready: self.need(group, "rready", to, 1)?,
            rdata: self.need(group, "rdata", back, width)?,
            rresp: self.may(group, "rresp", back, 2)?,
        })
    }
}
