"""What was of use weighs more, in few bounded steps, fades as other things are of use, and is kept."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from foveal.daemon.context.feedback import KEYS_MAX, LEVELS, SHOWN_MAX, Feedback
from foveal.daemon.core.system import System


@pytest.fixture
def feedback(tmp_path: Path) -> Feedback:
    return Feedback(str(tmp_path / "feedback.json"), System())


def test_use_raises_a_weight_step_by_step_and_no_further(feedback: Feedback) -> None:
    seen = []
    for _ in range(50):
        feedback.used(["src/a.py"])
        seen.append(feedback.boosts["src/a.py"])
    assert seen == sorted(seen)
    assert set(seen) == {boost for _, boost in LEVELS}
    assert max(seen) == 1.15


def test_what_was_of_use_fades_as_other_things_are(feedback: Feedback) -> None:
    for _ in range(5):
        feedback.used(["old.py"])
    for number in range(200):
        feedback.used([f"{number}.py"])
    assert "old.py" not in feedback.boosts
    assert "199.py" in feedback.boosts


def test_an_edit_counts_only_for_what_was_shown_and_once(feedback: Feedback) -> None:
    feedback.edited(["a.py"])
    assert not feedback.boosts
    feedback.shown(["a.py", "b.py"])
    for _ in range(10):
        feedback.edited(["a.py", "c.py"])
    assert dict(feedback.boosts) == {"a.py": 1.05}
    feedback.shown(["a.py"])
    feedback.edited(["a.py"])
    feedback.shown(["a.py"])
    feedback.edited(["a.py"])
    assert dict(feedback.boosts) == {"a.py": 1.10}


def test_the_generation_changes_with_a_boost_only(feedback: Feedback) -> None:
    feedback.used(["a.py"])
    before = feedback.generation
    feedback.used([])
    feedback.shown(["b.py"])
    assert feedback.generation == before
    feedback.used(["b.py"])
    assert feedback.generation > before
    frozen = feedback.boosts
    with pytest.raises(TypeError):
        frozen["a.py"] = 9.0  # type: ignore[index]  # that it can't be set is what is tested


def test_it_outlives_a_restart_and_can_be_forgotten(feedback: Feedback, tmp_path: Path) -> None:
    feedback.used(["a.py", "rule:style"])
    assert feedback.unsaved
    feedback.save()
    assert not feedback.unsaved
    again = Feedback(str(tmp_path / "feedback.json"), System())
    assert again.load() == ""
    assert again.boosts == feedback.boosts
    assert again.clear() == 2
    assert not again.boosts


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"version": 0, "uses": {}}',
        '{"version": 1, "uses": {"a": "b"}}',
        '{"version": 1, "uses": {"a": -1}}',
        "[" * 50_000,
    ],
)
def test_a_damaged_file_begins_anew_and_says_so(feedback: Feedback, tmp_path: Path, content: str) -> None:
    (tmp_path / "feedback.json").write_text(content)
    said = feedback.load()
    assert "starts empty" in said
    assert not feedback.boosts
    feedback.save()
    (kept,) = tmp_path.glob("feedback.json.damaged-*")
    assert kept.read_text() == content
    assert kept.name in said


def test_memory_is_bounded(feedback: Feedback) -> None:
    feedback.used([f"{number}" for number in range(3 * KEYS_MAX)])
    assert len(feedback.boosts) == KEYS_MAX
    feedback.shown(f"{number}.py" for number in range(3 * SHOWN_MAX))
    feedback.edited(["0.py"])
    assert "0.py" not in feedback.boosts


class Denying(System):
    """Has no descriptors left while it is told so."""

    denied = False

    def read(self, path: str, limit: int | None = None) -> tuple[bytes, os.stat_result]:
        if self.denied:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)
        return super().read(path, limit)


def test_a_file_that_was_denied_once_is_not_written_over(tmp_path: Path) -> None:
    path, system = str(tmp_path / "feedback.json"), Denying()
    before = Feedback(path, system)
    before.used(["a.py"])
    before.save()
    feedback = Feedback(path, system)
    system.denied = True
    assert "Too many open files" in feedback.load()
    feedback.used(["b.py"])
    with pytest.raises(OSError, match="Too many open files"):
        feedback.save()
    system.denied = False
    feedback.save()
    assert feedback.boosts.keys() == {"a.py", "b.py"}
    again = Feedback(path, system)
    assert again.load() == ""
    assert again.boosts.keys() == {"a.py", "b.py"}
