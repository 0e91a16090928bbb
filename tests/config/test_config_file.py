"""The two files: the user's sets every key, a project's only narrows what the user has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.config.files import LoadedConfig, load_project_config, load_user_config
from foveal.daemon.config.settings import (
    PrivacyConfig,
    ProjectConfig,
    ScanConfig,
    UserConfig,
    WeightsConfig,
)
from foveal.daemon.core.errors import ConfigError
from foveal.daemon.core.system import System
from foveal.daemon.rules.selection import RULE_PROFILES
from foveal.daemon.rules.service import resolve
from foveal.docs.configuration_tables import KeyDescription, describe


def load_user(folder: Path, content: str) -> LoadedConfig[UserConfig]:
    (folder / "config.toml").write_text(content, encoding="utf-8")
    return load_user_config(str(folder / "config.toml"), System())


def load_project(folder: Path, content: str, user: UserConfig | None = None) -> LoadedConfig[ProjectConfig]:
    (folder / "foveal.toml").write_text(content, encoding="utf-8")
    return load_project_config(str(folder), user or UserConfig(), System())


# --- The user's file ---


def test_a_missing_file_gives_the_defaults(tmp_path: Path) -> None:
    assert load_user_config(str(tmp_path / "none" / "config.toml"), System()) == LoadedConfig(UserConfig())
    assert load_project_config(str(tmp_path), UserConfig(), System()) == LoadedConfig(ProjectConfig())


# --- The project's file ---


def test_a_project_narrows(tmp_path: Path) -> None:
    user = replace(UserConfig(), scan=replace(ScanConfig(), exclude=("*.log",), skip_folders_extra=("a",)))
    loaded = load_project(
        tmp_path,
        "[scan]\nmax_file_bytes = 1000\nexclude = ['docs/', '*.log']\nskip_folders_extra = ['b']\n"
        "[context]\nmax_tokens = 4000\n[weights]\nhot = 0.9\n",
        user,
    )
    assert loaded.warnings == ()
    assert loaded.config.scan.max_file_bytes == 1000
    assert loaded.config.scan.exclude == ("*.log", "docs/")
    assert loaded.config.scan.skip_folders_extra == ("a", "b")
    assert loaded.config.context.max_tokens == 4000
    assert loaded.config.weights.hot == 0.9
    assert loaded.stamp is not None


@pytest.mark.parametrize("key", [key for key in describe() if "only smaller" in key.where])
def test_a_project_cannot_raise_a_limit(tmp_path: Path, key: KeyDescription) -> None:
    own = int(key.default)
    loaded = load_project(tmp_path, f"[{key.table}]\n{key.key} = {own + 1}")
    assert loaded.config == ProjectConfig()
    assert len(loaded.warnings) == 1
    assert f"line 2: {key.table}.{key.key} is {own + 1}, more than the {own} of" in loaded.warnings[0]
    assert load_project(tmp_path, f"[{key.table}]\n{key.key} = {own}").warnings == ()


@pytest.mark.parametrize("key", [key for key in describe() if key.where == "user"])
def test_project_cannot_set_keys_of_the_user(tmp_path: Path, key: KeyDescription) -> None:
    for value in (key.default, "[{}]"):
        loaded = load_project(tmp_path, f"[{key.table}]\n{key.key} = {value}")
        assert loaded.config == ProjectConfig()
        assert len(loaded.warnings) == 1
        assert f"line 2: {key.table}.{key.key} belongs into the user's own config.toml" in loaded.warnings[0]


@pytest.mark.parametrize("name", ["rule", "constraint"])
def test_project_cannot_lower_weights_of_user_and_caller(tmp_path: Path, name: str) -> None:
    """With a weight of 0 a cloned repository would have the caller's constraints dropped first."""
    for own in (WeightsConfig(), WeightsConfig(rule=0.7, constraint=0.6)):
        for value in (0, 0.0, 0.5, 1):
            loaded = load_project(
                tmp_path, f"[weights]\n{name} = {value}\nhot = 0.1\n", replace(UserConfig(), weights=own)
            )
            assert loaded.config.weights == replace(own, hot=0.1)
            assert len(loaded.warnings) == 1
            assert f"foveal.toml, line 2: weights.{name} belongs into the user's own" in loaded.warnings[0]
    assert load_user(tmp_path, f"[weights]\n{name} = 0.5\n").config.weights == replace(
        WeightsConfig(), **dict[str, Any]({name: 0.5})
    )


def test_a_project_cannot_bring_excluded_files_back(tmp_path: Path) -> None:
    user = replace(UserConfig(), scan=replace(ScanConfig(), exclude=("secrets/", "!secrets/public")))
    loaded = load_project(tmp_path, "[scan]\nexclude = ['!secrets/', ' !a', '\\!b', 'c']", user)
    assert loaded.config.scan.exclude == ("secrets/", "!secrets/public", "\\!b", "c")
    assert len(loaded.warnings) == 1
    assert "'!secrets/' would bring files back and is ignored" in loaded.warnings[0]


