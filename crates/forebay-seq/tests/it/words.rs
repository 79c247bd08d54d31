// SPDX-License-Identifier: Apache-2.0
//! Words of each instruction, by hand from docs/reference/seq.md.

use forebay_seq::{Instruction, assemble, list};

#[track_caller]
fn assembles(text: &str, words: &[u32]) {
    let head = ".space io 3\n.reg five r5\n.const K 0x10\nstart: ";
    let program = assemble(&format!("{head}{text}\nstop")).unwrap_or_else(|e| panic!("{e}"));
    let (last, rest) = program.words().split_last().expect("it has words");
    assert_eq!((rest, *last), (words, 0x3f << 26), "{text}: {rest:08x?}");
    let again = assemble(&list::text(&program)).expect("a listing assembles");
    assert_eq!(again.words(), program.words(), "{text}");
}

#[test]
fn each_instruction_has_its_word() {
    let of = |op: u32, d: u32, a: u32| op << 26 | d << 22 | a << 18;
    assembles("li r1, 5", &[of(0, 1, 0) | 5]);
    assembles("li r1, -1", &[of(0, 1, 0) | 0x3f_ffff]);
    assembles("ins r2, 3, 0xabcd", &[of(1, 2, 0) | 3 << 16 | 0xabcd]);
    for (op, name) in (4..).zip(["add", "sub", "and", "or", "xor", "andn"]) {
        assembles(&format!("{name} r1, r2, r3"), &[of(op, 1, 2) | 3]);
        assembles(&format!("{name} r1, r2, five"), &[of(op, 1, 2) | 5]);
        assembles(
            &format!("{name} r1, r2, -2"),
            &[of(op, 1, 2) | 0x8000 | 0x7ffe],
        );
    }
    assembles("shl r1, r2, 63", &[of(0x0a, 1, 2) | 63]);
    assembles("shr r15, r14, K + 1", &[of(0x0b, 15, 14) | 17]);
    let io = 3 << 15;
    assembles("ld32 r1, io[r2]", &[of(0x0c, 1, 2) | io]);
    assembles("ld64 r1, io[r2 + K - 8 + 1]", &[of(0x0d, 1, 2) | io | 9]);
    assembles(
        "st32 r1, io[five + 0x7fff]",
        &[of(0x0e, 1, 5) | io | 0x7fff],
    );
    assembles("st64 r1, io[r0 + 4]", &[of(0x0f, 1, 0) | io | 4]);
    for (op, name) in (0x10..).zip(["beq", "bne", "bltu", "bgeu"]) {
        assembles(&format!("{name} r1, r2, 1f\n1:"), &[of(op, 1, 2) | 1]);
    }
    assembles("bset r1, 63, 1f\n1:", &[of(0x14, 1, 0) | 63 << 10 | 1]);
    assembles("bclr r1, 0, 1f\n1:", &[of(0x15, 1, 0) | 1]);
    assembles("berr 1f\n1:", &[of(0x16, 0, 0) | 1]);
    assembles("btime start", &[of(0x17, 0, 0)]);
    assembles("jmp 1f\n1:", &[of(0x18, 0, 0) | 1]);
    assembles(
        "jmp 1f\n2: ret\n1: call 2b",
        &[of(0x18, 0, 0) | 2, of(0x1a, 0, 0), of(0x19, 0, 0) | 1],
    );
    assembles("timer r3", &[of(0x1b, 0, 0) | 1 << 25 | 3]);
    assembles("timer 0x1ffffff", &[of(0x1b, 0, 0) | 0x1ff_ffff]);
    assembles("wait r3", &[of(0x1c, 0, 0) | 1 << 25 | 3]);
    assembles("wait 1", &[of(0x1c, 0, 0) | 1]);
    let say = |count: u32, [a, b, c]: [u8; 3]| {
        0x20 << 26 | count << 24 | u32::from(a) | u32::from(b) << 8 | u32::from(c) << 16
    };
    assembles(
        r#"say "\t\"\\; x" ; a comment"#,
        &[say(3, *b"\t\"\\"), say(3, *b"; x")],
    );
    assembles(r#"say "a\n""#, &[say(2, *b"a\n\0")]);
    assembles("hex r1, 16", &[of(0x21, 1, 0) | 15]);
    assembles("dec r1", &[of(0x22, 1, 0)]);
    assembles("chars r1, 8", &[of(0x23, 1, 0) | 7]);
    assembles("fail K", &[of(0x3e, 0, 0) | 16]);
    assembles("fail r5", &[of(0x3e, 0, 5)]);
    assembles("stop", &[of(0x3f, 0, 0)]);
}

#[test]
fn li_takes_as_few_words_as_it_needs() {
    for (number, words) in [
        ("0x1fffff", 1),
        ("-0x200000", 1),
        ("0x200000", 2),
        ("0xffffffff", 2),
        ("0x10000", 1),
        ("0x100000000", 2),
        ("0xffff0001", 2),
        ("0xffffffffffff0000", 1),
        ("0xffffffffffffffff", 1),
        ("0x123456789abcdef0", 4),
        ("-0x8000000000000000", 2),
    ] {
        let program = assemble(&format!("li r1, {number}\nstop")).expect("it assembles");
        assert_eq!(program.words().len(), words + 1, "{number}");
    }
}

#[test]
fn unknown_operations_are_errors() {
    for op in [0x02, 0x03, 0x1d, 0x1e, 0x1f, 0x24, 0x30, 0x3d] {
        let error = Instruction::decode(op << 26).expect_err("it is unknown");
        assert_eq!(error.word, op << 26);
    }
    let error = Instruction::decode(0x0800_0000).expect_err("it is unknown");
    let said = "word 0x08000000 has operation 0x02, which does not exist";
    assert_eq!(error.to_string(), said);
}

#[test]
fn a_listing_shows_words_labels_and_text() {
    let text = ".space io 3\nstart: li r1, 3 ; three\n1: sub r1, r1, 1\n bne r1, r0, 1b\n stop\n";
    let program = assemble(text).expect("it assembles");
    let rows = list::rows(&program);
    let shown: Vec<_> = rows
        .iter()
        .map(|row| (row.labels.join(" "), row.instruction.as_str(), row.line))
        .collect();
    let expected = [
        ("start", "li r1, 3", 2),
        ("_1", "sub r1, r1, 1", 3),
        ("", "bne r1, r0, _1", 4),
        ("", "stop", 5),
    ];
    assert_eq!(
        shown,
        expected.map(|(label, text, line)| (label.to_owned(), text, line))
    );
    let listing = list::text(&program);
    assert!(
        listing.contains("; 0000 00400003     2: start: li r1, 3 ; three"),
        "{listing}"
    );
    assert_eq!(program.source(99), "");
}
