// SPDX-License-Identifier: Apache-2.0
//! Checks of calls and loops.

use forebay_seq::assemble;

/// A program of which each part calls the next one, this number of calls deep.
fn nested(calls: usize) -> String {
    let part = |number: usize| format!("p{number}: call p{}\n ret\n", number + 1);
    let parts: String = (1..calls).map(part).collect();
    format!("call p1\nstop\n{parts}p{calls}: ret\n")
}

#[test]
fn eight_calls_are_nested() {
    assert!(assemble(&nested(8)).is_ok());
    let error = assemble(&nested(9)).expect_err("nine");
    assert_eq!(error.line, 17, "the ninth call's");
    let said = "call is 9 calls deep (word 0 > p1 > p2 > p3 > p4 > p5 > p6 > p7 > p8 > p9), \
                but 8 return addresses are kept";
    assert!(error.to_string().ends_with(said), "{error}");
    assert!(error.remedy.contains("`jmp`"));
}

#[test]
fn calls_that_do_not_nest_are_not_added() {
    assert!(assemble(&("call a\n".repeat(20) + "stop\na: ret")).is_ok());
}

#[test]
fn loops_with_a_bound() {
    for text in [
        // A timer, a counter, a counter in another register's place, a counter in called code.
        "timer 9\n1: btime 2f\n jmp 1b\n2: stop",
        "li r1, 9\n1: sub r1, r1, 1\n bne r1, r0, 1b\n stop",
        "1: shl r1, r1, 1\n bset r1, 40, 2f\n jmp 1b\n2: stop",
        "1: call a\n bltu r2, r1, 2f\n jmp 1b\n2: stop\na: add r1, r1, 1\n ret",
        "1: call a\n jmp 1b\na: btime 2f\n ret\n2: stop",
        // Two loops, one inside the other.
        "li r1, 9\n1: li r2, 9\n2: sub r2, r2, 1\n bne r2, r0, 2b\n \
         sub r1, r1, 1\n bne r1, r0, 1b\n stop",
    ] {
        assert!(assemble(text).is_ok(), "{text}: {:?}", assemble(text));
    }
}

#[test]
fn loops_without_a_bound() {
    for (text, lines) in [
        ("1: jmp 1b", "line 1"),
        // `wait` alone ends no loop.
        ("1: wait 5\n jmp 1b", "lines 1 to 2"),
        // The register is not counted, or it is another one, or none that can change.
        (
            ".space s 0\n1: ld32 r1, s[r0]\n beq r1, r0, 1b\n stop",
            "lines 2 to 3",
        ),
        ("1: sub r1, r1, 1\n bne r2, r0, 1b\n stop", "lines 1 to 2"),
        ("1: add r0, r0, 1\n beq r0, r0, 1b\n stop", "lines 1 to 2"),
        // A way round the counter, one round the branch, one round the timer.
        (
            "1: beq r2, r3, 2f\n sub r1, r1, 1\n2: bne r1, r0, 1b\n stop",
            "lines 1 to 3",
        ),
        (
            "1: sub r1, r1, 1\n beq r2, r3, 1b\n bne r1, r0, 1b\n stop",
            "lines 1 to 2",
        ),
        ("1: berr 1b\n btime 2f\n jmp 1b\n2: stop", "line 1"),
    ] {
        let error = assemble(text).expect_err(text);
        assert_eq!(error.field, format!("loop of {lines}"), "{text}");
    }
}

#[test]
fn many_ways_round_many_counters_are_looked_at_quickly() {
    let ways = (1..=45).map(|way| {
        let register = 1 + way % 15;
        format!(
            " berr a{way}\n bne r{register}, r0, b{way}\n jmp b{way}\n\
             a{way}: add r{register}, r{register}, 1\nb{way}: li r0, 0\n"
        )
    });
    let text: String = ways.collect();
    let bounded = format!("top: li r0, 0\n{text} sub r15, r15, 1\n bne r15, r0, top\n stop");
    assert!(assemble(&bounded).is_ok());
    let endless = format!("top: li r0, 0\n{text} jmp top");
    assert!(assemble(&endless).is_err());
}
