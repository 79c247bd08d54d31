// SPDX-License-Identifier: Apache-2.0
//! Pipelines from texts: what an empty one is, what is refused, what the RTL gets.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

mod registers;

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn paths() -> Paths {
    Paths::new(&checkout(), &[])
}

fn pipeline(text: &str) -> Result<Pipeline> {
    let file = File::new(Path::new("some/x.toml"), text.to_owned());
    Pipeline::of(&file, &paths())
}

fn good(text: &str) -> Pipeline {
    pipeline(text).unwrap_or_else(|failure| panic!("{text}: {failure}"))
}

fn complaint(text: &str) -> String {
    match pipeline(text) {
        Ok(_) => panic!("{text} was taken"),
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn an_empty_file_is_a_recording() {
    let found = good("");
    assert_eq!(found.source.address.to_string(), "10.77.0.2");
    assert_eq!(found.source.mac.to_string(), "02:46:42:00:00:01");
    assert_eq!((found.source.port, found.source.mtu), (0xfb01, 9000));
    assert!(found.pes.is_empty());
    assert_eq!(found.buffer.memory, Memory::Onchip);
    assert_eq!(found.buffer.size, 4 << 20);
    assert_eq!(found.ssds.len(), 1);
    assert!(!found.sink.ring);
    assert_eq!(found.sink, Sink::default());
    assert_eq!(found.chain().cfg, [0; STAGES]);
}

#[test]
fn the_files_of_the_checkout_are_good() {
    let folder = checkout().join("pipelines");
    let mut found = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        Pipeline::load(&path, &paths()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        found += 1;
    }
    assert!(found >= 2);
}

#[test]
fn the_file_of_a_recording_says_the_defaults() {
    let file = Pipeline::load(&checkout().join("pipelines/record.toml"), &paths());
    let json = |pipeline: &Pipeline| serde_json::to_string(pipeline).expect("JSON");
    assert_eq!(json(&file.expect("good")), json(&good("")));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (text, words) in [
        (
            "[chain]\nclock = \"2GHz\"",
            "x.toml:2: chain.clock is \"2GHz\", but it is from 25 MHz to 1 GHz",
        ),
        ("[chain]\nclock = 7", "x.toml:2: chain.clock is 7, but"),
        (
            "[chain]\nclock = \"fast\"",
            "x.toml:2: chain.clock is \"fast\", but it is a frequency of whole hertz",
        ),
        (
            "[source]\nmtu = 20",
            "x.toml:2: source.mtu is 20, but it is a whole number from 68 to 16364",
        ),
        ("[source]\nmtu = \"long\"", "source.mtu is \"long\""),
        ("[source]\nport = 0", "from 1 to 65535"),
        ("[source]\nstream = 65536", "from 0 to 65535"),
        (
            "[source]\nstreams = 0",
            "x.toml:2: source.streams is 0, but it is a whole number from 1 to 4",
        ),
        ("[source]\nstreams = 5", "from 1 to 4"),
        ("[source]\nstreams = \"two\"", "source.streams is \"two\""),
        (
            "[source]\nstream = 65533\nstreams = 4",
            "x.toml:3: source.streams is 4, but streams go up to 65535, and the first is 65533",
        ),
        ("[source]\naddress = \"10.0.0\"", "IPv4 address of one card"),
        (
            "[source]\naddress = \"224.0.0.1\"",
            "IPv4 address of one card",
        ),
        ("[source]\naddress = 7", "it is a text"),
        (
            "[source]\naddress6 = \"10.0.0.2\"",
            "IPv6 address of one card",
        ),
        ("[source]\naddress6 = \"::\"", "IPv6 address of one card"),
        ("[source]\naddress6 = \"::1\"", "IPv6 address of one card"),
        (
            "[source]\naddress6 = \"::10.77.0.2\"",
            "IPv6 address of one card",
        ),
        (
            "[source]\nmtu = 1279\naddress6 = \"fd77::2\"",
            "x.toml:3: source.address6 is \"fd77::2\", but IPv6 takes an MTU of 1280 or more",
        ),
        (
            "[source]\ngroup6 = \"ff15::77\"\nmtu = 68",
            "an MTU of 1280 or more, and source.mtu is 68",
        ),
        (
            "[source]\naddress6 = \"ff15::1\"",
            "IPv6 address of one card",
        ),
        (
            "[source]\naddress6 = \"::ffff:10.0.0.2\"",
            "IPv6 address of one card",
        ),
        ("[source]\ngroup6 = \"fd77::1\"", "IPv6 multicast group"),
        ("[source]\ngroup6 = \"239.1.1.1\"", "IPv6 multicast group"),
        (
            "[source]\nmac = \"01:00:5e:00:00:01\"",
            "MAC address of one card",
        ),
        (
            "[source]\nmac = \"02:46:42:00:00\"",
            "MAC address of one card",
        ),
        (
            "[source]\nmac = \"02:46:42:00:00:01:02\"",
            "MAC address of one card",
        ),
        (
            "[source]\nmac = \"02:46:42:00:00:+1\"",
            "MAC address of one card",
        ),
        ("[source]\nclass = 8", "from 0 to 7"),
        ("[source]\nmetres = 5000", "source.metres is 5000"),
        (
            "[source]\npause = \"auto\"\nmetres = 5000",
            "x.toml:2: source.pause",
        ),
        ("[source]\npause = \"often\"", "\"auto\", \"off\""),
        ("[source]\npause = { xoff = 64 }", "two levels"),
        (
            "[source]\npause = { xoff = 64, xon = 128 }",
            "xon is less than xoff",
        ),
        (
            "[source]\npause = { xoff = 130, xon = 64 }",
            "multiples of 64",
        ),
        (
            "[source]\npause = { xoff = \"1MiB\", xon = 64 }",
            "at most 114688",
        ),
        ("[source]\npause_limit = \"30s\"", "up to 20 s"),
        ("[source]\npause_limit = 5", "up to 20 s"),
        ("[source]\nspeed = 7", "unknown field `speed`"),
        ("[drain]", "unknown field `drain`"),
        (
            "[buffer]\nmemory = \"tape\"",
            "\"onchip\", \"dram\", \"host\"",
        ),
        ("[buffer]\nsize = \"5MiB\"", "4MiB, 8MiB or 16MiB"),
        (
            "[buffer]\nmemory = \"host\"\nsize = \"4MiB\"",
            "64MiB for each direction",
        ),
        ("[buffer]\ndram = \"hbm2-1800\"", "not in on-board DRAM"),
        ("[buffer]\nmemory = \"dram\"\ndram = \"ddr9\"", "ddr4-2400"),
        ("[[ssd]]\nprofile = \"floppy\"", "x.toml:2: ssd[0].profile"),
        ("[[ssd]]\ncount = 9", "from 1 to 8"),
        (
            "[[ssd]]\ncount = 5\n[[ssd]]\ncount = 4",
            "9 drives, but there are at most 8",
        ),
        ("[[ssd]]\ncount = 2\nimage = \"x.img\"", "in one file"),
        (
            "[[ssd]]\nimage = \"x\"\n[[ssd]]\nimage = \"x\"",
            "x.toml:4: ssd[1].image",
        ),
        ("[[ssd]]\nsize = 100", "multiple of 4096"),
        ("[[ssd]]\nsize = \"4KiB\"", "8388608 to 2000398934016 bytes"),
        ("[[ssd]]\nsize = \"3TiB\"", "8388608 to 2000398934016 bytes"),
        ("[sink]\nbase = 100", "unknown field `base`"),
        (
            "[sink]\nlayout = \"files\"",
            "\"objects\", \"small\", \"samples\"",
        ),
        ("[sink]\nextension = \"jpeg2\"", "1 to 4 letters or digits"),
        ("[sink]\nextension = \"a/b\"", "1 to 4 letters or digits"),
        ("[sink]\nextension = \"\"", "1 to 4 letters or digits"),
        ("[sink]\nstride = 4096", "only samples have a stride"),
        (
            "[sink]\nlayout = \"small\"\nstride = 4096",
            "only samples have a stride",
        ),
        ("[sink]\nlayout = \"samples\"", "sink.stride is missing"),
        (
            "[sink]\nlayout = \"samples\"\nextension = \"bin\"",
            "only objects have names",
        ),
        (
            "[sink]\nlayout = \"samples\"\nstride = 4097",
            "multiple of 4096",
        ),
        (
            "[sink]\nlayout = \"samples\"\nstride = \"4GiB\"",
            "less than 4 GiB",
        ),
        ("[sink]\nsmallest = 0", "a byte or more"),
        ("[sink]\npolicy = \"drop\"", "\"stop\", \"ring\""),
        ("[sink]\nflush = 1", "true or false"),
        ("[sink]\nparity = 1", "true or false"),
        (
            "[sink]\nparity = true",
            "x.toml:2: sink.parity is true, but parity is that of one, two or four other drives, and all are 1",
        ),
        (
            "[[ssd]]\n[[ssd]]\n[[ssd]]\n[[ssd]]\n[sink]\nparity = true",
            "and all are 4",
        ),
        (
            "[[ssd]]\n[[ssd]]\n[sink]\nparity = true\nchunk = \"128KiB\"",
            "x.toml:5: sink.chunk is \"128KiB\", but with parity it is at most 65536",
        ),
        (
            "[[ssd]]\n[[ssd]]\n[[ssd]]\n[sink]\nparity = true\nlayout = \"samples\"\nstride = \"16KiB\"",
            "a multiple of a stripe, 32768 bytes",
        ),
        ("[sink]\nwait = \"5s\"", "up to 4 s"),
        ("[sink]\nwait = 7", "up to 4 s"),
        ("[sink]\nchunk = \"48KiB\"", "power of two"),
        ("[[pe]]", "pe[0].name is missing"),
        (
            "[[pe]]\nname = \"subtract\"",
            "there are: add, aes_ctr, mean, pass, shrink",
        ),
        ("[[pe]]\nname = \"Add\"", "small letters"),
        (
            "[[pe]]\nname = \"chain\"",
            "the module of this name is another",
        ),
        (
            "[[pe]]\nname = \"add\"\npath = \"nowhere\"",
            "no fb_pe_add.toml in some/nowhere",
        ),
        (
            "[[pe]]\nname = \"add\"\nadded = 7",
            "the settings of add are: addend, on",
        ),
        ("[[pe]]\nname = \"pass\"\nx = 7", "pass has no settings"),
        (
            "[[pe]]\nname = \"add\"\naddend = 4294967296",
            "from -2147483648 to 4294967295",
        ),
        ("[[pe]]\nname = \"add\"\naddend = 1.5", "a whole number"),
        (
            "[[pe]]\nname = \"add\"\non = 1",
            "x.toml:3: pe[0].on is 1, but it is true or false",
        ),
        (
            "[[pe]]\nname = \"pass\"\n[sink]\nlayout = \"packets\"",
            "no data for an element",
        ),
        (
            "[sink]\nlayout = \"packets\"\nstride = 4096",
            "x.toml:3: sink.stride is 4096, but only samples have a stride",
        ),
        (
            "[sink]\nlayout = \"packets\"\nextension = \"cap\"",
            "only objects have names",
        ),
        (
            "[sink]\npolicy = \"ring\"\nlayout = \"packets\"",
            "x.toml:2: sink.policy is \"ring\", but a capture has a beginning",
        ),
        ("pe = 7", "invalid type"),
        ("[source", "x.toml"),
    ] {
        let said = complaint(text);
        assert!(said.contains(words), "{text}\n{said}\n{words}");
    }
    let nine = "[[pe]]\nname = \"pass\"\n".repeat(9);
    assert!(complaint(&nine).contains("at most 8"));
}

#[test]
fn settings_reach_their_bits() {
    let cfg = |keys: &str| good(&format!("[[pe]]\nname = \"add\"\n{keys}")).chain().cfg[0];
    assert_eq!(cfg(""), 1 << 32);
    assert_eq!(cfg("addend = 7"), 1 << 32 | 7);
    assert_eq!(cfg("addend = -1"), 0x1_ffff_ffff);
    assert_eq!(cfg("addend = \"0xffffffff\""), 0x1_ffff_ffff);
    assert_eq!(cfg("addend = 7\non = false"), 7);
}

#[test]
fn how_it_is_stored() {
    let two = good("[[ssd]]\ncount = 2\nsize = \"1GiB\"\n[[ssd]]\nprofile = \"pm953-480\"");
    let sizes: Vec<u64> = two.ssds.iter().map(|ssd| ssd.bytes).collect();
    assert_eq!(sizes[..2], [1 << 30, 1 << 30]);
    assert!(sizes[2] > 1 << 38);
    let samples = good("[sink]\nlayout = \"samples\"\nstride = \"8KiB\"\nwait = 0");
    let stride = 8192;
    assert_eq!(samples.sink.layout, Kind::Samples { stride });
    assert_eq!(samples.sink.wait_ps, 0);
    let packets = good("[sink]\nlayout = \"packets\"").sink;
    assert_eq!(packets.layout, Kind::Packets);
    assert_eq!(packets.wait_cycles(3333), 300_030);
    let objects = good("[sink]\nextension = \"jpg\"\nsmallest = \"4KiB\"").sink;
    assert_eq!(objects.smallest, 4096);
    assert!(matches!(objects.layout, Kind::Objects { extension } if extension == "jpg"));
    let small = good("[sink]\nlayout = \"small\"").sink;
    assert!(matches!(small.layout, Kind::Small { extension } if extension == "bin"));
}

#[test]
fn paths_start_from_the_file() {
    let text = "[[ssd]]\nimage = \"disk.img\"\n[buffer]\nmemory = \"dram\"";
    let found = good(text);
    assert_eq!(
        found.ssds[0].image.as_deref(),
        Some(Path::new("some/disk.img"))
    );
    assert_eq!(found.buffer.dram.as_deref(), Some("ddr4-2400"));
    assert_eq!((found.buffer.size, found.buffer.pages()), (64 << 20, None));
    let large = good("[buffer]\nsize = \"16MiB\"");
    assert_eq!(large.buffer.pages(), Some(4096));
}

/// tb/pe/fb_pe_chain simulates these files: what is made is what was simulated.
#[test]
fn the_chain_is_the_one_that_was_simulated() {
    let is_golden = |text: &str, name: &str| {
        let chain = good(text).chain();
        let golden = checkout().join("tb/pe/fb_pe_chain").join(name);
        assert_eq!(chain.text, fs::read_to_string(golden).expect("a file"));
        chain
    };
    is_golden(
        "[[pe]]\nname = \"add\"\n[[pe]]\nname = \"add\"\ntap = \"wait\"\n\
         [[pe]]\nname = \"mean\"\ntap = \"follow\"",
        "add_tap.sv",
    );
    is_golden(
        "[[pe]]\nname = \"add\"\n[[pe]]\nname = \"add\"\ndirection = \"back\"\n\
         [[pe]]\nname = \"pass\"\n[[pe]]\nname = \"add\"\ndirection = \"back\"\n\
         [[pe.streams]]\nstream = 0\naddend = 3",
        "add_back.sv",
    );
    let folder = checkout().join("tests/elements");
    let aside = format!(
        "[[pe]]\nname = \"aside\"\npath = \"{}\"\nmask = {{ hex = \"{:032x}\" }}",
        folder.display(),
        7
    );
    is_golden(&aside, "aside.sv");
    let text = "[source]\nstream = 3\nstreams = 4\n[[pe]]\nname = \"add\"\n[[pe]]\nname = \"add\"\n\
                addend = 5\n[[pe.streams]]\nstream = 4\naddend = 9\n[[pe.streams]]\nstream = 6\n\
                on = false";
    is_golden(text, "add_per_stream.sv");
    let words: Vec<_> = good(text).registers();
    assert_eq!(words.len(), 16);
    for (place, (at, word)) in words.iter().enumerate() {
        let cfg: u64 = match place {
            4 => 0x1_0000_0009,
            6 => 5,
            _ => 0x1_0000_0005,
        };
        assert_eq!(
            (*at, &word[..]),
            (0x8480 + 8 * place as u64, &cfg.to_le_bytes()[..])
        );
    }
    let text = "[[pe]]\nname = \"pass\"\n[[pe]]\nname = \"add\"\naddend = 5\n\
                [[pe]]\nname = \"add\"\naddend = -3";
    let chain = is_golden(text, "pass_add_add.sv");
    assert_eq!(chain.cfg, [0, 0x1_0000_0005, 0x1_ffff_fffd, 0, 0, 0, 0, 0]);
    let names: Vec<_> = chain
        .files
        .iter()
        .filter_map(|file| file.file_name())
        .collect();
    assert_eq!(
        names,
        [
            "fb_spec_pkg.sv",
            "fb_common_fifo.sv",
            "fb_common_fifo_bram.sv",
            "fb_common_lutram.sv",
            "fb_common_gray_sync.sv",
            "fb_common_async.sv",
            "fb_common_value_cdc.sv",
            "fb_axis_check.sv",
            "fb_axis_arbiter.sv",
            "fb_axis_narrow.sv",
            "fb_axis_widen.sv",
            "fb_axil_if.sv",
            "fb_pe_pkg.sv",
            "fb_pe_check.sv",
            "fb_pe_check_result.sv",
            "fb_pe_cdc.sv",
            "fb_pe_registers_cdc.sv",
            "fb_pe_tap.sv",
            "fb_pe_windows.sv",
            "fb_pe_settings.sv",
            "fb_pe_pass.sv",
            "fb_pe_add.sv"
        ]
    );
}

#[test]
fn another_content_of_a_data_file_is_another_chain() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    put("fb_pe_net.sv", "");
    put(
        "fb_pe_net.toml",
        "description = \"\"\ndata = [\"w.hex\"]\n\
         [status.busy]\ndescription = \"\"\nbits = [7, 4]",
    );
    let path = folder.path().display();
    let text = format!("[[pe]]\nname = \"pass\"\n[[pe]]\nname = \"net\"\npath = \"{path}\"");
    assert!(complaint(&text).contains("w.hex cannot be read"));
    put("w.hex", "abc");
    let first = good(&text);
    let chain = first.chain().text;
    // FIPS 180-2, B.1
    assert!(
        chain.contains(
            "net: w.hex ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
    );
    assert!(chain.contains(&format!(".DataFolder(\"{path}\")")));
    assert!(chain.contains(".status(status[64*1+:64])"));
    assert!(chain.contains("assign status[64*0+:64] = '0;\n  assign status[64*2+:64*6] = '0;"));
    assert_eq!(first.pes[1].element.status["busy"].of(0x1_23c5), 0xc);
    put("w.hex", "abd");
    assert_ne!(good(&text).chain().text, chain);
}

#[test]
fn the_chain_takes_the_place_of_the_empty_one() {
    let chain = good("[[pe]]\nname = \"add\"").chain();
    let own = checkout().join("rtl/pe/fb_pe_chain.sv");
    let spec = checkout().join("rtl/common/fb_spec_pkg.sv");
    let design = [spec.clone(), own.clone(), "top.sv".into()];
    let folder = tempfile::tempdir().expect("a folder");
    let files = chain.put(&design, folder.path()).expect("written");
    let made = folder.path().join("fb_pe_chain.sv");
    assert_eq!(fs::read_to_string(&made).expect("a file"), chain.text);
    assert_eq!(files.iter().filter(|file| **file == spec).count(), 1);
    assert!(!files.contains(&own));
    let place = |name: &str| files.iter().position(|file| file.ends_with(name));
    let chain = files.iter().position(|file| *file == made);
    assert!(place("fb_pe_add.sv") < chain && chain < place("top.sv"));
}

#[test]
fn a_result_of_its_own_makes_another_recorder() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    let column = |name: &str, kind: &str| {
        format!("[[result]]\nname = \"{name}\"\ntype = \"{kind}\"\ndescription = \"\"\n")
    };
    put("fb_pe_net.sv", "");
    let manifest = column("top", "u16[5]") + &column("sha", "bytes[32]");
    put(
        "fb_pe_net.toml",
        &format!("description = \"\"\nresizes = true\n{manifest}"),
    );
    let path = folder.path().display();
    let pipeline = good(&format!("[[pe]]\nname = \"net\"\npath = \"{path}\""));
    let results = pipeline.results();
    assert_eq!(
        results.to_string(),
        "top u16[5], sha bytes[32]; lengths as received"
    );
    let chain = pipeline.chain();
    assert!(chain.text.contains("ResultBits = 336"), "{}", chain.text);
    let form = checkout().join("rtl/store/fb_store_rom_pkg.sv");
    let files = chain
        .put(&[form.clone(), "top.sv".into()], folder.path())
        .expect("written");
    let own = folder.path().join("fb_store_rom_pkg.sv");
    assert_eq!(files, [own.clone(), "top.sv".into()]);
    let text = fs::read_to_string(own).expect("a file");
    assert!(
        text.contains("RESULT_BITS = 336") && text.contains("HAS_RECEIVED = 1'b1"),
        "{text}"
    );
    // Elements that say nothing of their own have the recorder that is there.
    let usual = good("[[pe]]\nname = \"mean\"\nthreshold = 9").chain();
    let files = usual
        .put(std::slice::from_ref(&form), folder.path())
        .expect("written");
    assert_eq!((usual.form, files), (None, vec![form]));
}

#[test]
fn an_object_has_one_result() {
    let mean = "[[pe]]\nname = \"mean\"\nthreshold = 9\n";
    let found = good(&format!("{mean}[sink]\nresult = \"5ms\""));
    assert!(found.has_results() && !good("").has_results());
    assert_eq!(found.sink.result_ps, 5_000_000_000);
    let said = complaint(&mean.repeat(2));
    assert!(
        said.contains("pe[1].name") && said.contains("one result"),
        "{said}"
    );
    assert!(complaint("[sink]\nresult = \"5 s\"").contains("up to 4 s"));
}

#[test]
fn two_elements_of_one_name_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["fb_pe_add.sv", "fb_pe_add.toml"] {
        fs::write(folder.path().join(name), "description = \"mine\"").expect("written");
    }
    let own = format!("[[pe]]\nname = \"add\"\npath = {:?}\n", folder.path());
    assert_eq!(good(&own.repeat(2)).pes.len(), 2);
    let said = complaint(&format!("{own}[[pe]]\nname = \"add\""));
    assert!(
        said.contains("pe[1].name") && said.contains("another folder"),
        "{said}"
    );
}

