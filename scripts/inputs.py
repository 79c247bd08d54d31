# SPDX-License-Identifier: Apache-2.0
"""What a file depends on, by what is written in it: tests that depend on nothing new need not run.

Too much rather than too little: each name of an RTL module in a test or a module counts, whether it
is used or not. What comes from outside the checkout is in `tools`.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import tomllib

# What the command line is made of, and what it reads.
MANIFESTS = (".cargo/config.toml", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml")
PROGRAM = (
    *MANIFESTS,
    "crates",
    "include",
    "pipelines",
    "profiles",
    "python",
    "rtl",
)
# Where `import` of a test looks, beside the test's own folder.
IMPORTS = ("python", "scripts", "tb", "tests/cli")
# A test that sets one of these is another test.
SETTINGS = (
    "COCOTB_RANDOM_SEED",
    "FOREBAY",
    "FOREBAY_CXXFLAGS",
    "FOREBAY_HOME",
    "RUSTFLAGS",
    "TESTCASE",
    "WAVES",
)
WITHOUT = {"__pycache__", "build", "target"}


class Inputs:
    """The dependencies of the files of a checkout.

    Parameters
    ----------
    root : Path
        The checkout.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules = {path.stem: path for path in root.glob("rtl/*/*.sv")}
        self.crates = {path.parent.name: path.parent for path in root.glob("crates/*/Cargo.toml")}
        self._references: dict[Path, set[Path]] = {}

    def below(self, names: Iterable[str | Path]) -> set[Path]:
        """Return these files, and all files in these folders, relative to the checkout."""
        found = set()
        for name in names:
            for folder, folders, files in os.walk(self.root / name):
                folders[:] = [one for one in folders if one not in WITHOUT]
                found |= {Path(folder, file) for file in files}
            if (self.root / name).is_file():
                found.add(self.root / name)
        return found

    def crate(self, name: str) -> set[Path]:
        """Return the files of a crate, and of all that it and its own tests depend on here."""
        found, waiting = set(), [self.crates[name]]
        while waiting:
            folder = waiting.pop()
            if folder in found:
                continue
            found.add(folder)
            manifest = tomllib.loads((folder / "Cargo.toml").read_text())
            # What the tests of another crate need is no part of it.
            tests = ["dev-dependencies"] if folder == self.crates[name] else []
            kinds = ["dependencies", "build-dependencies", *tests]
            names = (other for kind in kinds for other in manifest.get(kind, {}))
            waiting += [self.crates[other] for other in names if other in self.crates]
        named = {folder.name for folder in found}
        data = ["include", "pipelines", "profiles"]
        data += ["rtl", "python"] if {"forebay-rtl", "forebay"} & named else []
        data += ["rtl/boot"] if "forebay-seq" in named else []
        return self.below([*found, *MANIFESTS, *data])

    def program(self, path: Path) -> set[Path]:
        """Return what the command line is made of, as far as a file of tests runs it.

        That is all of it, unless this file, or the conftest.py beside it, names in `CRATES` the
        crates behind the commands that it runs.
        """
        for file in (path, path.with_name("conftest.py")):
            text = file.read_text() if file.exists() else ""
            if stated := re.search(r"^CRATES = (\(.*?\))$", text, flags=re.MULTILINE | re.DOTALL):
                crates = [self.crate(name) for name in ast.literal_eval(stated[1])]
                always = ("crates/forebay", "crates/forebay-app", "python", "rtl")
                return self.below(always).union(*crates)
        return self.below(PROGRAM)

    def closure(self, paths: Iterable[Path]) -> set[Path]:
        """Return these files and all that they refer to, directly or not."""
        found: set[Path] = set()
        waiting = list(paths)
        while waiting:
            path = waiting.pop()
            if path not in found:
                found.add(path)
                waiting += self.references(path)
        return found

    def of_test(self, path: Path) -> set[Path]:
        """Return what a file of tests depends on."""
        folders = [folder for folder in path.parents if folder.is_relative_to(self.root)]
        conftests = [folder / "conftest.py" for folder in folders]
        # A bench has sources and data of its own beside it.
        beside = self.below([path.parent]) if "tb" in path.parts else set()
        return self.closure([path, *beside, *(one for one in conftests if one.exists())])

    def references(self, path: Path) -> set[Path]:
        """Return the files that a file names."""
        if path not in self._references:
            self._references[path] = set(self._read(path))
        return self._references[path]

    def _read(self, path: Path) -> Iterator[Path]:
        if path.suffix not in {".f", ".py", ".sv"}:
            return
        text = path.read_text()
        if path.suffix == ".f":
            files = (self.root / word for word in re.sub(r"//.*", "", text).split())
            yield from (file for file in files if file.is_file())
            return
        if path.suffix == ".sv":
            text = re.sub(r"//.*", "", text)
        yield from (self.modules[n] for n in re.findall(r"\bfb_\w+", text) if n in self.modules)
        if path.suffix == ".sv":
            return
        nodes = list(ast.walk(ast.parse(text)))
        # `report["tests"]` is no folder.
        keys = {id(node.slice) for node in nodes if isinstance(node, ast.Subscript)}
        is_test = path.name.startswith("test_")
        for node in nodes:
            if isinstance(node, ast.Import):
                yield from self._imported(path, [name.name for name in node.names])
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [f"{node.module}.{name.name}" for name in node.names]
                yield from self._imported(path, [node.module, *names])
            elif isinstance(node, ast.ImportFrom):
                yield from path.parent.glob("*.py")
            elif isinstance(node, ast.Constant) and re.fullmatch(r"\w+\.vlt", str(node.value)):
                yield from (file for file in (path.with_name(node.value),) if file.is_file())
            elif isinstance(node, ast.Constant) and is_test and id(node) not in keys:
                yield from self._named(str(node.value))

    def _imported(self, path: Path, modules: list[str]) -> Iterator[Path]:
        for folder in (path.parent, *(self.root / name for name in IMPORTS)):
            for module in modules:
                place = folder.joinpath(*module.split("."))
                files = [place.with_suffix(".py"), place / "__init__.py"]
                yield from (file for file in files if file.is_file())

    def _named(self, text: str) -> Iterator[Path]:
        """Yield what a string in a test names: a file, a crate, a folder of the checkout."""
        if text in self.crates:
            yield from self.crate(text)
        elif re.fullmatch(r"\w[\w./-]{1,200}", text) and ".." not in text:
            path = self.root / text
            if path.is_file():
                yield path
            elif path.is_dir() and text.split("/")[0] not in WITHOUT:
                yield from self.below([text])


