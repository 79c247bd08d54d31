// SPDX-License-Identifier: Apache-2.0
//! Programs that run.

use forebay_seq::{BAD_PROGRAM, Interpreter};

use super::support::{Memory, run};

#[test]
fn numbers_and_texts() {
    let (end, said, _) = run(r#"
        li r1, 0x123456789abcdef0
        hex r1, 4
        say " "
        dec r1
        li r2, -1
        say " "
        shr r2, r2, 63
        dec r2
        li r3, 0x7e7f1f20004241   ; A B NUL space US DEL ~
        say "\n"
        chars r3, 7
        andn r4, r1, 0xff
        xor r5, r1, r4
        li r0, 7
        stop
    "#);
    assert_eq!(said, "def0 1311768467463790320 1\nAB. ..~");
    assert_eq!((end.code, end.registers[0], end.registers[5]), (0, 0, 0xf0));
    assert_eq!(end.registers[4], 0x1234_5678_9abc_de00);
}

#[test]
fn accesses_and_their_errors() {
    let (end, ..) = run("
        .space ram 0
        .space none 7
        li r1, -2
        st64 r1, ram[r0 + 8]
        berr bad
        ld32 r2, ram[r0 + 8]
        ld32 r3, none[r0]
        berr 1f
        jmp bad
    1:  ld64 r4, none[r0]
        st32 r1, none[r0]
        berr 2f
        jmp bad
    2:  st64 r1, ram[r0 + 16]
        berr bad
        ld64 r4, none[r0]
        ld32 r5, ram[r0]
        berr bad
        stop
    bad: fail 9
    ");
    assert_eq!(end.code, 0);
    assert_eq!(end.registers[2..6], [0xffff_fffe, 0xffff_ffff, u64::MAX, 0]);
}

#[test]
fn comparisons_have_no_sign_and_addresses_wrap() {
    let (end, ..) = run("
        .space ram 0
        li r1, -1
        bltu r1, r0, bad
        bgeu r0, r1, bad
        st32 r1, ram[r1 + 5]
        ld32 r2, ram[r0 + 4]
        bclr r2, 0, bad
        stop
    bad: fail 9
    ");
    assert_eq!((end.code, end.registers[2]), (0, 0xffff_ffff));
}

#[test]
fn time_passes() {
    let (end, said, now) = run(r#"
        btime 1f        ; it has run out before it starts
        fail 1
    1:  li r1, 0x1000003e8
        timer r1        ; 1000: the lower 32 bits
    2:  say "."
        btime 3f
        wait 400
        jmp 2b
    3:  stop
    "#);
    assert_eq!((end.code, said.as_str(), now), (0, "....", 1_200));
}

#[test]
fn calls_return_and_codes_are_kept() {
    let (end, said, _) = run("call a\n call a\n fail 77\na: say \"a\"\n ret");
    assert_eq!((end.code, end.place, said.as_str()), (77, 2, "aa"));
    // The lowest byte of a register; without one it is a `stop`.
    for (number, code) in [("0x1fe", 254), ("0x100", 0)] {
        assert_eq!(run(&format!("li r7, {number}\n fail r7")).0.code, code);
    }
}

#[test]
fn bad_programs_end_with_their_code() {
    let call = 0x19 << 26;
    for (words, place) in [
        // No word, an unknown operation, a return too many, the ninth call.
        (&[][..], 0),
        (&[0, 0x02 << 26], 1),
        (&[0x1a << 26], 0),
        (&[call | 1, call], 0),
        (&[0x18 << 26 | 5], 5),
    ] {
        let mut running = Interpreter::new(words);
        let end = running.run(&mut Memory::default(), 100).expect("it ends");
        assert_eq!((end.code, end.place), (BAD_PROGRAM, place), "{words:x?}");
        assert_eq!(
            running.step(&mut Memory::default()),
            Some(end),
            "it stays ended"
        );
    }
    let calls = [call];
    let mut running = Interpreter::new(&calls);
    assert!(running.run(&mut Memory::default(), 8).is_none());
    assert!(running.step(&mut Memory::default()).is_some(), "the ninth");
}

#[test]
fn a_bound_stops_what_goes_on() {
    let jump = [0x18 << 26];
    let mut running = Interpreter::new(&jump);
    assert_eq!(running.run(&mut Memory::default(), 1_000), None);
    assert_eq!((running.executed(), running.place()), (1_000, 0));
    assert_eq!(running.registers(), &[0; 16]);
}
