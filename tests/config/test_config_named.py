"""The sizes by model and the weights by type of task: read, checked, and only narrowed by a project."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.config.files import LoadedConfig, load_project_config, load_user_config
from foveal.daemon.config.settings import ContextConfig, ProjectConfig, UserConfig, WeightsConfig
from foveal.daemon.core.errors import ConfigError
from foveal.daemon.core.system import System


def load_user(folder: Path, content: str) -> LoadedConfig[UserConfig]:
    (folder / "config.toml").write_text(content, encoding="utf-8")
    return load_user_config(str(folder / "config.toml"), System())


def load_project(folder: Path, content: str, user: UserConfig | None = None) -> LoadedConfig[ProjectConfig]:
    (folder / "foveal.toml").write_text(content, encoding="utf-8")
    return load_project_config(str(folder), user or UserConfig(), System())


MODELS = '[context]\nmax_tokens = 9000\n[context.models]\n"claude-*" = 24000\n"*mini*" = 5000\n'


@pytest.mark.parametrize(
    ("model", "tokens"),
    [("", 9_000), ("claude-opus", 24_000), ("Claude-Mini", 24_000), ("gpt-MINI", 5_000), ("gpt", 9_000)],
)
def test_the_first_glob_that_matches_a_model_says_its_size(tmp_path: Path, model: str, tokens: int) -> None:
    loaded = load_user(tmp_path, MODELS)
    assert loaded.warnings == ()
    assert loaded.config.context.max_tokens_of(model) == tokens


def test_a_type_of_task_has_its_weights(tmp_path: Path) -> None:
    loaded = load_user(tmp_path, "[weights]\nhot = 0.3\n[weights.review]\nrule = 0.9\nskeleton = 0\n")
    assert loaded.warnings == ()
    weights = loaded.config.weights
    assert weights.of_task("") is not None
    assert (weights.rule, weights.of_task("debug").rule, weights.of_task("review").rule) == (1.0, 1.0, 0.9)
    assert (weights.of_task("review").skeleton, weights.of_task("review").hot) == (0.0, 0.3)
    assert isinstance(weights.of_task("review").skeleton, float)


def test_a_project_weighs_by_task_what_it_may_weigh(tmp_path: Path) -> None:
    user = load_user(tmp_path, "[weights.review]\nhot = 0.1\nskeleton = 0.2\n").config
    loaded = load_project(tmp_path, "[weights.review]\nhot = 0.9\nrule = 0.1\n", user)
    weights = loaded.config.weights.of_task("review")
    assert (weights.hot, weights.skeleton, weights.rule) == (0.9, 0.2, 1.0)
    assert len(loaded.warnings) == 1
    assert "line 3: weights.review.rule belongs into the user's own file" in loaded.warnings[0]


def test_unknown_weights_give_a_warning_with_the_nearest(tmp_path: Path) -> None:
    loaded = load_user(tmp_path, "[weights.review]\nhott = 0.1\n")
    assert "unknown key 'weights.review.hott' is ignored; did you mean weights.hot?" in loaded.warnings[0]
    assert loaded.config.weights.of_task("review") == WeightsConfig(tasks=(("review", ()),))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[context]\nmodels = 3\n", "context.models must be a table of models' names, but it is an integer"),
        ('[context.models]\n"a" = "b"\n', "context.models.a must be an integer from 1 to"),
        ('[context.models]\n"a" = 0\n', "context.models.a must be an integer from 1 to"),
        ('[context.models]\n"" = 5\n', "a table of printable names"),
        ('[context.models]\n"a\\tb" = 5\n', "a table of printable names"),
        ("[weights.review]\nhot = 2\n", "weights.review.hot must be a number from 0.0 to 1.0, but it is 2"),
        ("[weights.review]\nhot = 'x'\n", "weights.review.hot must be a number"),
        (
            "[context.models]\n" + "".join(f"m{number} = 5\n" for number in range(101)),
            "at most 100 names, but it is one of 101",
        ),
    ],
)
def test_wrong_value_is_an_error_with_the_expected_type(tmp_path: Path, content: str, said: str) -> None:
    for load in (load_user, load_project):
        with pytest.raises(ConfigError) as caught:
            load(tmp_path, content)
        assert said in str(caught.value)


def test_a_context_without_models_has_one_size() -> None:
    assert ContextConfig().max_tokens_of("anything") == ContextConfig().max_tokens
