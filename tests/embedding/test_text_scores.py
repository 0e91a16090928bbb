"""Texts are compared by meaning, each embedded once and kept on the disk; nothing about the disk stops that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.embedding.lazy_model import LazyModel
from foveal.daemon.embedding.messages import DEFAULT_MODEL, ScoreTexts, TextScores
from foveal.daemon.embedding.model import Vectors
from foveal.daemon.embedding.text_scores import STORE_FILE, TextScorer

GENEROUS_S = 60.0
TEXTS = (
    "Take a screenshot of the page",
    "Write a commit message",
    "Durations are measured with a monotonic clock",
)


class Embedded:
    """Scorers with the real model; `texts` are the documents that it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.directionless: set[str] = set()
        self.model = LazyModel(DEFAULT_MODEL, "", System(), lambda event: None, lambda: None)
        model = self.model.get(GENEROUS_S)
        embed = model.embed

        def noted(texts: Sequence[str]) -> Vectors:
            self.texts += texts
            found = embed(texts)
            return found * 0 if self.directionless.intersection(texts) else found

        model.embed = noted  # type: ignore[method-assign] # what it is given is counted
        self._open: list[TextScorer] = []

    def scorer(self, folder: Path) -> TextScorer:
        self._open.append(TextScorer(str(folder), self.model, System()))
        return self._open[-1]

    def close(self) -> None:
        for scorer in self._open:
            scorer.close()


@pytest.fixture
def embedded() -> Iterator[Embedded]:
    one = Embedded()
    yield one
    one.close()


def ask(
    scorer: TextScorer, queries: Sequence[str], documents: Sequence[str] = TEXTS, within_s: float = GENEROUS_S
) -> TextScores:
    return scorer.answer(ScoreTexts(tuple(queries), tuple(documents), within_s))


def test_nothing_is_embedded_twice_not_even_by_another_process(embedded: Embedded, tmp_path: Path) -> None:
    first = embedded.scorer(tmp_path)
    before = ask(first, ["commit"])
    assert sorted(embedded.texts) == sorted(TEXTS)
    assert ask(first, ["commit"]) == before
    assert ask(embedded.scorer(tmp_path), ["commit"], [*TEXTS, "new"]).rows[0][:3] == before.rows[0]
    assert sorted(embedded.texts) == sorted([*TEXTS, "new"])


def test_missing_texts_are_named_when_time_is_up(embedded: Embedded, tmp_path: Path) -> None:
    scorer = embedded.scorer(tmp_path)
    ask(scorer, [], TEXTS[1:2])
    late = ask(scorer, [TEXTS[1]], within_s=-1)
    assert late.pending == (0, 2)
    assert late.rows[0][0] == late.rows[0][2] == 0
    assert late.rows[0][1] > 0.9
    assert ask(scorer, [TEXTS[1]]).pending == ()


def test_a_text_without_direction_scores_zero(embedded: Embedded, tmp_path: Path) -> None:
    embedded.directionless.add("blank")
    scorer = embedded.scorer(tmp_path)
    for _ in range(2):
        scores = ask(scorer, ["commit"], ["blank", *TEXTS])
        assert (scores.pending, scores.rows[0][0]) == ((), 0)
    assert embedded.texts.count("blank") == 1


def write_garbage(folder: Path) -> None:
    (folder / STORE_FILE).write_bytes(b"no database" * 1_000)


def damage_pages(folder: Path) -> None:
    data = bytearray((folder / STORE_FILE).read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    (folder / STORE_FILE).write_bytes(data)


@pytest.mark.parametrize("damage", [write_garbage, damage_pages])
def test_a_damaged_file_is_replaced(
    embedded: Embedded, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    first = embedded.scorer(tmp_path)
    expected = ask(first, ["commit"])
    first.close()
    damage(tmp_path)
    for _ in range(2):  # the damage is met, and then mended
        scorer = embedded.scorer(tmp_path)
        assert ask(scorer, ["commit"]) == expected
        assert ask(scorer, ["commit"], [*TEXTS, "more"]).pending == ()
        scorer.close()
    assert list(tmp_path.glob(f"{STORE_FILE}.damaged-*"))
    embedded.texts.clear()
    ask(embedded.scorer(tmp_path), [], ["more"])
    assert embedded.texts == []


def test_without_a_place_on_the_disk_it_answers_all_the_same(embedded: Embedded, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"in the way")
    scorer = embedded.scorer(tmp_path / "file")
    assert ask(scorer, ["commit"]).pending == ()
    assert ask(scorer, ["commit"]).pending == ()
    assert len(embedded.texts) == 3
