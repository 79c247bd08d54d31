// SPDX-License-Identifier: Apache-2.0
//! `forebay run` of earlier versions, which `io`, `record` and `replay` replace.

use std::ffi::OsString;

/// Options that tell what `run` was to do.
const REPLAY: &str = "--replay";
const IO: [&str; 2] = ["--write", "--read"];
/// Options with another name now.
const RENAMED: [(&str, &str); 8] = [
    (REPLAY, "--objects"),
    ("--apart", "--linear"),
    ("--medium", "--backing"),
    ("--out", "--save"),
    ("--mishaps", "--impairments"),
    ("--garbage", "--malformed"),
    ("--peer-response", "--partner-response"),
    ("--peer-ignores", "--partner-ignores-pause"),
];

/// The command line that does what this one with `run` did; none: it is another command.
pub fn successor(line: &[OsString]) -> Option<Vec<OsString>> {
    let (program, words) = match line {
        [program, run, words @ ..] if run == "run" => (program, words),
        _ => return None,
    };
    let names = |word: &OsString, name: &str| {
        let rest = word.to_str().and_then(|word| word.strip_prefix(name));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    let given = |name: &str| words.iter().any(|word| names(word, name));
    let command = match () {
        () if given(REPLAY) => "replay",
        () if IO.iter().any(|name| given(name)) => "io",
        () => "record",
    };
    let renamed = words.iter().map(|word| {
        let rate = ("--back", "--rate");
        let also = (command == "replay").then_some(rate);
        let mut pairs = RENAMED.into_iter().chain(also);
        match (pairs.find(|(old, _)| names(word, old)), word.to_str()) {
            (Some((old, new)), Some(text)) => text.replacen(old, new, 1).into(),
            _ => word.clone(),
        }
    });
    let head = [program.clone(), command.into()];
    Some(head.into_iter().chain(renamed).collect())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn run_becomes_what_it_did() {
        for (old, new) in [
            (
                "run --write f --medium=d.img",
                "io --write f --backing=d.img",
            ),
            (
                "run --read --length 5 --out x",
                "io --read --length 5 --save x",
            ),
            (
                "run --generate 1MiB --mishaps 5",
                "record --generate 1MiB --impairments 5",
            ),
            (
                "run x.toml --pcap y --back 1GB/s",
                "record x.toml --pcap y --back 1GB/s",
            ),
            (
                "run x.toml --replay 5.. --back 1GB/s",
                "replay x.toml --objects 5.. --rate 1GB/s",
            ),
        ] {
            let line = |text: &str| -> Vec<OsString> {
                let words = text.split(' ').map(Into::into);
                [OsString::from("forebay")]
                    .into_iter()
                    .chain(words)
                    .collect()
            };
            let found = successor(&line(old)).expect("it is run");
            assert_eq!(found, line(new));
            Cli::try_parse_from(found).expect(new);
        }
        assert_eq!(
            successor(&["forebay".into(), "vm".into(), "run".into()]),
            None
        );
    }
}
