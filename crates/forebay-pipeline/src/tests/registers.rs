// SPDX-License-Identifier: Apache-2.0
//! Registers, keys and per-stream settings of elements.

use super::*;

#[test]
fn registers_are_written_from_values_and_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).expect("a file");
    put("fb_pe_cut.sv", b"");
    put("key", b"0123456789abcde!");
    put("short", b"0123456789abcde");
    put("long", &[7; 40]);
    let register =
        |name: &str, rest: &str| format!("[registers.{name}]\ndescription = \"\"\n{rest}\n");
    let all = register(
        "gain",
        "offset = 8\nbytes = 4\ntype = \"integer\"\ndefault = -2",
    ) + &register("table", "offset = 16\nbytes = 8\ntype = \"bytes\"")
        + &register(
            "key",
            "offset = 64\nbytes = [16, 32]\ntype = \"bytes\"\nsecret = true",
        );
    put(
        "fb_pe_cut.toml",
        format!("description = \"\"\n{all}").as_bytes(),
    );
    let pipeline = |rest: &str| {
        let path = folder.path().display();
        format!("[[pe]]\nname = \"pass\"\n[[pe]]\nname = \"cut\"\npath = \"{path}\"\n{rest}")
    };
    let of = |name: &str| format!("{{ file = \"{}\" }}", folder.path().join(name).display());
    let table = "table = { hex = \"0001020304050607\" }\n";
    let text = pipeline(&format!("{table}key = {}", of("key")));
    let found = good(&text);
    assert_eq!(
        found.registers(),
        [
            (0x1008, vec![0xfe, 0xff, 0xff, 0xff].into()),
            (0x1010, vec![0, 1, 2, 3, 4, 5, 6, 7].into()),
            (0x1040, b"0123456789abcde!".to_vec().into()),
        ]
    );
    // A secret is nowhere to be seen.
    let shown = format!("{found:?}") + &serde_json::to_string(&found).expect("JSON");
    assert!(
        shown.contains("secret at 0x40") && !shown.contains("48, 49"),
        "{shown}"
    );
    let chain = found.chain().text;
    assert!(chain.contains(".s_axil_awaddr(request[1].addr)"), "{chain}");
    assert!(chain.contains(".Present (8'b00000010)"), "{chain}");

    for (rest, what) in [
        (table.to_owned(), "it needs key"),
        (
            format!("{table}key = {}", of("short")),
            "16 or 32 bytes, and here are 15",
        ),
        (format!("{table}key = {}", of("long")), "has more"),
        (format!("{table}key = {}", of("none")), "cannot be read"),
        (
            format!("{table}key = {{ hex = \"00112233\" }}"),
            "a secret comes out of a file",
        ),
        (format!("{table}key = \"hush, hush\""), "not shown"),
        (
            format!("table = {{ hex = \"000\" }}\nkey = {}", of("key")),
            "two hexadecimal digits",
        ),
        (
            format!("table = {{ hex = \"00\" }}\nkey = {}", of("key")),
            "8 bytes, and here are 1",
        ),
        (
            format!("table = 7\nkey = {}", of("key")),
            "is 7, but it is 8 bytes",
        ),
        (
            format!("{table}gain = 4294967296\nkey = {}", of("key")),
            "from -2147483648 to 4294967295",
        ),
        (
            format!(
                "{table}key = {}\n[[pe.streams]]\nstream = 0\ngain = 1",
                of("key")
            ),
            "no setting of cut",
        ),
    ] {
        let said = complaint(&pipeline(&rest));
        assert!(said.contains(what), "{rest}: {said}");
        assert!(
            !said.contains("hush") && !said.contains("00112233"),
            "{said}"
        );
    }

    for (rest, what) in [
        (
            register("a", "offset = 2\nbytes = 4\ntype = \"bytes\""),
            "a multiple of 4",
        ),
        (
            register("a", "offset = 4096\nbytes = 4\ntype = \"bytes\""),
            "from 0 to 4092",
        ),
        (
            register("a", "offset = 4092\nbytes = 8\ntype = \"bytes\""),
            "from 4 to 4",
        ),
        (
            register("a", "offset = 0\nbytes = 12\ntype = \"integer\""),
            "4 or 8 bytes",
        ),
        (
            register(
                "a",
                "offset = 0\nbytes = 4\ntype = \"integer\"\nsecret = true",
            ),
            "a secret is bytes",
        ),
        (
            register("a", "offset = 0\nbytes = 4\ntype = \"bytes\"\ndefault = 1"),
            "only a number",
        ),
        (
            register("a", "offset = 0\nbytes = 8\ntype = \"bytes\"")
                + &register("b", "offset = 4\nbytes = 4\ntype = \"bytes\""),
            "those of a",
        ),
        (
            register("tap", "offset = 0\nbytes = 4\ntype = \"bytes\""),
            "is no name",
        ),
    ] {
        put(
            "fb_pe_cut.toml",
            format!("description = \"\"\n{rest}").as_bytes(),
        );
        let said = complaint(&pipeline(""));
        assert!(said.contains(what), "{rest}: {said}");
    }
}

