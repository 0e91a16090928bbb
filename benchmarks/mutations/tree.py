"""A copy of the source tree with its own interpreter, in which files are changed and tests run."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .mutation import Mutation

TEST_S = 120
"""Maximum seconds of one test: a mutation may make it wait for ever."""

DEADLINE_S = 1_200
"""Maximum seconds of one run of tests, reached only if the limit of a test fails."""

MEMORY_BYTES = 4 << 30
"""Maximum bytes that each process of the tests may allocate: a mutation may take away a limit."""

PASSED, FAILED = 0, 1
"""Exit statuses of pytest: all tests passed; all ran, and some failed."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of tests: pytest's exit status, the first test that failed, and the output."""

    status: int
    red: str
    output: str


class Tree:
    """Copies what git knows of a tree, or would add, into an empty folder.

    The copy has an environment of its own with the installed packages, in which `foveal` is the copy, also
    in child processes that ignore the environment.
    """

    def __init__(self, source: Path, folder: Path) -> None:
        self.root = folder / "tree"
        self._writes = 0
        listed = subprocess.run(
            ["git", "-C", str(source), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        for name in listed.stdout.split("\0"):
            if name and os.path.lexists(source / name):
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / name, self.root / name, follow_symlinks=False)
        self._python = self._make_environment()
        found = subprocess.run(
            [self._python, "-I", "-c", "import foveal; print(foveal.__file__)"],
            check=True, capture_output=True, text=True, cwd=folder,
        )  # fmt: skip
        assert Path(found.stdout.strip()).resolve() == (self.root / "__init__.py").resolve(), found.stdout

    @contextmanager
    def mutated(self, mutation: Mutation) -> Iterator[None]:
        """Give the tree one change, and take it back. Raises `ValueError` if the row is stale."""
        path = self.root / mutation.file
        former = path.read_bytes()
        try:
            mutation.apply(self.root)
            self._date(path)
            yield
        finally:
            path.write_bytes(former)
            self._date(path)

    def run(self, tests: tuple[str, ...]) -> Run:
        """Run tests up to the first failure."""
        environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("FOVEAL_", "PYTEST_", "PYTHONPATH", "VIRTUAL_ENV"))
        }
        options = ["-x", "-q", "-rf", "--tb=short", "--no-header", "-p", "no:cacheprovider"]
        options.append(f"--timeout={TEST_S}")
        with subprocess.Popen(
            [self._python, "-m", "pytest", *options, *tests],
            cwd=self.root, env=environ, start_new_session=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            # Data, not address space: JavaScript and SQLite reserve more of that than they use.
            if sys.platform == "linux":  # no other system can limit another process
                resource.prlimit(process.pid, resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
            try:
                output, _ = process.communicate(timeout=DEADLINE_S)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        failed = re.search(r"^FAILED (.+?)(?: - |$)", output, re.MULTILINE)
        return Run(process.returncode, failed[1] if failed else "", output)

    def _make_environment(self) -> str:
        folder = self.root / ".venv"
        venv.create(folder, symlinks=True, with_pip=False)
        # Only paths: the file by which the installed packages name the source tree isn't read.
        packages = sysconfig.get_path("purelib", vars={"base": str(folder)})
        Path(packages, "tree.pth").write_text(f"{self.root}/.src\n{sysconfig.get_path('purelib')}\n")
        python = str(folder / "bin" / "python")
        script = Path(sys.executable).parent / "foveal"
        if script.exists():
            first, _, rest = script.read_text().partition("\n")
            copied = folder / "bin" / "foveal"
            copied.write_text(f"#!{python}\n{rest}" if first.startswith("#!") else f"{first}\n{rest}")
            copied.chmod(0o755)
        return python

    def _date(self, path: Path) -> None:
        """Give a file a date of its own: Python takes compiled code for current if date and size are."""
        self._writes += 1
        os.utime(path, (path.stat().st_mtime + 2 * self._writes,) * 2)
