// SPDX-License-Identifier: Apache-2.0
//! Small designs through the whole way: Verilator, compiler, cache, loader.

use std::fs;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_rtl::{
    Builder, Cache, Direction, Error, Library, Memory, Model, Progress, Source, Toolchain,
};

const COUNTER: &str = "
module counter #(parameter int Width = 8) (
    input wire clk, input wire rst, input wire step, output logic [Width-1:0] count);
  always_ff @(posedge clk) if (rst) count <= '0; else if (step) count <= count + 1'b1;
  a_limit: assert property (@(posedge clk) disable iff (rst) count < 200)
    else $error(\"count %0d is over the limit\", count);
endmodule
";

const WIDE: &str = "
module wide (input wire clk, input wire [511:0] d, input wire [12:0] a, input wire [63:0] b,
             output logic [511:0] q, output logic [12:0] c, output logic [63:0] e,
             output wire [99:0] odd);
  always_ff @(posedge clk) begin q <= ~d; c <= a + 13'd1; e <= b + 64'd1; end
  assign odd = {100{1'b1}};
endmodule
";

struct Bench {
    folder: tempfile::TempDir,
    builder: Builder,
}

impl Bench {
    /// With a cache that all tests share: a design and the run time are built once.
    fn new() -> Self {
        Self::with_cache(|_| Path::new(env!("CARGO_TARGET_TMPDIR")).join("rtl-cache"))
    }

    /// With a cache that has the run time, which takes longest to build, and no design.
    fn with_own_cache() -> Self {
        Self::new().model("counter", COUNTER);
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rtl-cache");
        Self::with_cache(|folder| {
            let own = folder.join("cache");
            for entry in fs::read_dir(shared).expect("a cache") {
                let entry = entry.expect("an entry").path();
                if entry.join("verilated.o").exists() {
                    let copy = own.join(entry.file_name().expect("a name"));
                    fs::create_dir_all(&copy).expect("made");
                    for file in fs::read_dir(entry).expect("an entry") {
                        let file = file.expect("a file");
                        fs::copy(file.path(), copy.join(file.file_name())).expect("copied");
                    }
                }
            }
            own
        })
    }

    fn with_cache(place: impl FnOnce(&Path) -> PathBuf) -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        let tools = Toolchain::find().expect("Verilator and a C++ compiler are installed");
        let builder = Builder::new(tools, Cache::at(place(folder.path())));
        Self { folder, builder }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("file written");
        path
    }

    fn build(&self, source: &Source) -> Result<Library, Error> {
        self.builder.build(source, &mut |_| {})
    }

    fn model(&self, top: &str, text: &str) -> Model {
        let file = self.file(&format!("{top}.sv"), text);
        let library = self.build(&Source::new(top).file(file)).expect("builds");
        Model::load(&library).expect("loads")
    }
}

fn clock(model: &mut Model, cycles: usize) -> Result<(), Error> {
    let clk = model.port("clk")?;
    for _ in 0..cycles {
        model.set(clk, 0);
        model.eval()?;
        model.set(clk, 1);
        model.eval()?;
    }
    Ok(())
}

#[test]
fn a_counter_counts_and_its_assertion_comes_back_as_an_error() {
    let bench = Bench::new();
    let mut model = bench.model("counter", COUNTER);
    let (rst, step) = (
        model.port("rst").expect("rst"),
        model.port("step").expect("step"),
    );
    let count = model.port("count").expect("count");
    assert_eq!((count.width(), count.direction()), (8, Direction::Output));
    model.set(rst, 1);
    clock(&mut model, 2).expect("runs");
    model.set(rst, 0);
    model.set(step, 1);
    clock(&mut model, 199).expect("runs");
    assert_eq!(model.get(count), 199);
    let error = clock(&mut model, 5).expect_err("the assertion fires");
    let text = error.to_string();
    assert!(matches!(error, Error::Model { .. }), "{text}");
    assert!(
        text.contains("count 200 is over the limit") && text.contains("counter.sv"),
        "{text}"
    );
    // The process lives on, and so does the model.
    model.set(rst, 1);
    clock(&mut model, 2).expect("runs again");
    assert_eq!(model.get(count), 0);
}

#[test]
fn wide_ports_are_read_and_written_in_place() {
    let bench = Bench::new();
    let mut model = bench.model("wide", WIDE);
    let port = |model: &Model, name| model.port(name).expect("port");
    let (d, q) = (port(&model, "d"), port(&model, "q"));
    for (i, byte) in model.wide_mut(d).iter_mut().enumerate() {
        *byte = i as u8;
    }
    let (a, b) = (port(&model, "a"), port(&model, "b"));
    model.set(a, 0xffff);
    model.set(b, u64::MAX - 1);
    clock(&mut model, 1).expect("runs");
    let expected: Vec<u8> = (0..64).map(|i| !i).collect();
    assert_eq!(model.wide(q).as_slice(), expected);
    assert_eq!(
        model.get(q),
        u64::from_le_bytes(expected[..8].try_into().expect("8 bytes"))
    );
    assert_eq!(model.get(port(&model, "c")), 0, "13 bits of 0x1fff + 1");
    assert_eq!(model.get(port(&model, "e")), u64::MAX);
    let odd = port(&model, "odd");
    assert_eq!(odd.width(), 100);
    assert_eq!(
        model.bytes(odd)[..13],
        [[255; 12].as_slice(), &[15]].concat()
    );
    model.set(d, 5);
    assert_eq!(model.wide(d)[..2], [5, 0]);
}

#[test]
fn a_tick_is_a_whole_cycle() {
    let bench = Bench::new();
    let mut model = bench.model("counter", COUNTER);
    let clk = model.port("clk").expect("clk");
    let clk = model.clock(clk).expect("ticks");
    let (rst, step) = (
        model.port("rst").expect("rst"),
        model.port("step").expect("step"),
    );
    let count = model.port("count").expect("count");
    model.set(rst, 1);
    model.tick(clk).expect("runs");
    model.set(rst, 0);
    for value in 0..199 {
        assert_eq!(model.get(count), value / 2);
        model.set(step, value % 2);
        model.tick(clk).expect("runs");
    }
    // Ticks and half cycles may be mixed.
    clock(&mut model, 1).expect("runs");
    assert_eq!(model.get(count), 99);

    let text = "module both (input wire clk, input wire d, output logic p, output logic n);
      always_ff @(posedge clk) p <= d;
      always_ff @(negedge clk) n <= d;
    endmodule";
    let mut model = bench.model("both", text);
    let clk = model.port("clk").expect("clk");
    assert_eq!(model.clock(clk), None);
}

#[test]
fn clocks_rise_together_and_a_reset_is_none() {
    let text = "module reset (input wire clk, input wire clk_b, input wire rst,
        output logic [7:0] a, output logic [7:0] b, output logic held);
      always_ff @(posedge clk) a <= a + 1;
      always_ff @(posedge clk_b) b <= b + 1;
      always_ff @(posedge clk or posedge rst) if (rst) held <= 1'b1; else held <= 1'b0;
    endmodule";
    let mut model = Bench::new().model("reset", text);
    let ports = ["clk", "clk_b", "rst", "a", "b", "held"];
    let [clk, clk_b, rst, a, b, held] = ports.map(|name| model.port(name).expect("there"));
    let [clk, clk_b] = [clk, clk_b].map(|port| model.clock(port).expect("ticks"));
    let before = [model.get(a), model.get(b)];
    for cycle in 1..9 {
        model.tick(clk | clk_b).expect("runs");
        let counts = [a, b].map(|port| model.get(port));
        let grown = [0, 1].map(|n| counts[n].wrapping_sub(before[n]) & 0xff);
        assert_eq!((grown, model.get(held)), ([cycle, cycle], 0));
    }
    // Its edge counts without one of the clock it belongs to, and none of a clock is one of its.
    model.set(rst, 1);
    model.tick(clk_b).expect("runs");
    assert_eq!(model.get(held), 1);
    model.set(rst, 0);
    model.tick(clk_b).expect("runs");
    assert_eq!(model.get(held), 1);
    model.tick(clk).expect("runs");
    assert_eq!(model.get(held), 0);
}

#[test]
fn each_clock_ticks_on_its_own() {
    let text = "module two (input wire clk, input wire clk_b, input wire [7:0] d,
        output logic [7:0] a, output logic [7:0] b, output logic [7:0] seen);
      always_ff @(posedge clk) a <= a + d;
      always_ff @(posedge clk_b) b <= b + 1;
      always_ff @(posedge clk_b) seen <= a;
    endmodule";
    let mut model = Bench::new().model("two", text);
    let ports = ["clk", "clk_b", "d", "a", "b", "seen"];
    let [clk, clk_b, d, a, b, seen] = ports.map(|name| model.port(name).expect("there"));
    let clocks = [clk, clk_b].map(|port| model.clock(port).expect("ticks"));
    let (a_before, b_before) = (model.get(a), model.get(b));
    let counts = |model: &Model| {
        [(a, a_before), (b, b_before)]
            .map(|(port, before)| model.get(port).wrapping_sub(before) & 0xff)
    };
    model.set(d, 3);
    model.tick(clocks[1]).expect("runs");
    assert_eq!(
        counts(&model),
        [0, 1],
        "the first tick is of one clock only"
    );
    model.tick(clocks[0]).expect("runs");
    model.tick(clocks[0]).expect("runs");
    assert_eq!(counts(&model), [6, 1]);
    model.tick(clocks[1]).expect("runs");
    assert_eq!(counts(&model), [6, 2]);
    assert_eq!(model.get(seen), model.get(a));
}

