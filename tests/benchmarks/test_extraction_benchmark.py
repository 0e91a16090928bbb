"""The labelled transcripts are read as they are documented, and the product meets its targets on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from foveal.benchmarks.transcripts.__main__ import (
    findings_in,
    is_met,
    is_met_unseen,
    is_worth_its_file,
)
from foveal.benchmarks.transcripts.filler import filler_lines
from foveal.benchmarks.transcripts.fit import MIN_WEIGHT, fitted
from foveal.benchmarks.transcripts.labelled import (
    OTHER_LANGUAGES,
    SETS,
    UNSEEN,
    read_set,
    transcript_lines,
)
from foveal.benchmarks.transcripts.matching import compare, figures
from foveal.daemon.transcripts.decision_score import WEIGHTS


def test_the_own_set_meets_the_targets() -> None:
    labelled = read_set(SETS["own"])
    assert len(labelled) >= 30
    assert sum(not one.labels for one in labelled) * 3 >= len(labelled)
    assert is_met(figures(compare(one, findings_in(one.path)) for one in labelled if one.is_english))


def test_sets_that_nothing_was_fitted_to_meet_the_targets() -> None:
    unseen = [one for name in UNSEEN for one in read_set(SETS[name])]
    assert len(unseen) >= 30
    assert is_met_unseen(figures(compare(one, findings_in(one.path)) for one in unseen))


def test_weights_are_those_of_the_fit() -> None:
    names = {name: weights for name, weights in fitted() if max(map(abs, weights)) >= MIN_WEIGHT}
    assert names.keys() == WEIGHTS.keys()
    for name, weights in names.items():
        assert weights == pytest.approx(WEIGHTS[name], rel=0.1, abs=0.01)


@pytest.mark.parametrize("language", sorted(OTHER_LANGUAGES))
def test_each_other_language_is_worth_its_file(language: str) -> None:
    spoken = [one for folder in SETS.values() for one in read_set(folder) if language in one.kinds]
    assert len(spoken) >= 3
    assert is_worth_its_file(figures(compare(one, findings_in(one.path)) for one in spoken))


@pytest.mark.parametrize(
    "before",
    [
        {"role": "user", "content": "x"},
        {"type": "user", "uuid": "u1", "sessionId": "s", "message": {"role": "user", "content": "x"}},
        {"timestamp": "t", "type": "response_item", "payload": {"type": "message"}},
    ],
)
def test_filler_holds_nothing(before: dict[str, object], tmp_path: Path) -> None:
    first = json.dumps(before) + "\n"
    lines = list(filler_lines(first, 200))
    assert lines == list(filler_lines(first, 200))
    path = tmp_path / "x.jsonl"
    path.write_text(f'{first}{{"filler": 50}}\n', "utf-8")
    assert len(list(transcript_lines(path))) > 50
    assert findings_in(path) == []