@cache
def tools() -> tuple[str, ...]:
    """Name the versions of all that is not in the checkout, and the settings of the run."""
    installed = (f"{d.name}=={d.version}" for d in importlib.metadata.distributions())
    programs = ("g++", "rustc", "qemu-system-x86_64", "tshark")
    return (
        platform.python_version(),
        platform.platform(),
        *sorted(installed),
        *(version(program) for program in programs),
        *(f"{name}={os.environ.get(name, '')}" for name in SETTINGS),
    )


def version(program: str) -> str:
    """Return the first line that a program says of its version, or that it is missing."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return f"{program} is missing"
    return next(iter(done.stdout.splitlines()), program)


def tracked(root: Path) -> list[str]:
    """List the files of a checkout: tracked, or new and not ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=root, text=True, capture_output=True, check=True)
    return [name for name in done.stdout.splitlines() if (root / name).is_file()]


def digest(root: Path, paths: Iterable[Path], facts: Iterable[str]) -> str:
    """Return a hash of the contents of these files and of these facts.

    Raises
    ------
    OSError
        If one cannot be read.
    """
    whole = hashlib.sha256()
    for fact in facts:
        whole.update(f"{fact}\n".encode())
    for path in sorted(paths):
        seen = path.stat()
        content = _content(path, seen.st_mtime_ns, seen.st_size)
        whole.update(f"{os.path.relpath(path, root)} {content}\n".encode())
    return whole.hexdigest()


@cache
def _content(path: Path, _modified: int, _size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