def test_a_smaller_budget_keeps_the_users_reserve_below_it(tmp_path: Path) -> None:
    loaded = load_project(tmp_path, "[context]\nmax_tokens = 400")
    assert loaded.config.context.max_tokens == 400
    assert loaded.config.context.reserve_tokens == 100


def test_a_wrong_value_in_a_project_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"foveal\.toml, line 2: context\.max_tokens must be an integer"):
        load_project(tmp_path, "[context]\nmax_tokens = '5'")


def test_a_projects_file_may_be_a_link_only_within_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "real.toml").write_text("[context]\nmax_tokens = 3500\n")
    (tmp_path / "outside.toml").write_text("[context]\nmax_tokens = 3000\n")
    (root / "foveal.toml").symlink_to("real.toml")
    assert load_project_config(str(root), UserConfig(), System()).config.context.max_tokens == 3500
    (root / "foveal.toml").unlink()
    (root / "foveal.toml").symlink_to("../outside.toml")
    with pytest.raises(ConfigError, match="leaves the project"):
        load_project_config(str(root), UserConfig(), System())


def test_how_items_are_chosen_is_merged_from_both_files(tmp_path: Path) -> None:
    own = '[selection]\npreset = "aggressive"\n[selection.agents.a]\nrules = "off"\n'
    (tmp_path / "config.toml").write_text(own, encoding="utf-8")
    user = load_user_config(str(tmp_path / "config.toml"), System())
    theirs = "[selection]\ntop_n = 3\n[selection.agents.a]\nrules = {top_n = 1}\n"
    (tmp_path / "foveal.toml").write_text(theirs, encoding="utf-8")
    loaded = load_project_config(str(tmp_path), user.config, System())
    assert (user.warnings, loaded.warnings) == ((), ())
    others = resolve(*loaded.config.selection.levels("other"))
    assert others.rules is not None
    assert (others.rules.top_n, others.rules.floor) == (3, RULE_PROFILES["aggressive"].floor)
    assert resolve(*loaded.config.selection.levels("a")).rules is None


@pytest.mark.parametrize(
    "text",
    [
        "selection = 5\n",
        '[selection]\npreset = "odd"\n',
        "[selection]\nagents = 5\n",
        "selection.agents.a = 5\n",
    ],
)
def test_a_selection_that_can_not_be_used(tmp_path: Path, text: str) -> None:
    (tmp_path / "foveal.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"foveal\.toml.*selection"):
        load_project_config(str(tmp_path), UserConfig(), System())


# --- What agents may not see ---


def test_tables_of_agents_of_both_files_add_up(tmp_path: Path) -> None:
    user = load_user(tmp_path, '[agents.intern]\ndeny_paths = ["a/**"]\n').config
    project = load_project(tmp_path, '[agents.intern]\nallow = true\ndeny_paths = ["b/**"]\n', user)
    assert project.warnings == ()
    found = project.config.agents.policy_for("intern")
    assert found.deny_paths == ("a/**", "b/**")
    assert load_project(tmp_path, "", user).config.agents.policy_for("intern").deny_paths == ("a/**",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[agents.intern]\ndeny_path = []\n", "line 1: agents.intern has the unknown key deny_path"),
        ("x = 1\n[agents.intern]\nallow = 0\n", "line 3: agents.intern.allow must be true or false"),
        ('[agents.intern]\ndeny_paths = ["!a"]\n', "agents.intern.deny_paths"),
        ("agents = 1\n", "agents must be a table"),
        ("agents.intern = 1\n", "agents.intern must be a table"),
    ],
)
def test_a_table_of_an_agent_that_cant_be_used_is_an_error(
    tmp_path: Path, content: str, message: str
) -> None:
    for load in (load_user, load_project):
        with pytest.raises(ConfigError, match=message):
            load(tmp_path, content)


def test_only_the_user_can_show_secrets(tmp_path: Path) -> None:
    content = '[privacy]\nshow_files = ["*.env"]\nmask_values = false\n'
    user = load_user(tmp_path, content).config
    assert user.privacy == PrivacyConfig(("*.env",), mask_values=False)
    project = load_project(tmp_path, content)
    assert project.config.privacy == PrivacyConfig()
    assert [warning.partition("privacy.")[2].split()[0] for warning in project.warnings] == [
        "show_files",
        "mask_values",
    ]
    with pytest.raises(ConfigError, match=r"privacy\.show_files can't be used"):
        load_user(tmp_path, '[privacy]\nshow_files = ["!a"]\n')


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ('endpoint = "127.0.0.1:9"\nmodel = "m"', "must be an http or https URL"),
        ('endpoint = "http://me:hunter22@127.0.0.1:9"\nmodel = "m"', "must hold no password"),
        ('endpoint = "http://127.0.0.1:9/v1"', "needs embedding.model"),
        ('endpoint_key = "hunter22"', "must say where it is"),
    ],
)
def test_an_endpoint_that_can_not_be_asked_is_an_error(tmp_path: Path, setting: str, problem: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"[embedding]\n{setting}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=problem) as error:
        load_user_config(str(path), System())
    assert f"{path}, line 2: " in str(error.value)
    assert "hunter22" not in str(error.value)
