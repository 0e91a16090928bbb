"""A configuration file as text: what can't be read is refused with its place, and nothing keeps it busy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from foveal.daemon.config.files import load_user_config
from foveal.daemon.config.source import (
    MAX_CONFIG_BYTES,
    ConfigSource,
    read_source,
)
from foveal.daemon.core.errors import ConfigError
from foveal.daemon.core.system import System


def read(folder: Path, content: bytes) -> ConfigSource:
    path = folder / "config.toml"
    path.write_bytes(content)
    source = read_source(str(path), System())
    assert source is not None
    return source


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"[context\nmax_tokens = 5",
            "is not valid TOML: Expected ']' at the end of a table declaration (at line 1",
        ),
        (b"[context]\n[context]\n", "is not valid TOML: Cannot declare"),
        (b"a = 1\na = 2\n", "is not valid TOML: Cannot overwrite a value"),
        (b"[scan]\nexclude = ['\xff']", "line 2: not UTF-8 (byte 0xff)"),
        (b"\xff\xfea\x00", "line 1: not UTF-8"),
        (b"a = \x00", "is not valid TOML"),
        (b"a = " + b"[" * 5_000, "nested too deeply"),
        (b"a = " + b"9" * 5_000, "is not valid TOML"),
        (b"#" * (MAX_CONFIG_BYTES + 1), "is larger than 1048576 bytes"),
        (b"\n" + b"a." * 20 + b"a = 1", "line 2: a key has more than eight parts"),
        (b'[ "a\\"." . ' + b"b." * 20 + b"a]", "line 1: a key has more than eight parts"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, content)
    assert str(caught.value).startswith(f"{tmp_path}/config.toml")
    assert message in str(caught.value)


def test_a_key_with_very_many_parts_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    """Each of these would keep tomllib, quadratic in a key's parts, busy for minutes to hours."""

    def check(content: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            read(tmp_path, content[:MAX_CONFIG_BYTES].encode())

    check("a." * 500_000 + "a=1", "line 1: a key has more than eight parts")
    check("[" + "a." * 250_000 + "a]\n" + "a.b=1\n" * 80_000, "line 1: a key has more than eight parts")
    check("\nx={" + "a." * 500_000 + "a=1}", "line 2: more than 1000 dots")


def test_anything_but_a_regular_file_is_refused(tmp_path: Path) -> None:
    def check(name: str, message: str) -> None:
        with pytest.raises(ConfigError) as caught:
            read_source(str(tmp_path / name), System())
        assert str(caught.value).startswith(str(tmp_path / name))
        assert message in str(caught.value)

    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("")
    check("folder", "is a folder")
    check("pipe", "not a regular file")
    check("dangling", "No such file")
    check("loop", "symbolic links")
    check("file/config.toml", "Not a directory")


def test_a_file_may_be_a_link_only_within_its_folder(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "real.toml").write_text("a = 1\n")
    (tmp_path / "outside.toml").write_text("a = 2\n")
    (tmp_path / "root2.toml").write_text("a = 3\n")
    path = root / "foveal.toml"

    def link(target: str) -> None:
        path.unlink(missing_ok=True)
        path.symlink_to(target)

    link("real.toml")
    source = read_source(str(path), System(), within=str(root))
    assert source is not None
    assert source.tables == {"a": 1}
    for target in ("../outside.toml", "../root2.toml", str(tmp_path / "outside.toml")):
        link(target)
        with pytest.raises(ConfigError, match="leaves the project"):
            read_source(str(path), System(), within=str(root))
        assert read_source(str(path), System()) is not None


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
