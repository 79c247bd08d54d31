// SPDX-License-Identifier: Apache-2.0
//! The pins of a streamer, found by name: ours (`s_axis_wr_tvalid`) or SNAcc's
//! (`S_AXIS_WRITE_tvalid`). Pins that one of the two lacks are optional.

use forebay_rtl::{Direction, Model, PortHandle};

use crate::aperture::Memory;
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
// One target is all of ours; SNAcc's streamer has three.
const BAR: Group = ("s_axi_bar_", "S_AXI_URAM_PRP_");
// With its payload in DRAM.
const SNACC_PAYLOAD: Group = ("s_axi_bar_", "S_AXI_PCIe_");
const QUEUE: Group = ("s_axi_bar_", "S_AXI_Queues_");
const DOORBELL: Group = ("m_axil_db_", "M_AXI_Doorbells_");
const CONTROL: Group = ("s_axil_ctrl_", "S_CTRL_");
// SNAcc's streamer has no host port.
const HOST: Group = ("s_axi_host_", "s_axi_host_");
const DRAM: Group = ("m_axi_dram_", "M_AXI_DDR_NVMe_");
const HOST_DRAM: Group = ("m_axi_host_", "M_AXI_DDR_NVMe_");
const HOST_CONTROL: Group = ("s_axil_host_", "s_axil_host_");
// Nor has it a network side.
const MAC_IN: Group = ("s_axis_mac_", "s_axis_mac_");
const TIME_OF_DAY: &str = "time_of_day";
const INTERRUPT: &str = "irq";
const MAC_OUT: Group = ("m_axis_mac_", "m_axis_mac_");
const NET_CONTROL: Group = ("s_axil_net_", "s_axil_net_");
const RECORDER_CONTROL: Group = ("s_axil_rec_", "s_axil_rec_");
const ELEMENTS: Group = ("s_axil_pe_", "s_axil_pe_");

