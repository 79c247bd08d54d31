# SPDX-License-Identifier: Apache-2.0
"""Completion, manual pages, JSON Schemas: what shells, readers and editors want."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import tomllib
from driving import BAD_INPUT, FILE_FAILED, ROOT, Run


def commands(forebay: Run, *chain: str) -> list[tuple[str, ...]]:
    """List every command that the help names, with those below it."""
    text = forebay(*chain, "--help").out
    section = re.search(r"^Commands:\n((?:  .*\n|\n(?=  ))+)", text, re.M)
    names = re.findall(r"^  ([a-z]+)\b", section[1], re.M) if section else []
    found = []
    for name in names:
        if name != "help":
            found += [(*chain, name), *commands(forebay, *chain, name)]
    return found


def test_every_command_has_a_manual_page(forebay: Run, tmp_path: Path) -> None:
    """Pages of all commands, in a folder that is made."""
    answer = forebay("man", tmp_path / "new" / "man")
    assert "forebay.1" in answer.out
    pages = {path.name for path in (tmp_path / "new" / "man").iterdir()}
    all_commands = commands(forebay)
    assert ("store", "ls") in all_commands and ("vm", "serve", "ssd") in all_commands
    assert {"-".join(("forebay", *chain)) + ".1" for chain in all_commands} <= pages
    assert "\\-\\-backing" in (tmp_path / "new" / "man" / "forebay-io.1").read_text()
    forebay("man", "Cargo.toml", code=FILE_FAILED)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(forebay: Run, shell: str) -> None:
    """Scripts with every command in them; bash reads its own without complaint."""
    text = forebay("completion", shell).out
    for name in {chain[-1] for chain in commands(forebay)}:
        assert re.search(rf"\b{name}\b", text), name
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=text.encode(), check=True)


def test_no_such_shell(forebay: Run) -> None:
    """It is said which there are."""
    assert "fish" in forebay("completion", "cmd", code=BAD_INPUT).complaint


class Schema:
    """As much of JSON Schema as ours use."""

    def __init__(self, root: dict) -> None:
        self.root = root

    def wrong(self, value: object, schema: dict | bool, where: str = "") -> list[str]:
        """List what does not hold."""
        if isinstance(schema, bool):
            return [] if schema else [f"{where}: not allowed"]
        found = []
        if "$ref" in schema:
            found += self.wrong(value, self.root["$defs"][schema["$ref"].split("/")[-1]], where)
        for key in ("anyOf", "oneOf"):
            if key in schema and all(self.wrong(value, one, where) for one in schema[key]):
                found.append(f"{where}: {value!r} is none of what it may be")
        if "enum" in schema and value not in schema["enum"]:
            found.append(f"{where}: {value!r} is not in {schema['enum']}")
        if "const" in schema and value != schema["const"]:
            found.append(f"{where}: {value!r} is not {schema['const']!r}")
        if "type" in schema and not self.of_type(value, schema["type"]):
            return [*found, f"{where}: {value!r} is no {schema['type']}"]
        least, most = schema.get("minimum"), schema.get("maximum")
        if (least is not None and value < least) or (most is not None and value > most):
            found.append(f"{where}: {value!r} is too small or too large")
        if "pattern" in schema and not re.search(schema["pattern"], str(value)):
            found.append(f"{where}: {value!r} does not match")
        if isinstance(value, dict):
            known = schema.get("properties", {})
            found += [
                f"{where}: {key} is missing"
                for key in schema.get("required", [])
                if key not in value
            ]
            for key, each in value.items():
                rest = schema.get("additionalProperties", True)
                found += self.wrong(each, known.get(key, rest), f"{where}.{key}")
        if isinstance(value, list):
            for number, each in enumerate(value):
                found += self.wrong(each, schema.get("items", True), f"{where}[{number}]")
        return found

    @staticmethod
    def of_type(value: object, names: str | list[str]) -> bool:
        """Whether the value is of one of the types."""
        types = {
            "object": dict,
            "array": list,
            "string": str,
            "boolean": bool,
            "number": (int, float),
        }
        names = [names] if isinstance(names, str) else names
        for name in names:
            if name == "integer" and isinstance(value, int) and not isinstance(value, bool):
                return True
            if name in types and isinstance(value, types[name]):
                return True
        return value is None and "null" in names


@pytest.mark.parametrize(("of", "least"), [("pipeline", 4), ("profile", 6)])
def test_files_of_the_tree_are_as_the_schema_says(forebay: Run, of: str, least: int) -> None:
    """Each of them; and no other key is allowed."""
    root = forebay("schema", of).report
    schema = Schema(root)
    paths = sorted((ROOT / f"{of}s").glob("*.toml"))
    assert len(paths) >= least
    for path in paths:
        table = tomllib.loads(path.read_text())
        assert not schema.wrong(table, root, path.name)
        assert schema.wrong({**table, "colour": "red"}, root)


@pytest.mark.parametrize(
    "text",
    [
        '[sink]\nlayout = "tar"',
        '[sink]\nwait = "5"',
        '[sink]\nstride = "64 parsec"',
        "[sink]\nflush = 1",
        '[source]\npause = "now"',
        "[[pe]]\naddend = 7",
        "[[ssd]]\nsize = -1",
    ],
)
def test_the_schema_refuses_what_the_program_refuses(
    forebay: Run, tmp_path: Path, text: str
) -> None:
    """Both of them see that it cannot be."""
    root = forebay("schema", "pipeline").report
    assert Schema(root).wrong(tomllib.loads(text), root)
    (tmp_path / "x.toml").write_text(text)
    forebay("pipeline", "check", tmp_path / "x.toml", code=BAD_INPUT)
