// SPDX-License-Identifier: Apache-2.0
//! RTL other than ours: what has the pins is loaded, what has not or breaks AXI is told so.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use crate::common::{bring_up, poisoned, profile, shaken, soak, system};
use forebay_cosim::{
    Card, Config, Error, FPGA, PinSet, Read, Sent, Sink, Stall, Stalls, System, Write, rtl,
};
use forebay_driver::Bus;
use forebay_rtl::Builder;
use forebay_spec::streamer::bar0;

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
    let into = "awid:4 awvalid awaddr:26 awlen:8 wvalid wdata:512 wstrb:64 wlast bready \
                arid:4 arvalid araddr:26 arlen:8 rready";
    add("s_axi_bar_", into, false);
    let out = "awready wready bid:4 bvalid arready rid:4 rvalid rdata:512 rlast";
    add("s_axi_bar_", out, true);
    add(
        "m_axil_db_",
        "awready wready bvalid arready rvalid rdata:32",
        false,
    );
    let out = "awvalid awaddr:64 wvalid wdata:32 bready arvalid araddr:64 rready";
    add("m_axil_db_", out, true);
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

fn config(text: &str) -> Result<Config, Error> {
    let folder = tempfile::tempdir().expect("temporary folder");
    let file = folder.path().join("stub.sv");
    std::fs::write(&file, text).expect("written");
    let mut config = Config::new(rtl::third_party(&file, None)?, profile("ideal"));
    config.stalls.read = Stall::new(1.0, 1);
    config.stalls.write = Stall::new(0.5, 2);
    config.watchdog = 50_000;
    // The folder goes with this function.
    config.library = Some(Builder::from_environment()?.build(&config.rtl, &mut |_| {})?);
    Ok(config)
}

fn load(text: &str) -> Result<System, Error> {
    System::new(config(text)?, &mut |_| {})
}

