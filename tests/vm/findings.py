# SPDX-License-Identifier: Apache-2.0
"""What the host finds after the guest suite: in the steps' reports and the drives' raw images.

Each function takes the folder with the images and `share`, returns what was seen as a sentence, and
raises `Wrong` where something is not as it must be.
"""

from __future__ import annotations

import json
from pathlib import Path

from places import (
    BAD_READ_LBA,
    BAD_WRITE_LBA,
    DEPTHS,
    FAILING,
    LARGE_BLOCKS,
    MEMORIES,
    MIB,
    PART,
    PEERS,
    SMALL_BLOCKS,
    STREAM,
    TRANSACTION,
    TRAPPED,
    Amounts,
    again_at,
)


class Wrong(Exception):
    """Says what is not as it must be."""


def require(good: bool, wrong: str) -> None:
    """Raise `Wrong` unless this is good."""
    if not good:
        raise Wrong(wrong)


def size(count: int) -> str:
    """Return a number of bytes with a unit."""
    return f"{count / MIB:.1f} MiB" if count >= MIB else f"{count / 1024:.1f} KiB"


def content(folder: Path, name: str) -> bytes:
    """Return the bytes of a file that a step has left in its share."""
    try:
        return (folder / "share" / name).read_bytes()
    except OSError as error:
        raise Wrong(f"{name}: {error.strerror}") from error


def read(folder: Path, name: str) -> dict:
    """Return a step's report."""
    try:
        return json.loads(content(folder, name))
    except ValueError as error:
        raise Wrong(f"{name}: {error}") from error


def stored(folder: Path, image: str, at: int, count: int) -> bytes:
    """Return bytes of a raw image; fewer where it ends."""
    with (folder / image).open("rb") as file:
        file.seek(at)
        return file.read(count)


def same(folder: Path, name: str, file: str, image: str, at: int) -> int:
    """Require that a report says that nothing differs, and that the image holds the file.

    Returns
    -------
    int
        Bytes of the file.
    """
    differ = read(folder, name)["differ_bytes"]
    require(differ == 0, f"{name}: {differ} bytes differ")
    sent = content(folder, file)
    there = stored(folder, image, at, len(sent))
    if there != sent:
        wrong = sum(a != b for a, b in zip(sent, there, strict=False)) + len(sent) - len(there)
        raise Wrong(f"{name}: {wrong} bytes of the raw image differ")
    return len(sent)


def moved(folder: Path, reports: list[str], file: str, at: int) -> str:
    """Require that each of these runs has moved the file, to places one behind the other."""
    seen = []
    for report in reports:
        count = same(folder, report, file, SMALL_BLOCKS, at)
        seen.append(size(count))
        at += count
    return f"{' and '.join(seen)}, 0 bytes differ, the image is the file"


def peers(folder: Path, _: Amounts) -> str:
    """`doctor` says that the same bytes came, both ways."""
    for card in PEERS:
        check = read(folder, f"peers-{card}.json")["check"]
        for way in ("drive_to_peer", "peer_to_drive"):
            require(check[way] is True, f"{card}, {way}: {check[way]}")
    return f"{len(PEERS)} cards: same bytes, both ways"


def stream(folder: Path, _: Amounts) -> str:
    """The file is in the image, and came back."""
    return moved(folder, ["stream.json"], STREAM, 0)


def memory(index: int, folder: Path, amounts: Amounts) -> str:
    """The same of the card whose payload is in `MEMORIES[index]`."""
    report = f"{MEMORIES[index]}.json"
    return moved(folder, [report], "memory.bin", amounts.memory_at(index))


def trapped(folder: Path, amounts: Amounts) -> str:
    """The same of the cards of which every access is trapped."""
    reports = [f"{name}.json" for name in TRAPPED]
    return moved(folder, reports, "trapped.bin", amounts.trapped_at)


def formats(folder: Path, amounts: Amounts) -> str:
    """Each run, with its block size and greatest command, wrote and read the right bytes."""
    for namespace, image, wanted in ((1, SMALL_BLOCKS, 512), (2, LARGE_BLOCKS, 4096)):
        for index, transfer in enumerate(amounts.transfers):
            name = f"formats-{namespace}-{transfer}.json"
            same(folder, name, "part.bin", image, amounts.formats_at + index * PART)
            block = read(folder, name)["block_bytes"]
            require(block == wanted, f"{name}: blocks of {block} bytes, not {wanted}")
    same(folder, "formats-mdts.json", "part.bin", FAILING, 2 * MIB)
    runs = 2 * len(amounts.transfers) + 1
    return f"{runs} runs, 0 bytes differ; the smallest MDTS there is is 8 KiB"