/// An element somewhere else, with this manifest behind its first line.
fn element(manifest: &str) -> Result<Element> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("fb_pe_own.sv"), "").expect("written");
    let path = folder.path().join("fb_pe_own.toml");
    Element::of(&File::new(&path, manifest.to_owned()), "own")
}

#[test]
fn manifests_are_not_trusted() {
    let with = |setting: &str| {
        format!("description = \"x\"\n[settings.a]\ndescription = \"y\"\n{setting}")
    };
    let integer = "type = \"integer\"";
    let column = |name: &str, kind: &str| {
        format!(
            "description = \"x\"\n[[result]]\nname = \"{name}\"\ntype = \"{kind}\"\n\
             description = \"y\"\n"
        )
    };
    for (manifest, words) in [
        (String::new(), "missing field `description`"),
        ("description = \"x\"\nfiles = [\"no.sv\"]".into(), "no.sv"),
        ("description = \"x\"\ncolour = 7".into(), "unknown field"),
        (
            with("bits = [64, 0]\ntype = \"integer\""),
            "two numbers from 0 to 63",
        ),
        (with("bits = [0]\ntype = \"integer\""), "two numbers"),
        (with("bits = [1, 2, 3]\ntype = \"integer\""), "two numbers"),
        (
            with("bits = [0, 5]\ntype = \"integer\""),
            "highest bit comes first",
        ),
        (with("bits = [5, 0]\ntype = \"flag\""), "one bit"),
        (
            with("bits = [5, 0]\ntype = \"word\""),
            "\"flag\", \"integer\"",
        ),
        (
            with(&format!("bits = [3, 0]\n{integer}\nrange = [0, 16]")),
            "from -8 to 15",
        ),
        (
            with(&format!("bits = [3, 0]\n{integer}\nrange = [5, 1]")),
            "least value comes first",
        ),
        (
            with(&format!(
                "bits = [3, 0]\n{integer}\nrange = [1, 5]\ndefault = 0"
            )),
            "from 1 to 5",
        ),
        (
            with("bits = [3, 3]\ntype = \"flag\"\nrange = [0, 1]"),
            "a flag is true or false",
        ),
        (
            with(&format!(
                "bits = [3, 0]\n{integer}\n[settings.b]\ndescription = \"\"\nbits = [9, 3]\n{integer}"
            )),
            "are those of a",
        ),
        (
            with("bits = [3, 0]\ntype = \"integer\"").replace("settings.a", "settings.name"),
            "no name",
        ),
        (
            with("bits = [3, 0]\ntype = \"integer\"").replace("settings.a", "settings.A"),
            "no name",
        ),
        (
            with("bits = [0, 5]").replace("settings", "status"),
            "highest bit comes first",
        ),
        (
            with("bits = [5, 0]").replace("settings.a", "status.tap"),
            "no name of a status",
        ),
        (
            with("bits = [5, 0]\n[status.b]\ndescription = \"\"\nbits = [9, 5]")
                .replace("settings", "status"),
            "are those of a",
        ),
        (
            "description = \"x\"\ndata = [\"no.hex\"]".into(),
            "no.hex cannot be read",
        ),
        (
            "description = \"x\"\ndata = [\"/dev/zero\"]".into(),
            "below the manifest's folder",
        ),
        (
            "description = \"x\"\ndata = [\"../x\"]".into(),
            "below the manifest's folder",
        ),
        (
            "description = \"x\"\ndata = [\".\"]".into(),
            "below the manifest's folder",
        ),
        (
            "description = \"x\"\ndata = [\"\"]".into(),
            "it is a file of at most",
        ),
        (
            "description = \"x\"\ndata = [\"a\\\"b\"]".into(),
            "no path for Verilog",
        ),
        ("description = \"x\"\ndata = [7]".into(), "data is 7"),
        (
            "description = \"x\"\nwidth = 96".into(),
            "it is 32, 64, 128, 256 or 512 bits",
        ),
        (
            "description = \"x\"\nwidth = 16".into(),
            "it is 32, 64, 128, 256 or 512 bits",
        ),
        ("description = \"x\"\nwidth = 1024".into(), "from 0 to 512"),
        (
            "description = \"x\"\nclock = \"mine\"".into(),
            "\"chain\", \"own\"",
        ),
        (
            "description = \"x\"\nresult = true".into(),
            "expected a sequence",
        ),
        (column("Class", "u16"), "a small letter first"),
        (column("length", "u16"), "a small letter first"),
        (column("class", "u17"), "bytes[2] to bytes[64]"),
        (column("class", "u64[9]"), "bytes[2] to bytes[64]"),
        (
            column("a", "u16") + &column("a", "u8").replace("description = \"x\"\n", ""),
            "columns of other names",
        ),
        (
            column("a", "bytes[64]") + &column("b", "u8").replace("description = \"x\"\n", ""),
            "64 bytes at most",
        ),
        (column("all", "u8[64]"), "has no room for it"),
    ] {
        match element(&manifest) {
            Ok(_) => panic!("{manifest} was taken"),
            Err(said) => assert!(said.to_string().contains(words), "{manifest}\n{said}"),
        }
    }
    let wide = element(&with(&format!("bits = [63, 0]\n{integer}"))).expect("good");
    assert_eq!(wide.settings["a"].most, i128::from(u64::MAX));
}

