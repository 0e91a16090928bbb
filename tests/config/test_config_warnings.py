"""The warnings about a configuration file: they name the place and the nearest known key, and are bounded."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.config.files import LoadedConfig, load_user_config
from foveal.daemon.config.settings import UserConfig
from foveal.daemon.core.system import System


def load_user(folder: Path, content: str) -> LoadedConfig[UserConfig]:
    (folder / "config.toml").write_text(content, encoding="utf-8")
    return load_user_config(str(folder / "config.toml"), System())


@pytest.mark.parametrize(
    ("content", "line", "warning"),
    [
        (
            "[context]\nmax_token = 5",
            2,
            "unknown key 'context.max_token' is ignored; did you mean context.max_tokens?",
        ),
        ("[contxt]\nmax_tokens = 5", 1, "unknown table 'contxt' is ignored; did you mean [context]?"),
        ("max_tokens = 5", 1, "unknown key 'max_tokens' is ignored; did you mean context.max_tokens?"),
        (
            "[scan]\nlog_levle = 5",
            2,
            "unknown key 'scan.log_levle' is ignored; did you mean daemon.log_level?",
        ),
        ("[zzz]\n", 1, "unknown table 'zzz' is ignored; docs/settings.md lists the known ones."),
        ('["\\u001b[31m"]\n', None, "unknown table '\\x1b[31m' is ignored"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(
    tmp_path: Path, content: str, line: int | None, warning: str
) -> None:
    loaded = load_user(tmp_path, content)
    assert loaded.config == UserConfig()
    assert len(loaded.warnings) == 1
    place = f"{tmp_path}/config.toml" + (f", line {line}" if line else "")
    assert loaded.warnings[0].startswith(f"{place}: {warning}")


def test_warnings_are_bounded(tmp_path: Path) -> None:
    loaded = load_user(tmp_path, "".join(f"key{number} = 1\n" for number in range(50_000)))
    assert len(loaded.warnings) == 21
    assert loaded.warnings[-1] == f"{tmp_path}/config.toml: 49980 more warnings."
