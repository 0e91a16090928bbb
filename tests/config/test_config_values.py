"""A value of the configuration: a wrong one is refused with its place and what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.config.files import load_user_config
from foveal.daemon.config.settings import KEYS
from foveal.daemon.config.source import ConfigSource
from foveal.daemon.config.values import Setting, checked, quoted, type_of
from foveal.daemon.core.errors import ConfigError
from foveal.daemon.core.system import Stamp, System


@pytest.mark.parametrize(
    ("content", "line", "key", "expected", "found"),
    [
        ("[context]\nmax_tokens = 'many'", 2, "context.max_tokens", "an integer from 1 to", "a string"),
        ("[context]\n\nmax_tokens = true", 3, "context.max_tokens", "an integer", "a boolean"),
        ("[context]\nmax_tokens = 1.5", 2, "context.max_tokens", "an integer", "a number"),
        ("[context]\nmax_tokens = -1", 2, "context.max_tokens", "from 1 to 10000000 (tokens)", "-1"),
        ("context.max_tokens = 0", 1, "context.max_tokens", "from 1 to", "0"),
        (f"[context]\nmax_tokens = 0x{'f' * 9000}", 2, "context.max_tokens", "from 1 to", "a giant integer"),
        ("[weights]\nhot = nan", 2, "weights.hot", "a number from 0.0 to 1.0", "nan"),
        ("[weights]\nhot = inf", 2, "weights.hot", "a number from 0.0 to 1.0", "inf"),
        ("[weights]\nhot = 1.01", 2, "weights.hot", "a number from 0.0 to 1.0", "1.01"),
        ("[weights]\nhot = false", 2, "weights.hot", "a number", "a boolean"),
        ("[daemon]\nlog_level = 'loud'", 2, "daemon.log_level", "one of debug, info, warning", "'loud'"),
        ("[daemon]\nlog_level = 2024-01-01", 2, "daemon.log_level", "a string", "a date or a time"),
        ("[embedding]\nenabled = 1", 2, "embedding.enabled", "a boolean, true or false", "an integer"),
        ('[embedding]\nmodel = "a\\u0007"', 2, "embedding.model", "printable", "a"),
        ("[embedding]\nmodel = false", 2, "embedding.model", "a string", "a boolean"),
        ("[scan]\nexclude = '*.js'", 2, "scan.exclude", "a list of strings", "a string"),
        ("[scan]\nexclude = ['*.js', 5]", 2, "scan.exclude", "a list of strings", "an integer in it"),
        ("[scan]\nexclude = ['']", 2, "scan.exclude", "1 to 1000 printable characters", "['']"),
        ('[scan]\nexclude = ["a\\u0000b"]', 2, "scan.exclude", "printable", "x00"),
        ("[scan]\nskip_folders_extra = ['a/b']", 2, "scan.skip_folders_extra", "without a slash", "['a/b']"),
        ("[scan]\nskip_folders_extra = ['..']", 2, "scan.skip_folders_extra", "without a slash", "['..']"),
        ("[scan.exclude]\na = 1", 1, "scan.exclude", "a list of strings", "a table"),
        ("context = 5", 1, "context", "a table", "an integer"),
        ("[[context]]\nmax_tokens = 5", 1, "context", "a table", "a list with a table in it"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(
    tmp_path: Path, content: str, line: int, key: str, expected: str, found: str
) -> None:
    (tmp_path / "config.toml").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_user_config(str(tmp_path / "config.toml"), System())
    message = str(caught.value)
    assert message.startswith(f"{tmp_path}/config.toml, line {line}: {key} must be ")
    assert expected in message.partition(", but it is ")[0]
    assert found in message.partition(", but it is ")[2]


def test_a_value_comes_in_the_type_of_its_field() -> None:
    source = ConfigSource("/config.toml", "", {}, Stamp(0, 0, 0, 0))

    def check(table: str, name: str, value: object, expected: object) -> None:
        found = checked(Setting(table, name, KEYS[table][name], value), source)
        assert (found, type(found)) == (expected, type(expected))

    check("weights", "hot", 1, 1.0)
    check("weights", "hot", 0.25, 0.25)
    check("context", "max_tokens", 1, 1)
    check("context", "max_tokens", 10_000_000, 10_000_000)
    check("daemon", "log_level", "debug", "debug")
    check("scan", "exclude", ["a", "b", "a"], ("a", "b"))
    check("scan", "exclude", ["x" * 1_000] * 1_000, ("x" * 1_000,))
    check("scan", "exclude", [], ())
    with pytest.raises(ConfigError, match=r"scan\.exclude must be a list of strings, at most 1000 patterns"):
        check("scan", "exclude", ["a"] * 1_001, ())
    with pytest.raises(ConfigError, match="1 to 1000 printable"):
        check("scan", "exclude", ["x" * 1_001], ())


def test_what_a_person_is_shown_of_a_value() -> None:
    assert quoted("\x1b[31m\n") == "'\\x1b[31m\\n'"
    assert quoted(-1) == "-1"
    assert quoted(1 << 100_000) == "a giant integer"
    assert len(quoted("x" * 100)) == 60
    assert quoted("x" * 100).endswith("x...")
    values: tuple[object, ...] = (True, 1, 1.5, "", {}, [], ["a"], ["a", 5])
    assert [type_of(value) for value in values] == [
        "a boolean",
        "an integer",
        "a number",
        "a string",
        "a table",
        "a list",
        "a list",
        "a list with an integer in it",
    ]