#[test]
fn unknown_ports_get_a_hint() {
    let bench = Bench::new();
    let model = bench.model("counter", COUNTER);
    let error = model.port("cuont").expect_err("no such port");
    assert!(
        error.to_string().contains("did you mean 'count'?"),
        "{error}"
    );
    assert!(model.find_port("nothing_like_it").is_none());
}

#[test]
fn a_parameter_that_the_design_refuses_ends_the_build() {
    let text = "
module picky #(parameter int Pages = 1) (input wire clk, output wire q);
  if (Pages > 2) begin : gen_bad
    $fatal(1, \"picky (%m): Pages=%0d must be at most 2\", Pages);
  end
  assign q = clk;
endmodule
";
    let bench = Bench::new();
    let file = bench.file("picky.sv", text);
    let source = Source::new("picky").file(file);
    assert!(bench.build(&source).is_ok());
    let error = bench
        .build(&source.parameter("Pages", 3))
        .expect_err("refused");
    assert!(
        error.to_string().contains("Pages=3 must be at most 2"),
        "{error}"
    );
}

#[test]
fn bad_rtl_shows_what_verilator_says() {
    let bench = Bench::new();
    let file = bench.file(
        "bad.sv",
        "module bad (input wire clk);\n  assign nowhere = 1'b1 +;\nendmodule\n",
    );
    let error = bench
        .build(&Source::new("bad").file(file))
        .expect_err("does not build");
    let text = error.to_string();
    assert!(
        text.contains("verilator failed") && text.contains("bad.sv:2"),
        "{text}"
    );
    let file = bench.file(
        "deep.sv",
        "module deep (input wire clk);\n  gone u ();\nendmodule\n",
    );
    let error = bench
        .build(&Source::new("deep").file(file))
        .expect_err("does not build");
    assert!(error.to_string().contains("'gone'"), "{error}");
}

#[test]
fn fatal_in_an_initial_block_is_an_error_when_loading() {
    let bench = Bench::new();
    let text = "module check #(parameter int Depth = 3) (input wire clk);
      initial if (Depth != 4) $fatal(1, \"check (%m): Depth=%0d must be 4\", Depth);
    endmodule";
    let file = bench.file("check.sv", text);
    let source = Source::new("check").file(file);
    let library = bench.build(&source).expect("builds");
    let error = Model::load(&library).expect_err("stops");
    assert!(error.to_string().contains("Depth=3 must be 4"), "{error}");
    let library = bench.build(&source.parameter("Depth", 4)).expect("builds");
    Model::load(&library).expect("loads");
}

#[test]
fn the_second_build_comes_from_the_cache_and_changes_miss_it() {
    let bench = Bench::with_own_cache();
    let file = bench.file("counter.sv", COUNTER);
    let source = Source::new("counter").file(file.clone());
    let mut seen = Vec::new();
    let first = bench
        .builder
        .build(&source, &mut |p| seen.push(p))
        .expect("builds");
    assert!(!first.was_cached());
    assert_eq!(seen.first(), Some(&Progress::Verilating));
    assert_eq!(seen.last(), Some(&Progress::Linking));
    let second = bench.build(&source).expect("found");
    assert!(second.was_cached() && second.path() == first.path());

    let wider = source.clone().parameter("Width", 9);
    let third = bench.build(&wider).expect("builds");
    assert!(!third.was_cached() && third.key() != first.key());
    let model = Model::load(&third).expect("loads");
    assert_eq!(model.port("count").expect("count").width(), 9);

    let mut unchecked = source.clone();
    unchecked.assertions = false;
    let fourth = bench.build(&unchecked).expect("builds");
    assert!(!fourth.was_cached() && fourth.key() != first.key());
    let flags = bench.builder.clone().flags(["-Og".to_owned()]);
    let other = flags.build(&source, &mut |_| {}).expect("builds");
    assert!(!other.was_cached() && other.key() != first.key());

    // A damaged library is not loaded but built again.
    fs::write(first.path(), "no library").expect("written");
    assert!(!bench.build(&source).expect("built again").was_cached());
    // A changed file is another design.
    fs::write(&file, COUNTER.replace("200", "100")).expect("written");
    assert!(!bench.build(&source).expect("built").was_cached());
}

/// A model is never filed under the hash of sources that it was not built from.
#[test]
fn sources_that_change_during_a_build_are_read_again() {
    let bench = Bench::with_own_cache();
    let text = |width: u32| {
        format!(
            "module grows (input wire clk, output logic [{width}:0] q);
               always_ff @(posedge clk) q <= ~q;
             endmodule"
        )
    };
    let file = bench.file("grows.sv", &text(7));
    let source = Source::new("grows").file(&file);
    let width = |library: &Library| {
        let model = Model::load(library).expect("loads");
        model.port("q").expect("q").width()
    };
    let mut verilated = 0;
    let built = bench.builder.build(&source, &mut |progress| {
        if progress == Progress::Verilating {
            verilated += 1;
            fs::write(&file, text(8)).expect("written");
        }
    });
    let built = built.expect("builds");
    assert_eq!((verilated, width(&built)), (2, 9));
    assert!(bench.build(&source).expect("found").was_cached());
    fs::write(&file, text(7)).expect("written");
    let first = bench.build(&source).expect("builds");
    assert_eq!((first.was_cached(), width(&first)), (false, 8));

    // Also where what Verilator reads is half written.
    fs::write(&file, text(9)).expect("written");
    let mut next = "module grows (input".to_owned();
    let built = bench.builder.build(&source, &mut |progress| {
        if progress == Progress::Verilating {
            fs::write(&file, std::mem::replace(&mut next, text(10))).expect("written");
        }
    });
    assert_eq!(width(&built.expect("builds in the end")), 11);

    // But not for ever.
    fs::write(&file, text(20)).expect("written");
    let mut verilated = 0;
    let built = bench.builder.build(&source, &mut |progress| {
        if progress == Progress::Verilating {
            verilated += 1;
            fs::write(&file, text(20 + verilated)).expect("written");
        }
    });
    let error = built.expect_err("changes all the time");
    assert!(matches!(error, Error::SourcesChange { .. }), "{error}");
    assert_eq!(verilated, 3);
    assert!(error.to_string().contains("'grows'"), "{error}");
}

#[test]
fn builders_of_the_same_design_wait_for_one_another() {
    let bench = Bench::with_own_cache();
    let source = Source::new("counter").file(bench.file("counter.sv", COUNTER));
    let built = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let library = bench.build(&source).expect("builds");
                built.fetch_add(usize::from(!library.was_cached()), Ordering::Relaxed);
                Model::load(&library).expect("loads");
            });
        }
    });
    assert_eq!(built.into_inner(), 1, "one built it, the others found it");
}