#[test]
fn names_are_parts_of_modules() {
    for name in ["a", "add", "scale_2", &"x".repeat(40)] {
        assert_eq!(name_fault(name), None, "{name}");
    }
    for name in [
        "",
        "2x",
        "_x",
        "x_",
        "x__y",
        "X",
        "x-y",
        "x y",
        "../x",
        "ä",
        "check",
        &"x".repeat(41),
    ] {
        assert!(name_fault(name).is_some(), "{name}");
    }
}

/// Texts that are nearly pipelines.
fn nearly() -> impl Strategy<Value = String> {
    let word = "[a-z_]{1,6}|mtu|metres|pause|name|path|tap|addend|bits|size|layout|stride|extension|smallest|count|image|memory";
    let value = "-?[0-9]{1,20}|\"[ -~&&[^\"\\\\]]{0,12}\"|\"(add|mean|wait|skip|follow)\"|true|\\[[0-9, ]{0,8}\\]|\\{ ?\\}|1.5|nan";
    let table = "\\[(source|buffer|sink)\\]|\\[\\[(pe|ssd)\\]\\]";
    let line = prop_oneof![
        3 => (word, value).prop_map(|(key, value)| format!("{key} = {value}")),
        1 => table.prop_map(|table| table),
    ];
    proptest::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_text_is_taken_or_refused(text: String) {
        let _ = pipeline(&text);
        let _ = element(&text);
    }

    #[test]
    fn what_is_nearly_right_is_taken_or_refused(text in nearly()) {
        if let Ok(found) = pipeline(&text) {
            let _ = found.chain();
            prop_assert!(found.ssds.iter().all(|ssd| ssd.bytes.is_multiple_of(4096)));
            prop_assert!(found.sink.smallest > 0);
        }
    }

    #[test]
    fn any_setting_stays_in_its_bits(high in 0_u32..64, width in 1_u32..=64, value: i128) {
        let low = high.saturating_sub(width - 1);
        let manifest = format!(
            "description = \"\"\n[settings.a]\ndescription = \"\"\nbits = [{high}, {low}]\n\
             type = \"integer\""
        );
        let setting = element(&manifest).expect("good").settings["a"].clone();
        let value = value.rem_euclid(setting.most + 1);
        let cfg = setting.encode(value);
        prop_assert_eq!(i128::from(cfg >> low), value);
        prop_assert_eq!(cfg & ((1_u128 << low) - 1) as u64, 0);
    }
}
