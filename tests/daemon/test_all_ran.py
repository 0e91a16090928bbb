"""A run in which a test failed ends otherwise than one in which tests never ran."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.all_ran import INCOMPLETE

REPOSITORY = Path(__file__).resolve().parents[2]

CONFTEST = "from tests import all_ran\ndef pytest_configure(config): config.pluginmanager.register(all_ran)\n"
PASSES = "def test_ok(): pass\n"
FAILS = "def test_bad(): assert 0\n"
DIES = "import os\ndef test_dies(): os._exit(9)\n"
NO_CASES = "import pytest\n@pytest.mark.parametrize('n', [])\ndef test_each(n): pass\n"
ONE_CANNOT = "import os\nif os.environ['PYTEST_XDIST_WORKER'] == 'gw0': raise ImportError\n" + PASSES


@pytest.mark.parametrize(
    ("second", "status"),
    [
        pytest.param(PASSES, 0, id="all pass"),
        pytest.param(FAILS, 1, id="one fails"),
        pytest.param("import nothing_like_this\n" + PASSES, INCOMPLETE, id="one module can't be imported"),
        pytest.param(ONE_CANNOT, INCOMPLETE, id="nor in one of the workers"),
        pytest.param(DIES, INCOMPLETE, id="a worker dies"),
        pytest.param(NO_CASES, INCOMPLETE, id="a list of cases is empty"),
    ],
)
def test_the_status_of_a_run(tmp_path: Path, second: str, status: int) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nempty_parameter_set_mark = {without_cases()}\n")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_a.py").write_text(PASSES)
    (tmp_path / "test_b.py").write_text(second)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n", "2", "--dist", "loadfile"],
        cwd=tmp_path,
        env={**environ, "PYTHONPATH": str(REPOSITORY), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr


def without_cases() -> str:
    """Return what becomes of a test without cases, as this project has it."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    return str(project["tool"]["pytest"]["ini_options"].get("empty_parameter_set_mark", "skip"))