#[test]
fn waves_are_recorded_on_demand() {
    let bench = Bench::new();
    let file = bench.file("counter.sv", COUNTER);
    let plain = Source::new("counter").file(file);
    let waves = bench.folder.path().join("waves.fst");
    let mut model = Model::load(&bench.build(&plain).expect("builds")).expect("loads");
    assert!(matches!(model.trace_open(&waves), Err(Error::NoTrace)));

    let library = match bench.build(&plain.trace(true)) {
        Err(error @ Error::TraceHeaders { .. }) => {
            println!("skipped: {error}");
            return;
        }
        built => built.expect("builds"),
    };
    let mut model = Model::load(&library).expect("loads");
    clock(&mut model, 3).expect("runs");
    model.trace_open(&waves).expect("opens");
    for cycle in 0..50 {
        clock(&mut model, 1).expect("runs");
        model.trace_dump(cycle * 1000);
    }
    model.trace_close();
    assert!(fs::metadata(&waves).expect("file made").len() > 100);
    assert!(model.trace_open(Path::new("/nowhere/at/all.fst")).is_err());
}

#[test]
fn random_start_values_follow_from_the_seed() {
    let bench = Bench::new();
    let text = "module start (input wire clk, output logic [63:0] q);
      always_ff @(posedge clk) q <= q ^ 64'd1;
    endmodule";
    let mut source = Source::new("start").file(bench.file("start.sv", text));
    source.random_init = true;
    let library = bench.build(&source).expect("builds");
    let value = |seed| {
        let model = Model::load_seeded(&library, seed).expect("loads");
        model.get(model.port("q").expect("q"))
    };
    assert_eq!(value(1), value(1));
    assert_ne!(value(1), value(2));
}

