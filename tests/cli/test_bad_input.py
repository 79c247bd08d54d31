# SPDX-License-Identifier: Apache-2.0
"""Input that cannot be used: refused early, in words, with the right exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from driving import BAD_INPUT, BAD_RESULT, FILE_FAILED, Run

IDEAL = ("--profile", "ideal")
MISSING = ("no/such", "README.toml")
"""Files that are not there."""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("io --write no/such/file", "no/such/file"),
        ("io --read --length 4KiB --save no/such/folder/file", "no/such/folder/file"),
        ("io --read", "--length"),
        ("io --read --length 12parsec", "is no size"),
        ("io --at 0", "required"),
        ("demo --profile no-such-drive", "no-such-drive"),
        ("demo --profile no/such/file.toml", "no/such/file.toml"),
        ("demo --file no/such/file", "no/such/file"),
        ("demo --limit 0", "zero"),
        ("demo --queue-depth 0", "2..=1024"),
        ("demo --queue-depth 1000000", "2..=1024"),
        ("demo --buffer 12KiB", "64KiB, 128KiB"),
        ("demo --buffer 32MiB", "64KiB, 128KiB"),
        ("demo --seed minus-one", "invalid"),
        ("demo --wave-from 7", "--wave"),
        ("demo --rtl no/such/file.sv", "no/such/file.sv"),
        ("demo --param Depth", "NAME=VALUE"),
        ("demo --param NoSuch=1 --limit 4KiB", "NoSuch"),
        ("demo --memory flash", "possible values: onchip, dram, host"),
        ("demo --memory host --buffer 1MiB", "60 MiB for one direction"),
        ("demo --memory dram --dram ddr9", "ddr4-2400, hbm2-1800"),
        ("demo --memory dram --dram no/such/file.toml", "no/such/file.toml"),
        ("demo --memory dram --dram README.toml", "README.toml"),
        ("demo --memory dram --refresh sometimes", "on-time, random, late, never"),
        ("demo --memory host --refresh late", "memory dram"),
        ("demo --memory host --channels 2", "memory dram"),
        ("demo --memory dram --channels 3", "a power of two from 1 to 32"),
        ("demo --memory dram --channels 2:100", "a power of two from 256"),
        ("demo --memory dram --channels two", "no number of channels"),
        ("demo --dram hbm2-1800", "memory dram"),
        ("io --read --length 1 --dram-fault read@0..64", "memory dram"),
        ("io --read --length 1 --memory dram --dram-fault read@64", "read@FROM..TO"),
        ("io --read --length 1 --memory dram --dram-fault write@2..1", "is empty"),
        ("bench core --bytes 0", "zero"),
        ("bench nothing", "unrecognized"),
        ("bench soak --transactions 0", "not in"),
        ("bench soak --stall 2", "0 to 0.95"),
        ("bench soak --area 64KiB --largest 64KiB", "--area"),
        ("bench soak --least 8KiB --largest 4KiB", "least is 8192"),
        ("bench soak --at 0xfffffffffff --transactions 1", "--at"),
        ("bench soak --drives 3 --parity --area 128KiB --largest 4KiB", "two stripes"),
        ("bench soak --writes 101", "101 is not in"),
        ("bench soak --fault 1/drop@nth=1", "the drives are 0 to 0"),
        ("bench soak --dram-fault read@0..64", "not in on-board DRAM"),
        ("inspect --from no/such/file", "no/such/file"),
        ("inspect --from README.md", "no report of forebay"),
        ("profiles no-such-drive", "no-such-drive"),
        ("spec cobol", "cobol"),
        ("io --read --length 1 --stall nowhere=0.1", "no port is named"),
        ("io --read --length 1 --fault explode@nth=1", "no fault is named"),
        ("io --read --length 1 --fault drop@never", "says no moment"),
        ("io --read --length 1 --block 1024", "512, 4096"),
        ("demo --drives 9", "1..=8"),
        ("demo --profile ideal --profile ideal --drives 3", "for 3 drives"),
        ("demo --drives 8 --queue-depth 256", "128 entries"),
        ("demo --drives 2 --fpga-link gen9x3", "is no link"),
        ("demo --linear", "2 or more"),
        ("demo --drives 2 --linear --parity", "cannot be used with"),
        ("demo --parity", "2 or more"),
        ("demo --drives 2 --missing 1", "--parity"),
        ("demo --drives 2 --parity --missing 2", "the drives are 0 to 1"),
        ("demo --drives 2 --parity --chunk 128KiB", "up to 64 KiB"),
        ("bench random --drives 2 --parity", "less than a stripe"),
        ("vm serve streamer --socket x.sock --parity", "one drive"),
        ("demo --drives 2 --chunk 48KiB", "choose 4KiB, 8KiB … 1MiB"),
        ("demo --drives 2 --chunk 2MiB", "1048576 (1 MiB)"),
        ("demo --buffer 8MiB --memory host", "buffer on chip"),
        ("io --read --length 1 --fault 9/drop@nth=1", "is no drive"),
        ("io --read --length 1 --drives 2 --backing x.img", "--backing"),
        ("io --read --length 1 --backing x.img --backing y.img", "the number of drives is 1"),
        ("io --read --length 1 --drives 2 --backing x.img --backing x.img", "another drive has"),
        ("io --write README.md --generate 1", "cannot be used with"),
        ("io --generate 100TiB", "does not hold it"),
        ("io --write README.md --yes", "--yes is given"),
        ("io --write README.md --serial S1", "--serial is given"),
        ("io --write README.md --bus vfio --ssd 01:00.0 --fpga 02:00.0", "add --yes, or --serial"),
        (
            "io --read --length 1 --bus vfio --ssd 01:00.0 --fpga 02:00.0 --yes",
            "nothing is written",
        ),
        ("store format x.img --size 8MiB --yes", "is no drive"),
        ("store pack crates x.img --serial S1", "is no drive"),
        ("io --read --length 1 --backing no/such/folder/x.img", "no/such/folder"),
        ("io --read --length 1 --retry-limit 16", "16"),
        ("io --read --length 1 -o json --output-file no/such/folder/x.json", "no/such/folder"),
        ("io --read --length 1 --wave no/such/folder/x.fst", "no/such/folder"),
        ("io --read --length 1 --max-transfer 5000", "multiple of 4096"),
        ("bench soak --mdts 4KiB", "MDTS cannot be 4096 bytes"),
        ("io --read --length 1 --ssd 0000:01:00.0", "add --bus vfio"),
        ("io --read --length 1 --bus vfio", "--ssd is missing"),
        ("io --read --length 1 --bus vfio --ssd 0000:01:00.0", "--fpga is missing"),
        ("io --read --length 1 --bus vfio --ssd 1:0 --fpga 2:0", "no PCI address"),
        ("io --read --length 1 --bus vfio --stall 0.1", "--stall is given"),
        ("io --read --length 1 --bus vfio --profile ideal", "--profile is given"),
        ("io --read --length 1 --bus pigeon", "possible values: sim, vfio"),
        ("record --ssd 0000:01:00.0", "add --bus vfio"),
        ("record --bus vfio --pcap x.pcap", "--pcap is given"),
        ("record --bus vfio --impairments 5", "--impairments is given"),
        ("record --bus vfio --ssd 01:00.0", "--fpga is missing"),
        ("record --bus vfio --ssd 01:00.0 --fpga 02:00.0", "add --yes, or --serial"),
        ("record --for 5s", "--for is given"),
        ("vm run --timeout 0s -- true", "1s to 24h"),
        ("vm run --timeout 300 -- true", "is no time"),
        ("plan --rate 12GB", "12.5GB/s"),
        ("send README.md --to h --rate 12", "100Gb/s"),
    ],
)
def test_refused(forebay: Run, line: str, words: str) -> None:
    """The complaint names what is wrong; nothing goes to standard output."""
    code = FILE_FAILED if words.startswith(MISSING) else BAD_INPUT
    answer = forebay(*line.split(), code=code)
    assert words in answer.complaint
    assert not answer.out


@pytest.mark.parametrize(
    ("at", "size", "code", "words"),
    [
        (100, 4096, 0x01, "not a multiple of the logical block"),
        (0, 0, 0x02, "the length is zero"),
        ("3TiB", 4096, 0x03, "past the namespace"),
        (2_000_398_934_016 - 512, 1024, 0x03, "past the namespace"),
        (2**64 - 512, 512, 0x03, "past the namespace"),
    ],
)
def test_the_streamer_refuses_in_words(
    forebay: Run, data: Callable[[int], Path], at: object, size: int, code: int, words: str
) -> None:
    """It is the RTL's own code that is reported, for writes and for reads."""
    lines = (
        ("io", *IDEAL, "--write", data(size), "--at", at),
        ("io", *IDEAL, "--read", "--length", size, "--at", at),
    )
    for line in lines:
        report = forebay(*line, "-o", "json", code=BAD_RESULT).report
        (transaction,) = report["transactions"]
        assert transaction["error_code"] == code
        assert words in transaction["error"]
        assert words in forebay(*line, code=BAD_RESULT).out


