"""A configuration that can't be used gives way to the last one that was in force, and says so."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from foveal.daemon.config.files import IN_FORCE, LoadedConfig, load_or_last, load_user_config
from foveal.daemon.config.settings import UserConfig
from foveal.daemon.core.errors import ConfigError
from foveal.daemon.core.system import System


class FullDisk(System):
    """A disk on which nothing can be written."""

    def write_atomic(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def load(folder: Path, system: System | None = None) -> tuple[LoadedConfig[UserConfig], str]:
    system = system or System()
    path, last = str(folder / "config.toml"), str(folder / "last.toml")
    return load_or_last(lambda place: load_user_config(place, system), path, last, system)


def test_last_valid_copy_is_used_and_the_bad_file_stays(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[context]\nmax_tokens = 5000\n")
    assert load(tmp_path)[1] == ""
    config.write_text("[context\n")
    loaded, problem = load(tmp_path)
    assert loaded.config.context.max_tokens == 5000
    assert loaded.stamp is None
    assert str(config) in problem
    assert problem.endswith(IN_FORCE)
    assert config.read_text() == "[context\n"
    config.write_text("[context]\nmax_tokens = 6000\n")
    assert load(tmp_path)[0].config.context.max_tokens == 6000


def test_invalid_file_without_a_copy_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[context\n")
    for last in ("", "[also bad"):
        if last:
            (tmp_path / "last.toml").write_text(last)
        with pytest.raises(ConfigError, match=r"config\.toml"):
            load(tmp_path)


def test_absent_file_counts_as_last_valid(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[context]\nmax_tokens = 5000\n")
    load(tmp_path)
    (tmp_path / "config.toml").unlink()
    load(tmp_path)
    (tmp_path / "config.toml").write_text("[context\n")
    assert load(tmp_path)[0].config == UserConfig()


def test_failed_copy_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[context]\nmax_tokens = 5000\n")
    assert load(tmp_path, FullDisk())[0].config.context.max_tokens == 5000
    assert not (tmp_path / "last.toml").exists()