#[test]
fn printing_does_not_stop_the_model() {
    let bench = Bench::new();
    let text = "module talk (input wire clk);
      always_ff @(posedge clk) $display(\"tick\");
    endmodule";
    let mut model = bench.model("talk", text);
    clock(&mut model, 2).expect("runs");
    assert_eq!(model.take_output(), "tick\ntick\n");
    assert_eq!(model.take_output(), "");
}

const STORE: &str = "
module store (input wire clk, input wire we, input wire [6:0] addr, input wire [511:0] d,
              output logic [511:0] q);
  logic [511:0] words[128];
  always_ff @(posedge clk) if (we) words[addr] <= d; else q <= words[addr];
endmodule
";

#[test]
fn a_memory_lies_in_a_file_that_others_read_and_write() {
    let bench = Bench::new();
    let mut model = bench.model("store", STORE);
    let memories = model.memories();
    assert_eq!(
        memories,
        [Memory {
            name: "store.words".into(),
            bytes: 8192
        }]
    );
    let [we, addr, d, q] = ["we", "addr", "d", "q"].map(|name| model.port(name).expect("a port"));
    let put = |model: &mut Model, word, byte| {
        model.set(we, 1);
        model.set(addr, word);
        model.bytes_mut(d).fill(byte);
        clock(model, 1).expect("runs");
    };
    put(&mut model, 3, 0x33);

    let mut file = tempfile::tempfile().expect("a file");
    file.set_len(3 * 4096).expect("long enough");
    let name = &memories[0].name;
    model.share(name, file.as_fd(), 4096).expect("shared");
    put(&mut model, 127, 0x7f);
    let mut seen = Vec::new();
    file.read_to_end(&mut seen).expect("reads");
    assert_eq!(seen[4096 + 3 * 64..][..64], [0x33; 64], "as it was before");
    assert_eq!(seen[4096 + 127 * 64..], [0x7f; 64]);
    assert_eq!(seen.iter().filter(|byte| **byte != 0).count(), 128);

    file.write_all_at(&[0x44; 64], 4096 + 4 * 64)
        .expect("writes");
    model.set(we, 0);
    model.set(addr, 4);
    clock(&mut model, 1).expect("runs");
    assert_eq!(*model.wide(q), [0x44; 64]);

    // Off the pages, elsewhere, or read-only: refused, and the design runs on.
    assert!(model.share(name, file.as_fd(), 100).is_err());
    assert!(model.share(name, file.as_fd(), 2 * 4096).is_err());
    assert!(model.share(name, file.as_fd(), u64::MAX - 4095).is_err());
    assert_eq!(file.metadata().expect("there").len(), 3 * 4096);
    assert!(model.share("store.nowhere", file.as_fd(), 0).is_err());
    let null = fs::File::open("/dev/null").expect("opens");
    let error = model.share(name, null.as_fd(), 0).expect_err("refused");
    assert!(error.to_string().contains("store.words"), "{error}");
    put(&mut model, 5, 0x55);
    drop(model);
    bench.model("store", STORE);
}
