// SPDX-License-Identifier: Apache-2.0
//! RTL other than ours: what has the pins is loaded, what has not or breaks AXI is told so.

use std::fmt::Write as _;
use std::path::Path;

use crate::common::{bring_up, profile};
use forebay_cosim::{Config, Error, PinSet, Read, Sink, Stall, System, Write, rtl};

/// A module with all pins of a streamer and nothing behind them, but for `body`.
fn stub(body: &str, change: impl Fn(&mut Vec<(String, u32, bool)>)) -> String {
    let mut pins: Vec<(String, u32, bool)> = Vec::new();
    let mut add = |prefix: &str, list: &str, outputs: bool| {
        for pin in list.split_whitespace() {
            let (name, width) = pin.split_once(':').unwrap_or((pin, "1"));
            let width = width.parse().expect("a number");
            pins.push((format!("{prefix}{name}"), width, outputs));
        }
    };
    for stream in ["s_axis_wr_", "s_axis_rdcmd_"] {
        add(stream, "tvalid tdata:512 tkeep:64 tlast", false);
        add(stream, "tready", true);
    }
    add("m_axis_wrsp_", "tvalid tdata:8 tlast", true);
    add(
        "m_axis_rd_",
        "tvalid tdata:512 tkeep:64 tlast tuser tid:8",
        true,
    );
    add("m_axis_wrsp_", "tready", false);
    add("m_axis_rd_", "tready", false);
    for (window, address) in [("s_axi_data_", 23), ("s_axi_queue_", 13)] {
        let into = format!(
            "awvalid awaddr:{address} awlen:8 wvalid wdata:512 wstrb:64 wlast bready \
             arvalid araddr:{address} arlen:8 rready"
        );
        add(window, &into, false);
        add(
            window,
            "awready wready bvalid arready rvalid rdata:512 rlast",
            true,
        );
    }
    add(
        "m_axil_db_",
        "awready wready bvalid arready rvalid rdata:32",
        false,
    );
    let out = "awvalid awaddr:64 wvalid wdata:32 bready arvalid araddr:64 rready";
    add("m_axil_db_", out, true);
    let into = "awvalid awaddr:12 wvalid wdata:64 bready arvalid araddr:12 rready";
    add("s_axil_ctrl_", into, false);
    add(
        "s_axil_ctrl_",
        "awready wready bvalid arready rvalid rdata:64",
        true,
    );
    change(&mut pins);
    let mut text = "module stub (input wire clk, input wire rst".to_owned();
    for (name, width, output) in &pins {
        let direction = if *output { "output" } else { "input" };
        let _ = write!(text, ",\n  {direction} wire [{}:0] {name}", width - 1);
    }
    text += ");\n  logic [7:0] n = 0;\n  always_ff @(posedge clk) n <= rst ? 8'd0 : n + 8'd1;\n";
    for (name, ..) in pins
        .iter()
        .filter(|(name, _, output)| *output && !body.contains(name))
    {
        let _ = writeln!(text, "  assign {name} = '0;");
    }
    text + body + "\nendmodule\n"
}

fn load(text: &str) -> Result<System, Error> {
    let folder = tempfile::tempdir().expect("temporary folder");
    let file = folder.path().join("stub.sv");
    std::fs::write(&file, text).expect("written");
    let mut config = Config::new(rtl::third_party(&file, None)?, profile("ideal"));
    config.stalls.read = Stall::new(1.0, 1);
    config.stalls.write = Stall::new(0.5, 2);
    config.watchdog = 50_000;
    System::new(config, &mut |_| {})
}

#[test]
fn missing_and_wrong_pins_are_named() {
    let text = stub("", |pins| {
        pins.retain(|(name, ..)| name != "s_axi_data_wlast")
    });
    let error = load(&text).err().expect("a pin is missing").to_string();
    assert!(
        error.contains("no pin 's_axi_data_wlast' (nor 'S_AXI_URAM_PRP_wlast')"),
        "{error}"
    );
    let text = stub("", |pins| {
        for pin in pins.iter_mut().filter(|pin| pin.0 == "m_axis_rd_tdata") {
            pin.1 = 256;
        }
    });
    let error = load(&text).err().expect("a pin is narrow").to_string();
    assert!(
        error.contains("'m_axis_rd_tdata' of 'stub' is an output of 256 bits"),
        "{error}"
    );
    assert!(error.contains("must be an output of 512 bits"), "{error}");
    let error = load("module other (input wire clk);\nendmodule")
        .err()
        .expect("no streamer");
    assert!(matches!(error, Error::NoRtl { .. }), "{error}");
}