#[test]
fn settings_per_stream_are_of_streams_that_are_received() {
    let of = |streams: &str| {
        format!("[source]\nstream = 3\nstreams = 2\n[[pe]]\nname = \"add\"\n{streams}")
    };
    let stream = |rest: &str| of(&format!("[[pe.streams]]\n{rest}"));
    for (text, what) in [
        (stream("stream = 5\naddend = 1"), "stream 5 is not received"),
        (stream("addend = 1"), "which stream"),
        (stream("stream = 3\nother = 1"), "no setting of add"),
        (stream("stream = 3\naddend = true"), "a whole number"),
        (
            stream("stream = 3\n[[pe.streams]]\nstream = 19"),
            "last four bits",
        ),
        (of("streams = 4"), "a list of tables"),
    ] {
        let said = complaint(&text);
        assert!(said.contains(what), "{text}: {said}");
    }
}

#[test]
fn what_encrypts_has_a_key_a_nonce_and_a_count() {
    let key = "[registers.key]\ndescription = \"\"\noffset = 0\nbytes = [16, 32]\n\
               type = \"bytes\"\nsecret = true\n";
    let count = "[status.keyless]\ndescription = \"\"\nbits = [31, 0]\n";
    let with = |first: &str, rest: &str| {
        element(&format!(
            "description = \"\"\nencrypts = true\n{first}\n{rest}"
        ))
    };
    let good = with("extent = true", &format!("{key}{count}")).expect("good");
    assert!(good.encrypts);
    for (first, rest, what) in [
        ("extent = true", count.to_owned(), "its key is the register"),
        (
            "extent = true",
            key.replace("secret = true", "") + count,
            "its key is the register",
        ),
        (
            "extent = true",
            key.replace("offset = 0", "offset = 4") + count,
            "its key is the register",
        ),
        (
            "extent = true",
            key.replace("[16, 32]", "[16, 24]") + count,
            "its key is the register",
        ),
        ("extent = true", key.to_owned(), "nothing counts them"),
        ("", format!("{key}{count}"), "the nonce of an extent"),
        (
            "extent = true\nresizes = true",
            format!("{key}{count}"),
            "as long as what it gets",
        ),
    ] {
        match with(first, &rest) {
            Ok(_) => panic!("{first}\n{rest} was taken"),
            Err(said) => assert!(said.to_string().contains(what), "{rest}\n{said}"),
        }
    }
}

#[test]
fn the_way_back_decrypts_what_was_encrypted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fb_pe_cut.toml");
    fs::write(path, "description = \"\"\nresizes = true\n").expect("a file");
    fs::write(folder.path().join("fb_pe_cut.sv"), "").expect("a file");
    for (name, byte) in [("key", 1), ("other", 2)] {
        fs::write(folder.path().join(name), [byte; 16]).expect("a file");
    }
    let of = |name: &str, key: &str| {
        let key = folder.path().join(key);
        format!(
            "[[pe]]\nname = \"{name}\"\nkey = {{ file = \"{}\" }}\n",
            key.display()
        )
    };
    let plain = |name: &str| format!("[[pe]]\nname = \"{name}\"\n");
    let back = "direction = \"back\"\n";
    let encrypts = of("aes_ctr", "key");
    let decrypts = encrypts.clone() + back;
    let found = good(&(plain("add") + &encrypts + &decrypts + &plain("add") + back));
    assert!(found.decrypts());
    assert_eq!(found.key_windows(), [0x1000, 0x2000]);
    assert!(!good(&encrypts).decrypts());
    // Which direction comes first in the file is the same.
    assert_eq!(
        good(&(decrypts.clone() + &encrypts)).key(),
        Some(&[1; 16][..])
    );
    let cut = format!(
        "{}path = \"{}\"\n{back}",
        plain("cut"),
        folder.path().display()
    );
    for (text, what) in [
        (decrypts.clone(), "nothing that is stored is encrypted"),
        (
            encrypts.clone() + &of("aes_ctr", "other") + back,
            "nothing that is stored",
        ),
        (
            encrypts.clone() + &plain("add") + back + &decrypts,
            "nothing can work on what it gets",
        ),
        (
            encrypts.clone() + &plain("add") + back,
            "nothing decrypts it before this element",
        ),
        (plain("mean") + back, "no results"),
        (plain("pass") + back + "tap = \"wait\"\n", "no branches"),
        (cut, "the length of an object"),
        (plain("pass") + "direction = \"out\"\n", "\"in\", \"back\""),
    ] {
        let said = complaint(&text);
        assert!(said.contains(what), "{text}: {said}");
    }
}
