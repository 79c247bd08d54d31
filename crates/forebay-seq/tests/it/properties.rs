// SPDX-License-Identifier: Apache-2.0
//! What holds for all words and texts.

use proptest::prelude::*;

use forebay_seq::{Instruction, Interpreter, assemble, list};

use super::support::Memory;

/// A line that is right wherever it stands before a label 9.
fn line() -> impl Strategy<Value = String> {
    let register = || (0u8..16).prop_map(|number| format!("r{number}"));
    prop_oneof![
        (register(), any::<i64>()).prop_map(|(d, number)| format!("li {d}, {number}")),
        (register(), any::<u64>()).prop_map(|(d, number)| format!("li {d}, {number:#x}")),
        (0u64..1 << 24, register()).prop_map(|(number, d)| format!("li {d}, {number}")),
        (
            "add|sub|and|or|xor|andn",
            register(),
            register(),
            -16_384..=16_383
        )
            .prop_map(|(op, d, a, number)| format!("{op} {d}, {a}, {number}")),
        (
            "add|sub|and|or|xor|andn",
            register(),
            register(),
            register()
        )
            .prop_map(|(op, d, a, b)| format!("{op} {d}, {a}, {b}")),
        ("shl|shr", register(), register(), 0..64)
            .prop_map(|(op, d, a, bits)| format!("{op} {d}, {a}, {bits}")),
        (
            "(ld|st)(32|64)",
            register(),
            "cfg|ram",
            register(),
            0..32_768
        )
            .prop_map(|(op, d, space, a, offset)| format!("{op} {d}, {space}[{a} + {offset}]")),
        ("beq|bne|bltu|bgeu", register(), register())
            .prop_map(|(op, d, a)| format!("{op} {d}, {a}, 9f")),
        ("bset|bclr", register(), 0..64).prop_map(|(op, d, bit)| format!("{op} {d}, {bit}, 9f")),
        ("berr|btime|jmp", "9f|end").prop_map(|(op, to)| format!("{op} {to}")),
        "call part|ret|stop|9:|fail (r3|[1-9])|(timer|wait) (r3|[1-9]{1,7})|dec r[0-9]",
        "(hex|chars) r[0-9], [1-8]",
        "[ !#-\\[\\]-~]{1,9}".prop_map(|text| format!("say \"{text}\\n\\t\\\"\\\\\"")),
    ]
}

proptest! {
    #[test]
    fn words_are_decoded_and_encoded(op in 0u32..64, rest in 0u32..1 << 26) {
        if let Ok(instruction) = Instruction::decode(op << 26 | rest) {
            let word = instruction.encode();
            prop_assert_eq!(Instruction::decode(word), Ok(instruction));
            prop_assert_eq!(word >> 26, op);
            prop_assert_eq!(word & !(op << 26 | rest), 0, "no bit that was 0");
        }
    }

    #[test]
    fn a_listing_assembles_to_the_same_words(lines in prop::collection::vec(line(), 0..40)) {
        let lines = lines.join("\n");
        let text = format!(
            ".space cfg 0\n.space ram 5\n{lines}\n9: \nend: stop\npart: add r1, r1, 1\n ret"
        );
        let program = assemble(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let listing = list::text(&program);
        let again = assemble(&listing).unwrap_or_else(|error| panic!("{listing}\n{error}"));
        prop_assert_eq!(again.words(), program.words());
        prop_assert_eq!(list::rows(&again).len(), program.words().len());
    }

    #[test]
    fn any_words_run_within_the_bound(
        words in prop::collection::vec((0u32..64, 0u32..1 << 26), 0..200), most in 0u64..2_000,
    ) {
        let words: Vec<_> = words.into_iter().map(|(op, rest)| op << 26 | rest).collect();
        let mut running = Interpreter::new(&words);
        let end = running.run(&mut Memory::default(), most);
        prop_assert!(running.executed() <= most);
        prop_assert!(end.is_some() || running.executed() == most);
        prop_assert_eq!(running.registers()[0], 0);
    }

    #[test]
    fn any_text_is_assembled_or_refused(text: String) {
        let _either = assemble(&text);
    }

    #[test]
    fn texts_of_tokens_are_assembled_or_refused(
        tokens in prop::collection::vec(
            "\n|\n|[a-z0-9.]{1,4}|[,:+\\[\\]\"; -]|r[0-9]|li |add |jmp |call |1:|1b|1f|ret|stop|\
             \\.const a |\\.reg b |\\.space c |say |[0-9x]{1,30}|é|\\\\",
            0..60,
        ),
    ) {
        if let Err(error) = assemble(&tokens.concat()) {
            prop_assert!(error.line >= 1 && error.column >= 1 && !error.remedy.is_empty());
        }
    }

    #[test]
    fn any_flow_is_checked(
        lines in prop::collection::vec(
            ("add r1, r1, |bne r1, r2, |jmp |call |btime |bset r3, 1, ", 0usize..30),
            1..30,
        ),
    ) {
        let line = |(index, (name, to)): (usize, &(String, usize))| match name.starts_with("add") {
            true => format!("l{index}: {name}{to}\n"),
            false => format!("l{index}: {name}l{}\n", to % lines.len()),
        };
        let text: String = lines.iter().enumerate().map(line).collect();
        let _either = assemble(&(text + "ret"));
    }
}