#[test]
fn a_filelist_may_count_from_any_folder_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = rtl::third_party(&root.join("rtl/top/onchip.f"), None).expect("found");
    assert!(source.top.starts_with("fb_top_"), "{}", source.top);
    let folder = tempfile::tempdir().expect("temporary folder");
    let list = folder.path().join("gone.f");
    std::fs::write(&list, "nowhere.sv\n").expect("written");
    let error = rtl::third_party(&list, None)
        .expect_err("nothing there")
        .to_string();
    assert!(error.contains("gone.f:1: there is no file"), "{error}");
}

/// What the stub does wrong follows from the address of the first write: one build for all cases.
const WRONGS: &str = "
  logic [7:0] c = 0;
  always_ff @(posedge clk) if (s_axis_wr_tvalid && c == 0) c <= s_axis_wr_tdata[16:9];
  assign m_axis_rd_tvalid = c == 1 ? n[0] : c == 2;
  assign m_axis_rd_tdata = c == 2 ? 512'(n) : 512'd0;
  assign m_axis_wrsp_tvalid = c == 3;
  assign s_axi_data_bvalid = c == 4;
  assign s_axi_queue_rvalid = c == 5;
  assign m_axil_db_arvalid = c == 6;
  assign s_axis_wr_tready = c == 7 && s_axis_wr_tvalid;
  a_small: assert property (@(posedge clk) c != 8 || n < 100) else $error(\"n is %0d\", n);";

#[test]
fn broken_rules_are_reported_with_cycle_and_channel() {
    let cases = [
        "breaks the AXI protocol on read data: valid fell before ready",
        "breaks the AXI protocol on read data: the payload changed",
        "breaks the AXI protocol on write responses: a response came without a write",
        "breaks the AXI protocol on data window writes: a response came without a write",
        "breaks the AXI protocol on queue window reads: data came without a read",
        "breaks the AXI protocol on doorbells: the streamer reads",
        "breaks the AXI protocol on all: an output follows an input",
        "the RTL reports: ",
    ];
    for (number, what) in (1_u64..).zip(cases) {
        let mut system = load(&stub(WRONGS, |_| {})).expect("loads");
        system.submit_write(Write::pattern(number << 9, 1 << 20, 1));
        let error = system
            .run_cycles(2000)
            .err()
            .unwrap_or_else(|| panic!("unseen: {what}"));
        let text = error.to_string();
        let assertion = matches!(error, Error::Assertion { .. });
        assert_eq!(assertion, number == 8, "{text}");
        assert!(
            assertion || matches!(error, Error::Protocol { .. }),
            "{text}"
        );
        assert!(
            text.starts_with("cycle ") && text.contains(what),
            "{what}: {text}"
        );
    }
}

#[test]
fn a_stream_that_is_never_ready_is_named() {
    let mut system = load(&stub("", |_| {})).expect("loads");
    system.submit_write(Write::pattern(0, 4096, 1));
    let error = system.run().expect_err("never ready").to_string();
    assert!(error.contains("the write stream is not ready"), "{error}");
}

/// SNAcc's published streamer is not part of this repository. Point FOREBAY_SNACC_RTL at a folder
/// that holds `mkNvmeStreamerUram.v` and the Bluespec library modules that it uses.
#[test]
fn snaccs_published_streamer_runs_in_place_of_ours() {
    let Some(folder) = std::env::var_os("FOREBAY_SNACC_RTL") else {
        println!("skipped: FOREBAY_SNACC_RTL is not set");
        return;
    };
    let source = rtl::third_party(Path::new(&folder), None).expect("a streamer");
    let mut system =
        System::new(Config::new(source, profile("ideal")), &mut |_| {}).expect("loads");
    assert_eq!(system.pin_set(), PinSet::Snacc);
    bring_up(&mut system);
    system.submit_write(Write::pattern(0, 4096, 1));
    system.run().expect("runs");
    // 155 cycles, and up to 64 more where its doorbell timer runs.
    let latency = system.next_outcome().expect("ended").latency();
    assert!((155..220).contains(&latency), "{latency} cycles");
    system.submit_write(Write::pattern(0, 8 << 20, 2));
    system.run().expect("runs");
    let write = system.next_outcome().expect("ended");
    let rate = write.length as f64 / write.latency() as f64;
    assert!(
        (56.6..56.9).contains(&rate),
        "8 MiB: {rate:.2} B/cycle, published 56.8"
    );
    system.submit_read(Read::new(0, 8 << 20, Sink::Pattern { seed: 2 }));
    system.run().expect("runs");
    assert!(system.next_outcome().is_some_and(|o| o.is_good()));
}
