"""A sourced path means a file beside the script, above it, or where a variable's folder may be."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.records import Import

from tests.import_cases import check, resolver, tree

BASH = tree(
    "bin/run.sh",
    "bin/lib.sh",
    "lib/log.sh",
    "lib/common",
    "test/test_helper.bash",
    "test/unit/a.bats",
    "setup.sh",
)


@pytest.mark.parametrize(
    ("importer", "module", "expected"),
    [
        ("bin/run.sh", "./lib.sh", "bin/lib.sh"),
        ("bin/run.sh", "lib.sh", "bin/lib.sh"),
        ("bin/run.sh", "../lib/log.sh", "lib/log.sh"),
        ("bin/run.sh", "$DIR/log.sh", "lib/log.sh"),
        ("bin/run.sh", "${ROOT}/lib/log.sh", "lib/log.sh"),
        ("bin/run.sh", "$ROOT/lib/common", "lib/common"),
        ("bin/run.sh", "./setup.sh", "setup.sh"),
        ("bin/run.sh", "log.sh", None),
        ("test/unit/a.bats", "../test_helper", "test/test_helper.bash"),
        ("test/unit/a.bats", "test_helper", "test/test_helper.bash"),
        ("bin/run.sh", "/etc/profile", None),
        ("bin/run.sh", "~/.profile", None),
        ("bin/run.sh", "../../etc/profile.sh", None),
        ("bin/run.sh", "$DIR/../../../profile.sh", None),
        ("bin/run.sh", "$DIR/", None),
        ("bin/run.sh", "$A/$B/lib.sh", None),
        ("bin/run.sh", "", None),
    ],
)
def test_sources(importer: str, module: str, expected: str | None) -> None:
    check(BASH, importer, "bash", module, expected)


@pytest.mark.parametrize(
    ("module", "missing"),
    [
        ("./gone.sh", True),
        ("./GONE", False),
        ("gone.sh", False),
        ("$DIR/gone.sh", False),
        ("../../x.sh", False),
    ],
)
def test_what_is_certainly_missing(module: str, missing: bool) -> None:
    assert resolver(BASH).is_internal("bin/run.sh", "bash", Import(module, "", 1)) is missing