/// Declares groups of pins. `need` are pins that must be there, `may` those that may be missing, each
/// with its direction and its width. The names in brackets stand for the direction of the address (or
/// of the data of a stream), the other direction, and the width of the data.
macro_rules! groups {
    ($(
        $(#[$doc:meta])*
        $name:ident [$to:ident, $back:ident, $width:ident], $prefix:literal {
            $($pin:ident: $kind:ident($direction:ident, $bits:expr);)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name {
            $(pub $pin: groups!($kind),)*
        }

        impl $name {
            fn find(f: &Finder<'_>, group: Group, $to: Direction, $width: u32) -> Result<Self> {
                let $back = match $to {
                    Direction::Input => Direction::Output,
                    Direction::Output => Direction::Input,
                };
                Ok(Self {
                    $($pin: f.$kind(group, concat!($prefix, stringify!($pin)), $direction, $bits)?,)*
                })
            }
        }
    )*};
    (need) => { PortHandle };
    (may) => { Option<PortHandle> };
}

groups! {
    /// A stream into the RTL.
    StreamIn [to, back, width], "t" {
        valid: need(to, 1);
        ready: need(back, 1);
        data: need(to, width);
        keep: may(to, width / 8);
        last: may(to, 1);
    }

    /// A stream out of the RTL.
    StreamOut [to, back, width], "t" {
        valid: need(to, 1);
        ready: need(back, 1);
        data: need(to, width);
        keep: may(to, width / 8);
        last: may(to, 1);
        user: may(to, 1);
        id: may(to, 8);
    }

    /// What comes from the MAC: it cannot be stopped, there is no ready.
    MacIn [to, _back, width], "t" {
        valid: need(to, 1);
        data: need(to, width);
        keep: need(to, width / 8);
        last: need(to, 1);
        user: need(to, 1);
    }

    /// What goes to the MAC.
    MacOut [to, back, width], "t" {
        valid: need(to, 1);
        ready: need(back, 1);
        data: need(to, width);
        keep: need(to, width / 8);
        last: need(to, 1);
        user: need(to, 1);
    }

    /// An AXI4 port of the RTL.
    Window [to, back, width], "" {
        awvalid: need(to, 1);
        awready: need(back, 1);
        awid: may(to, ANY);
        awaddr: need(to, ANY);
        awlen: need(to, ANY);
        awsize: may(to, 3);
        awburst: may(to, 2);
        wvalid: need(to, 1);
        wready: need(back, 1);
        wdata: need(to, width);
        wstrb: need(to, width / 8);
        wlast: need(to, 1);
        bvalid: need(back, 1);
        bready: need(to, 1);
        bid: may(back, ANY);
        bresp: may(back, 2);
        arvalid: need(to, 1);
        arready: need(back, 1);
        arid: may(to, ANY);
        araddr: need(to, ANY);
        arlen: need(to, ANY);
        arsize: may(to, 3);
        arburst: may(to, 2);
        rvalid: need(back, 1);
        rready: need(to, 1);
        rid: may(back, ANY);
        rdata: need(back, width);
        rresp: may(back, 2);
        rlast: need(back, 1);
    }

    /// An AXI4-Lite port.
    Lite [to, back, width], "" {
        awvalid: need(to, 1);
        awready: need(back, 1);
        awaddr: need(to, ANY);
        wvalid: need(to, 1);
        wready: need(back, 1);
        wdata: need(to, width);
        wstrb: may(to, width / 8);
        bvalid: need(back, 1);
        bready: need(to, 1);
        bresp: may(back, 2);
        arvalid: need(to, 1);
        arready: need(back, 1);
        araddr: need(to, ANY);
        rvalid: need(back, 1);
        rready: need(to, 1);
        rdata: need(back, width);
        rresp: may(back, 2);
    }
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

/// The network side and the recorder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Net {
    /// Clocks of receiving and sending, which rise together here, and their resets.
    pub clks: [PortHandle; 2],
    pub resets: [PortHandle; 2],
    /// An event stands.
    pub interrupt: PortHandle,
    /// Seconds, and below them 32 bits of nanoseconds.
    pub time_of_day: PortHandle,
    /// Clock and reset of processing elements that have their own.
    pub own: (PortHandle, PortHandle),
    pub receive: MacIn,
    pub transmit: MacOut,
    pub control: Lite,
    pub recorder: Lite,
    pub elements: Lite,
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
    /// Ours: all of the streamer's part of BAR 0, by the offset in it. SNAcc's: payload and PRP lists.
    pub bar: Window,
    /// SNAcc's: the queues.
    pub queue: Option<Window>,
    /// SNAcc's: the registers. Ours: a second door to them.
    pub control: Option<Lite>,
    /// SNAcc's with the payload in DRAM: registers and PRP lists.
    pub lists: Option<Window>,
    pub doorbell: Lite,
    pub host: Option<Host>,
    pub net: Option<Net>,
    /// The master for on-board DRAM, where the payload is there.
    pub dram: Option<Window>,
    /// The master to the PCIe bridge, where the payload is in host memory.
    pub host_dram: Option<Window>,
}

/// The pins of a bring-up without a CPU: of `fb_top_boot`, and of each top that has it within.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RootPins {
    pub clk: PortHandle,
    pub reset: PortHandle,
    pub link_up: PortHandle,
    pub perst_n: PortHandle,
    pub hold: PortHandle,
    pub txd: PortHandle,
    pub cfg: Lite,
    pub mmio: Lite,
    pub admin: Window,
    /// Its own registers.
    pub control: Lite,
}

impl RootPins {
    /// Finds and checks all pins.
    pub fn find(model: &Model) -> Result<Self> {
        use Direction::{Input, Output};
        let f = Finder::ours(model);
        let output = |name: &'static str| f.need((name, name), "", Output, 1);
        Ok(Self {
            clk: f.plain("clk")?,
            reset: f.plain("rst")?,
            link_up: f.plain("link_up")?,
            perst_n: output("perst_n")?,
            hold: output("hold")?,
            txd: output("uart_txd")?,
            cfg: f.lite("m_axil_cfg_", Output, 32)?,
            mmio: f.lite("m_axil_mmio_", Output, 32)?,
            admin: f.window("s_axi_admin_", Input)?,
            control: f.lite("s_axil_boot_", Input, 64)?,
        })
    }
}

/// The registers of a streamer that `fb_top_boot` does not have.
pub(crate) fn streamer_registers(model: &Model) -> Result<Lite> {
    Finder::ours(model).lite("m_axil_ctrl_", Direction::Output, 64)
}

/// The pins of a recorder without a CPU, `fb_top_recorder`, beside those of its bring-up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecorderPins {
    /// Time, nanoseconds.
    pub now_ns: PortHandle,
    pub stream_in: StreamIn,
    pub stream_out: StreamOut,
    /// Its registers.
    pub raw: Lite,
    /// Queues and payload, for the drives.
    pub bar: Window,
    pub doorbell: Lite,
    /// The initiator for the memory of the stream FIFO.
    pub dram: Window,
}

impl RecorderPins {
    /// Finds and checks all pins.
    pub fn find(model: &Model) -> Result<Self> {
        use Direction::{Input, Output};
        let f = Finder::ours(model);
        let stream = |name: &'static str| -> Group { (name, name) };
        Ok(Self {
            now_ns: f.need(stream("now_ns"), "", Input, 64)?,
            stream_in: StreamIn::find(&f, stream("s_axis_in_"), Input, 512)?,
            stream_out: StreamOut::find(&f, stream("m_axis_out_"), Output, 512)?,
            raw: f.lite("s_axil_raw_", Input, 64)?,
            bar: f.window("s_axi_bar_", Input)?,
            doorbell: f.lite("m_axil_db_", Output, 32)?,
            dram: f.window("m_axi_dram_", Output)?,
        })
    }
}