def test_a_namespace_that_is_not_there(forebay: Run) -> None:
    """The driver says which there are."""
    answer = forebay("io", *IDEAL, "--read", "--length", 1, "--namespace", 77, code=BAD_RESULT)
    assert "77 was asked for, active are [1]" in " ".join(answer.complaint.split())


def test_the_last_block_can_be_used(forebay: Run, data: Callable[[int], Path]) -> None:
    """Up to the very end, all is well."""
    forebay("io", *IDEAL, "--write", data(512), "--at", 2_000_398_934_016 - 512, "--read")


PINLESS = "module pinless (input wire clk, output wire y);\n  assign y = clk;\nendmodule\n"
ONE_PIN = "module onepin (input wire clk, input wire s_axis_wr_tvalid);\nendmodule\n"


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (PINLESS, (), "the pins"),
        (PINLESS, ("--top", "pinless"), "has no pin"),
        (ONE_PIN, (), "has no pin"),
        ("this is no Verilog\n", ("--top", "x"), "syntax error"),
        ("", ("--top", "x"), ""),
    ],
)
def test_rtl_without_the_pins(
    forebay: Run, tmp_path: Path, text: str, options: tuple[str, ...], words: str
) -> None:
    """RTL that is no streamer is refused, and it is said which pin is missing."""
    source = tmp_path / "other.v"
    source.write_text(text)
    answer = forebay("demo", "--limit", "4KiB", "--rtl", source, *options, code=BAD_INPUT)
    assert words in answer.complaint


def test_a_broken_profile(forebay: Run, tmp_path: Path, profile: Callable[..., Path]) -> None:
    """A profile that cannot be says which field is wrong."""
    path = profile(block_shift=10)
    assert "block_shift" in forebay("demo", "--profile", path, code=BAD_INPUT).complaint
    path.write_text("name = 7\n")
    assert "expected a string" in forebay("demo", "--profile", path, code=BAD_INPUT).complaint


def test_an_empty_file(forebay: Run, data: Callable[[int], Path]) -> None:
    """The demo has nothing to show with nothing."""
    assert "empty" in forebay("demo", "--file", data(0), code=BAD_INPUT).complaint
