// SPDX-License-Identifier: Apache-2.0
//! Errors of the assembler: line, column, field, value, limit, remedy.

use forebay_seq::assemble;

/// The text, its error, and words of the remedy.
const ERRORS: &[(&str, &str, &str)] = &[
    (
        "",
        "1:1: program is empty, but it must have an instruction",
        "write at least `stop`",
    ),
    (
        "stop\n  ad r1, r1, 1",
        "2:3: instruction is `ad`, but there is no such instruction",
        "add, sub",
    ),
    (
        ".word 1",
        "1:1: instruction is `.word`, but there is no such instruction",
        "there are: li",
    ),
    (
        "add r1, r16, 1",
        "1:9: register of add is `r16`, but it must be r0 to r15 or a name given by .reg",
        ".reg r16 r1",
    ),
    (
        "ld32 r1, cfg[r0]",
        "1:10: space of ld32 is `cfg`, but no space has a name yet",
        ".space cfg 0",
    ),
    (
        ".space b 1\n.space a 0\nld32 r1, cfg[r0]",
        "3:10: space of ld32 is `cfg`, but the spaces are a, b",
        "correct the name",
    ),
    (
        "wait LONG",
        "1:6: time of wait is `LONG`, but it must be a number or an earlier constant",
        ".const LONG 0",
    ),
    (
        ".const A B\n.const B 1",
        "1:10: value of .const is `B`, but it must be a number or an earlier constant",
        ".const B 0",
    ),
    (
        "jmp away",
        "1:5: label is `away`, but the program has no such label",
        "add the label",
    ),
    (
        "jmp 1f",
        "1:5: label is `1f`, but no label 1: follows",
        "add the label",
    ),
    (
        "jmp 1b\n1: stop",
        "1:5: label is `1b`, but no label 1: stands before",
        "add the label",
    ),
    (
        "jmp 0f",
        "1:5: label is `0f`, but it must be a name, or 1f to 9f, or 1b to 9b",
        "name a label",
    ),
    (
        "0: stop",
        "1:1: label is `0`, but local labels are 1 to 9",
        "begins with a letter",
    ),
    (
        "a.b: stop",
        "1:1: name is `a.b`, but it must be of letters, digits and _, and not begin with a digit",
        "another name",
    ),
    (
        "a: stop\na: stop",
        "2:1: label `a` is there twice, but line 1 has it already",
        "another name",
    ),
    (
        "jmp a\na:",
        "1:5: label `a` is behind the last instruction, but an instruction must follow it",
        "`stop` or `fail`",
    ),
    (
        ".reg a r1\n.const a 1",
        "2:8: name `a` is a register already, but each name has one meaning",
        "another name",
    ),
    (
        ".const r3 1",
        "1:8: name `r3` is a register already, but each name has one meaning",
        "another name",
    ),
    (
        ".const 1x 1",
        "1:8: name is `1x`, but it must be of letters, digits and _, and not begin with a digit",
        "another name",
    ),
    (
        ".space s 8",
        "1:10: number of .space is 8, but it must be from 0 to 7",
        "choose a number",
    ),
    (
        "li r1, 0x10000000000000000",
        "1:8: number of li is `0x10000000000000000`, but a number is decimal or 0x with \
         hexadecimal digits, of at most 64 bits",
        "0x1000",
    ),
    (
        "li r1, 12ab",
        "1:8: number of li is `12ab`, but a number is decimal or 0x with hexadecimal digits, of \
         at most 64 bits",
        "0x1000",
    ),
    (
        "li r1, -0x8000000000000001",
        "1:8: number of li is -9223372036854775809, but it must be from -9223372036854775808 to \
         18446744073709551615",
        "choose a number",
    ),
    (
        "ins r1, 4, 0",
        "1:9: quarter of ins is 4, but it must be from 0 to 3",
        "choose a number",
    ),
    (
        "ins r1, 0, 65536",
        "1:12: number of ins is 65536, but it must be from 0 to 65535",
        "choose a number",
    ),
    (
        "add r1, r1, 16384",
        "1:13: number of add is 16384, but it must be from -16384 to 16383",
        "load the number with `li`",
    ),
    (
        "shl r1, r1, 64",
        "1:13: shift of shl is 64, but it must be from 0 to 63",
        "choose a number",
    ),
    (
        ".space s 0\nld64 r1, s[r1 + 32768]",
        "2:17: offset of ld64 is 32768, but it must be from 0 to 32767",
        "add the rest",
    ),
    (
        ".space s 0\nst32 r1, s[r1 - 4]",
        "2:15: offset of st32 is -4, but it must be from 0 to 32767",
        "add the rest",
    ),
    (
        "bset r1, 64, 1f",
        "1:10: bit of bset is 64, but it must be from 0 to 63",
        "choose a number",
    ),
    (
        "timer 33554432",
        "1:7: time of timer is 33554432, but it must be from 0 to 33554431",
        "load the time with `li`",
    ),
    (
        "hex r1, 17",
        "1:9: digits of hex is 17, but it must be from 1 to 16",
        "choose a number",
    ),
    (
        "chars r1, 0",
        "1:11: count of chars is 0, but it must be from 1 to 8",
        "choose a number",
    ),
    (
        "fail 255",
        "1:6: code of fail is 255, but it must be from 1 to 254",
        "choose a number",
    ),
    (
        "hex r1",
        "1:7: operand of hex is the end of the line, but `,` must stand here",
        "write `hex r1, 8`",
    ),
    (
        "stop 1",
        "1:6: operand of stop is `1`, but the end of the line must stand here",
        "write `stop`",
    ),
    (
        "say x",
        "1:5: operand of say is `x`, but a text in quotes must stand here",
        "write `say",
    ),
    (
        "say \"\"",
        "1:5: text of say is empty, but it must have one character or more",
        "remove",
    ),
    (
        "say \"a",
        "1:5: text is without an end, but it must end on its line",
        "close it",
    ),
    (
        "say \"\\r\"",
        "1:6: escape of a text is `\\r`, but it must be one of \\n \\t \\\" \\\\",
        "write \\\\ for",
    ),
    (
        "say \"é\"",
        "1:6: character of a text is `é`, but it must be of ASCII, from 0x20 to 0x7e",
        "replace",
    ),
    (
        "stop ?",
        "1:6: character is `?`, but it must be a letter, a digit or one of _ . , : [ ] + - \" ;",
        "remove",
    ),
    (
        "\"a\"",
        "1:1: line is a text, but it must begin with a label, an instruction, .reg, .const or \
         .space",
        "label: add",
    ),
    (
        "li r1, 1",
        "1:1: end of the program is an instruction that goes on, but the program must not run \
         past its last instruction",
        "`stop`, `fail`",
    ),
    (
        "a: call b\nstop\nb: call a\nret",
        "3:4: call is recursive (a > b > a), but called code must not call itself",
        "loop of it",
    ),
    (
        "jmp 1f\nstop\n1: jmp 1b",
        "3:4: loop of line 3 is without a bound, but each loop must have `btime`, or a branch on \
         a register that it counts: it may never end",
        "`timer`",
    ),
];

#[test]
fn each_names_place_value_limit_and_remedy() {
    for (text, message, remedy) in ERRORS {
        let error = assemble(text).expect_err(text);
        assert_eq!(error.to_string(), *message, "{text}");
        assert!(error.remedy.contains(remedy), "{text}: {}", error.remedy);
    }
}

#[test]
fn fields_are_apart() {
    let error = assemble("stop\nhex r1, 17").expect_err("17 digits");
    assert_eq!((error.line, error.column), (2, 9));
    assert_eq!(error.field, "digits of hex");
    assert_eq!(error.value, "17");
    assert_eq!(error.limit, "it must be from 1 to 16");
}

#[test]
fn the_rom_has_1024_words() {
    let full = "li r1, 0\n".repeat(1_023) + "stop\n";
    assert_eq!(
        assemble(&full).map(|program| program.words().len()),
        Ok(1_024)
    );
    let error = assemble(&("li r1, 0\n".repeat(1_024) + "stop\n")).expect_err("1,025 words");
    let said = "1025:1: program is 1025 words long up to here, but the ROM has 1024";
    assert_eq!(error.to_string(), said);
    assert!(error.remedy.contains("shorten it"));
}