impl Pins {
    /// Finds and checks all pins; `in_host`: the memory of SNAcc's streamer is that of the host.
    pub fn find(model: &Model, in_host: bool) -> Result<Self> {
        use Direction::{Input, Output};
        let there = |pin: &str| model.find_port(pin).is_some();
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
        let streams = || -> Result<Streams> {
            Ok(Streams {
                write: StreamIn::find(&f, WRITE, Input, 512)?,
                response: StreamOut::find(&f, RESPONSE, Output, 8)?,
                command: StreamIn::find(&f, COMMAND, Input, 512)?,
                read: StreamOut::find(&f, READ, Output, 512)?,
                exact: set == PinSet::Forebay,
            })
        };
        let host_port = || -> Result<Host> {
            Ok(Host {
                window: Window::find(&f, HOST, Input, 512)?,
                control: Lite::find(&f, HOST_CONTROL, Input, 64)?,
            })
        };
        let network = || -> Result<Net> {
            Ok(Net {
                clks: [f.plain("clk_rx")?, f.plain("clk_tx")?],
                resets: [f.plain("rst_rx")?, f.plain("rst_tx")?],
                interrupt: f.need((INTERRUPT, INTERRUPT), "", Output, 1)?,
                time_of_day: f.need((TIME_OF_DAY, TIME_OF_DAY), "", Input, 80)?,
                own: (f.plain("clk_pe")?, f.plain("rst_pe")?),
                receive: MacIn::find(&f, MAC_IN, Input, 512)?,
                transmit: MacOut::find(&f, MAC_OUT, Output, 512)?,
                control: Lite::find(&f, NET_CONTROL, Input, 64)?,
                recorder: Lite::find(&f, RECORDER_CONTROL, Input, 64)?,
                elements: Lite::find(&f, ELEMENTS, Input, 32)?,
            })
        };
        let master = |group: Group, wanted: bool| -> Result<Option<Window>> {
            let there = there(&f.name(group, "awvalid")) && wanted;
            there
                .then(|| Window::find(&f, group, Output, 512))
                .transpose()
        };
        let snacc = set == PinSet::Snacc;
        let in_dram = snacc && there("S_AXI_PCIe_awvalid");
        let bar = if in_dram { SNACC_PAYLOAD } else { BAR };
        let control = || Lite::find(&f, CONTROL, Input, 64);
        let lists = || Window::find(&f, CONTROL, Input, 512);
        let queue = || Window::find(&f, QUEUE, Input, 512);
        Ok(Self {
            set,
            clk: f.plain(clk)?,
            reset: f.plain(reset)?,
            reset_on,
            streams: (user || !(host || net)).then(streams).transpose()?,
            bar: Window::find(&f, bar, Input, 512)?,
            queue: snacc.then(queue).transpose()?,
            control: (snacc && !in_dram || there("s_axil_ctrl_awvalid"))
                .then(control)
                .transpose()?,
            lists: in_dram.then(lists).transpose()?,
            doorbell: Lite::find(&f, DOORBELL, Output, 32)?,
            host: host.then(host_port).transpose()?,
            net: net.then(network).transpose()?,
            dram: master(DRAM, !snacc || !in_host)?,
            host_dram: master(HOST_DRAM, !snacc || in_host)?,
        })
    }
}

impl Pins {
    /// Where the payload is.
    pub const fn memory(&self) -> Memory {
        match (self.dram, self.host_dram) {
            (Some(_), _) => Memory::Board,
            (None, Some(_)) => Memory::Host,
            (None, None) => Memory::Chip,
        }
    }

    /// Refuses a target whose address is too narrow for a BAR of `bytes`.
    pub fn check_bar(&self, model: &Model, bytes: u64) -> Result<()> {
        let addresses = [("awaddr", self.bar.awaddr), ("araddr", self.bar.araddr)];
        for (pin, handle) in addresses {
            let (found, needed) = (handle.width(), bytes.ilog2());
            if found < needed && self.queue.is_none() {
                return Err(Error::WrongPin {
                    top: model.top().to_owned(),
                    pin: format!("{}{pin}", BAR.0),
                    found: format!("an input of {found} bits"),
                    expected: format!("an input of {needed} bits or more"),
                });
            }
        }
        Ok(())
    }
}

/// Any width.
const ANY: u32 = 0;

struct Finder<'m> {
    model: &'m Model,
    set: PinSet,
}

impl<'m> Finder<'m> {
    /// For names that only our tops have.
    const fn ours(model: &'m Model) -> Self {
        let set = PinSet::Forebay;
        Self { model, set }
    }

    fn lite(&self, prefix: &'static str, to: Direction, width: u32) -> Result<Lite> {
        Lite::find(self, (prefix, prefix), to, width)
    }

    fn window(&self, prefix: &'static str, to: Direction) -> Result<Window> {
        Window::find(self, (prefix, prefix), to, 512)
    }

    fn name(&self, group: Group, pin: &str) -> String {
        match self.set {
            PinSet::Forebay => format!("{}{pin}", group.0),
            PinSet::Snacc => format!("{}{pin}", group.1),
        }
    }

    /// A clock or a reset.
    fn plain(&self, name: &'static str) -> Result<PortHandle> {
        self.need((name, name), "", Direction::Input, 1)
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
        self.may(group, pin, to, width)?
            .ok_or_else(|| Error::MissingPin {
                top: self.model.top().to_owned(),
                pin: format!("{}{pin}", group.0),
                other: format!("{}{pin}", group.1),
            })
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
}