#[test]
fn missing_and_wrong_pins_are_named() {
    let text = stub("", |pins| {
        pins.retain(|(name, ..)| name != "s_axi_bar_wlast")
    });
    let error = load(&text).err().expect("a pin is missing").to_string();
    assert!(
        error.contains("no pin 's_axi_bar_wlast' (nor 'S_AXI_URAM_PRP_wlast')"),
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
    let text = stub("", |pins| {
        for pin in pins.iter_mut().filter(|pin| pin.0 == "s_axi_bar_araddr") {
            pin.1 = 25;
        }
    });
    let error = load(&text).err().expect("a BAR has 64 MiB").to_string();
    assert!(
        error.contains("'s_axi_bar_araddr' of 'stub' is an input of 25 bits")
            && error.contains("must be an input of 26 bits or more"),
        "{error}"
    );
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
  assign s_axi_bar_bvalid = c == 4;
  assign s_axi_bar_rvalid = c == 5;
  assign m_axil_db_arvalid = c == 6;
  assign s_axis_wr_tready = c == 7 && s_axis_wr_tvalid;
  a_small: assert property (@(posedge clk) c != 8 || n < 100) else $error(\"n is %0d\", n);";

#[test]
fn broken_rules_are_reported_with_cycle_and_channel() {
    let cases = [
        "breaks the AXI protocol on read data: valid fell before ready",
        "breaks the AXI protocol on read data: the payload changed",
        "breaks the AXI protocol on write responses: a response came without a write",
        "breaks the AXI protocol on BAR writes: a response came without a write",
        "breaks the AXI protocol on BAR reads: data came without a read",
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

/// A target that answers one request at a time, with `ID` for its identifier.
const ONE_BY_ONE: &str = "
  logic [3:0] id;
  logic read = 0, write = 0;
  assign {s_axi_bar_arready, s_axi_bar_awready, s_axi_bar_wready} = '1;
  assign s_axi_bar_rvalid = read;
  assign s_axi_bar_rlast = 1'b1;
  assign s_axi_bar_bvalid = write;
  assign s_axi_bar_rid = ID;
  assign s_axi_bar_bid = ID;
  always_ff @(posedge clk) begin
    if (s_axi_bar_arvalid || s_axi_bar_awvalid)
      id <= s_axi_bar_arvalid ? s_axi_bar_arid : s_axi_bar_awid;
    read <= !rst && (s_axi_bar_arvalid || (read && !s_axi_bar_rready));
    write <= !rst && ((s_axi_bar_wvalid && s_axi_bar_wlast) || (write && !s_axi_bar_bready));
  end";

#[test]
fn an_identifier_that_was_not_asked_for_is_named() {
    for (id, write, what) in [
        ("id", false, None),
        ("id", true, None),
        ("~id", false, Some("no read under way has")),
        ("~id", true, Some("no write that waits for one has")),
    ] {
        let mut system = load(&stub(&ONE_BY_ONE.replace("ID", id), |_| {})).expect("loads");
        if write {
            let written = system.bar_write64(FPGA, 0, bar0::CONTROL, 1);
            written.expect("posted");
        }
        let read = system.bar_read64(FPGA, 0, bar0::CONTROL);
        let Some(what) = what else {
            assert_eq!(read.expect("answered"), 0);
            continue;
        };
        let error = read.expect_err("not the one asked for");
        let error = std::error::Error::source(&error).expect("the simulation's");
        let text = error.to_string();
        assert!(
            text.contains(" came with identifier ") && text.contains(what),
            "{text}"
        );
    }
}

/// A target that answers when it likes: identifiers overtake one another, and their beats mix. Every
/// eight bytes hold the address of their beat. No read may come before the answers to writes to
/// addresses with bit 20 set.
const OUT_OF_ORDER: &str = "
  logic [25:0] address [16][64];
  logic [7:0] beats [16][64];
  logic [5:0] first [16], last [16];
  logic [7:0] beat [16];
  logic [6:0] owed [16];
  logic [3:0] aw [128], r, b, given, r_id, b_id;
  logic [6:0] aw_first, aw_last;
  logic [7:0] under_way;
  logic earlier [16][64];
  logic [5:0] b_first [16], b_last [16];
  logic [31:0] random;
  logic [63:0] at, r_at;
  logic r_takes, r_ends, r_valid, r_last, b_takes, b_valid;
  wire whole = s_axi_bar_wvalid && s_axi_bar_wlast;
  assign {s_axi_bar_arready, s_axi_bar_awready, s_axi_bar_wready} = '1;
  assign {s_axi_bar_rvalid, s_axi_bar_rid, s_axi_bar_rlast} = {r_valid, r_id, r_last};
  assign s_axi_bar_rdata = {8{r_at}};
  assign {s_axi_bar_bvalid, s_axi_bar_bid} = {b_valid, b_id};
  always_comb begin
    r = random[3:0];
    for (int n = 0; n < 16; n++) if (first[r] == last[r]) r++;
    b = random[7:4];
    for (int n = 0; n < 16; n++) if (owed[b] == 0) b++;
    at = (64'(address[r][first[r]]) & ~64'h3f) + 64'(beat[r]) * 64;
    r_takes = (!r_valid || s_axi_bar_rready) && first[r] != last[r] && random[8];
    r_ends = beat[r] == beats[r][first[r]];
    b_takes = (!b_valid || s_axi_bar_bready) && owed[b] != 0 && random[12:9] == 0;
    // Data may come in the cycle of their address.
    given = aw_first == aw_last ? s_axi_bar_awid : aw[aw_first];
  end
  always_ff @(posedge clk) begin
    random <= {random[30:0], random[31] ^ random[21] ^ random[1] ^ random[0]};
    if (s_axi_bar_arvalid) begin
      address[s_axi_bar_arid][last[s_axi_bar_arid]] <= s_axi_bar_araddr;
      beats[s_axi_bar_arid][last[s_axi_bar_arid]] <= s_axi_bar_arlen;
      last[s_axi_bar_arid] <= last[s_axi_bar_arid] + 1;
    end
    if (r_takes) begin
      {r_id, r_at, r_last} <= {r, at, r_ends};
      beat[r] <= r_ends ? 0 : beat[r] + 1;
      first[r] <= first[r] + 6'(r_ends);
    end
    r_valid <= r_takes || (r_valid && !s_axi_bar_rready);
    if (s_axi_bar_awvalid) aw[aw_last] <= s_axi_bar_awid;
    aw_last <= aw_last + 7'(s_axi_bar_awvalid);
    aw_first <= aw_first + 7'(whole);
    for (int n = 0; n < 16; n++)
      owed[n] <= owed[n] + 7'(whole && given == 4'(n)) - 7'(b_takes && b == 4'(n));
    if (b_takes) b_id <= b;
    b_valid <= b_takes || (b_valid && !s_axi_bar_bready);
    if (s_axi_bar_awvalid) begin
      earlier[s_axi_bar_awid][b_last[s_axi_bar_awid]] <= s_axi_bar_awaddr[20];
      b_last[s_axi_bar_awid] <= b_last[s_axi_bar_awid] + 1;
    end
    if (b_valid && s_axi_bar_bready) b_first[b_id] <= b_first[b_id] + 1;
    under_way <= under_way + 8'(s_axi_bar_awvalid && s_axi_bar_awaddr[20]) -
        8'(b_valid && s_axi_bar_bready && earlier[b_id][b_first[b_id]]);
    if (rst) begin
      for (int n = 0; n < 16; n++) 
        {first[n], last[n], beat[n], owed[n], b_first[n], b_last[n]} <= '0;
      {aw_first, aw_last, under_way, r_valid, b_valid} <= '0;
      random <= 1;
    end
  end
  a_order: assert property (@(posedge clk) disable iff (rst) s_axi_bar_arvalid |-> under_way == 0)
    else $error(\"a read passes a write\");";

/// The host's reads wait for the answers to its writes, and get what they asked for, whatever overtakes
/// what.
#[test]
fn answers_may_come_in_any_order_between_identifiers() {
    const ACCESSES: u32 = 48;
    const BEFORE: u64 = 1 << 20;
    for seed in 1..4 {
        let mut config = config(&stub(OUT_OF_ORDER, |_| {})).expect("builds");
        config.seed = seed;
        config.stalls = Stalls::everywhere(Stall::new(0.2, 4));
        let mut card = Card::new(config, &mut |_| {}).expect("loads");
        let mut number = shaken(seed);
        let write = |card: &mut Card, number: &mut dyn FnMut() -> u64, from: u64| {
            for _ in 0..ACCESSES {
                let length = 1 + number() % 600;
                card.write(from + number() % 60_000, &vec![0; length as usize]);
            }
        };
        for _ in 0..4 {
            write(&mut card, &mut number, bar0::DATA + BEFORE);
            let asked: Vec<(u64, u32)> = (0..ACCESSES)
                .map(|_| {
                    let offset = bar0::DATA + number() % 60_000;
                    (offset, 1 + (number() % 4096) as u32)
                })
                .collect();
            for (tag, (offset, length)) in (0..).zip(&asked) {
                card.read(*offset, *length, tag);
            }
            write(&mut card, &mut number, bar0::DATA);
            let mut left: HashSet<u32> = (0..ACCESSES).collect();
            while !left.is_empty() {
                card.step().unwrap_or_else(|error| panic!("{error}"));
                let Some(Sent::Answer(answer)) = card.take_sent() else {
                    continue;
                };
                assert!(left.remove(&answer.tag));
                let (offset, length) = asked[answer.tag as usize];
                let bytes = offset..offset + u64::from(length);
                let expected: Vec<u8> = bytes
                    .map(|at| (at & !63).to_le_bytes()[(at % 8) as usize])
                    .collect();
                assert!(*answer.result.expect("data") == *expected, "{offset:#x}");
            }
        }
    }
}

#[test]
fn a_stream_that_is_never_ready_is_named() {
    let mut system = load(&stub("", |_| {})).expect("loads");
    system.submit_write(Write::pattern(0, 4096, 1));
    let error = system.run().expect_err("never ready").to_string();
    assert!(error.contains("the write stream is not ready"), "{error}");
}

/// All three variants of SNAcc's pins. Payload and completions come through ports of their own, in an
/// order that only the drive keeps: it waits for the answers to its data.
#[test]
fn snaccs_pins_serve_all_three_memories() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rtl/top");
    let dram = ("snacc_dram.f", "fb_top_snacc_dram");
    let variants = [("onchip.f", "fb_top_snacc_onchip"), dram, dram];
    for seed in 1..4 {
        for (memory, ((list, top), mut config)) in variants.into_iter().zip(poisoned()).enumerate()
        {
            let source = rtl::third_party(&root.join(list), Some(top)).expect("a streamer");
            config.rtl = if memory == 2 {
                source.parameter("host_ddr", 1)
            } else {
                source
            };
            config.seed = seed;
            config.stalls = Stalls::everywhere(Stall::new(0.2, 10));
            let mut system = system(config);
            assert_eq!(system.pin_set(), PinSet::Snacc);
            soak(&mut system, 16, seed, &mut |_| {});
            let stats = system.stats();
            assert_eq!((stats.stray_writes, stats.refused), (0, 0), "{top}");
        }
    }
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