def wraps(folder: Path, amounts: Amounts) -> str:
    """Queues went round often enough, by the streamer's own counters."""
    seen = []
    for depth in DEPTHS:
        differ = read(folder, f"wraps-{depth}.json")["differ_bytes"]
        require(differ == 0, f"depth {depth}: {differ} bytes differ")
        inspection = read(folder, f"wraps-{depth}.inspect")
        counters = {counter["name"]: counter["value"] for counter in inspection["counters"]}
        rounds = (counters["write_commands"] + counters["read_commands"]) // depth
        require(rounds >= amounts.wraps, f"a queue of {depth} has gone round {rounds} times only")
        seen.append(f"{depth}: {rounds:,}")
    return f"times round: {', '.join(seen)}; 0 bytes differ"


def errors(folder: Path, _: Amounts) -> str:
    """Only the transaction with the bad block failed, with the status of the medium."""
    causes = []
    for name, bad, status in (
        ("errors-write.json", BAD_WRITE_LBA * 512, "(type 2, code 0x80)"),
        ("errors-read.json", BAD_READ_LBA * 512, "(type 2, code 0x81)"),
    ):
        report = read(folder, name)
        for transaction in report["transactions"]:
            at, error = transaction["address"], transaction["error"]
            hit = at <= bad < at + TRANSACTION
            require(
                hit == isinstance(error, str),
                f"{name}: the transaction at {at:#x} ended with {error}",
            )
        count = len(report["transactions"])
        require(count == PART // TRANSACTION, f"{name}: {count} transactions only")
        cause = report["error_cause"] or "no cause"
        require(status in cause, f"{name}: the cause lacks {status}: {cause}")
        causes.append(cause)
    # What was acknowledged beside it is stored.
    sent, there = content(folder, "part.bin"), stored(folder, FAILING, 0, PART)
    bad = BAD_WRITE_LBA * 512 // TRANSACTION * TRANSACTION
    behind = bad + TRANSACTION
    require(
        sent[:bad] == there[:bad] and sent[behind:] == there[behind:],
        "bytes beside the bad block differ in the image",
    )
    return "; ".join(causes)


def recorder(folder: Path, _: Amounts) -> str:
    """The streamer's and the drive's side of the queues, as text and as JSON."""
    report = read(folder, "recorder.json")
    host, registers = report["flight"]["host"], report["flight"]["drive"]["registers"]
    submitted, events = host["submitted"], len(report["trace"])
    require(
        bool(submitted and events and registers["ready"]),
        f"streamer: {submitted} commands, {events} events; drive: {registers}",
    )
    verdict = report["flight"]["diagnosis"]["text"]
    text = content(folder, "recorder.txt").decode()
    require(bool(verdict) and verdict in text, f"the text lacks the verdict {verdict!r}")
    return f"{submitted} commands, the last {events} events, the drive's registers: {verdict}"


def recovered(name: str, place: int, folder: Path) -> str:
    """What was acknowledged before the drive broke is in the image, and no byte is elsewhere."""
    report = read(folder, f"{name}.json")
    # What was done to it, as the streamer's queue and the program saw it.
    diagnosis = report.get("diagnosis") or {}
    verdict = diagnosis.get("text", "no verdict")
    if name == "reset":
        cause = diagnosis.get("verdict") == "drive-not-ready"
    else:
        cause = "wants 0000:01:00.0 back" in content(folder, f"{name}.log").decode()
    require(cause, f"it failed for another reason: {verdict}")
    same(folder, f"{name}-again.json", "part.bin", LARGE_BLOCKS, again_at(place))
    sent = content(folder, "load.bin")
    there = stored(folder, LARGE_BLOCKS, place, len(sent) + MIB)
    acknowledged = 0
    for transaction in report["transactions"]:
        if transaction["error"] is not None:
            continue
        acknowledged += 1
        at = transaction["address"] - place
        expected = sent[at : at + TRANSACTION]
        require(
            bool(expected) and there[at : at + len(expected)] == expected,
            f"what was acknowledged at {at:#x} is not in the image",
        )
    all_of_them = len(sent) // TRANSACTION
    of_all = f"{acknowledged} of {all_of_them} transactions"
    require(0 < acknowledged < all_of_them, f"{of_all} were acknowledged before it")
    stray = sum(byte != 0 for byte in there[len(sent) :])
    require(stray == 0, f"{stray} stray bytes behind the file's place")
    return (
        f"{of_all} acknowledged, all of these in the image; no stray byte; "
        f"the streamer's queue: {verdict}; then it worked again"
    )
