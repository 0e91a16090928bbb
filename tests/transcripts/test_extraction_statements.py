"""A sentence is a decision by what it says: not where it is doubt, advice, routine or the words of others."""

from __future__ import annotations

import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from foveal.daemon.transcripts import cues
from foveal.daemon.transcripts.decision_score import LEAST, probability_of
from foveal.daemon.transcripts.sentences import Voice
from foveal.daemon.transcripts.statements import Statement, statements_in

DONE = {"report": {"source was edited"}, "narration": {"edited next"}, "user": set[str]()}
"""What happened around the words."""


def likely(text: str, voice: Voice = "report") -> list[Statement]:
    """Return what a text decides, the most probable statement of each sentence."""
    found: dict[frozenset[int], tuple[float, Statement]] = {}
    for statement in statements_in(text, voice):
        probability = probability_of(statement.kind, statement.features | DONE[voice])
        first = min(statement.places)
        if probability >= max(LEAST, found.get(frozenset({first}), (0.0, statement))[0]):
            found[frozenset({first})] = probability, statement
    return [statement for _, statement in found.values()]


@pytest.mark.parametrize(
    "text",
    [
        "I opted for a hand-written parser because the generated one needs a runtime.",
        "The culprit was a stale lockfile, which is why the job hung.",
        "Rejected: storing the blob in Postgres (backups would double).",
        "I made the cache per-request instead of global, because requests may run under different tenants.",
        "Die Wahl fiel auf Argon2, weil bcrypt nach 72 Bytes abschneidet.",
        "J'ai préféré une table séparée plutôt qu'une colonne JSON, car il faut indexer les valeurs.",
        "Elegí UUIDv7 en lugar de UUIDv4 porque el índice crece de forma ordenada.",
        "最终选择了部分索引而不是物化视图\uff0c因为活跃行很少。",
        "マテリアライズドビューではなく部分インデックスを採用しました。",
    ],
)
def test_statement_of_a_choice_or_cause_is_likely(text: str) -> None:
    assert likely(text)


@pytest.mark.parametrize(
    "text",
    [
        # doubt, condition, future
        "I'm not sure whether the cache or the DB is the culprit.",
        "The most likely cause is a stale cache.",
        "Had I chosen Redis instead of memory, this would have been simpler.",
        "In the future we might move from REST to gRPC.",
        "Falls wir Redis statt Memcached nehmen, brauchen wir einen Server.",
        "Si usáramos cursores en lugar de offsets, sería más rápido.",
        "如果使用游标而不是偏移量\uff0c会更快。",
        # the words of others
        "The documentation recommends using X instead of Y because it is faster.",
        "ADR-7 records that the team picked Kafka over RabbitMQ because of replay.",
        "Selon la documentation, l'équipe a choisi Kafka car il est plus rapide.",
        'The log says "we decided to use X instead of Y because of Z" now.',
        "> We decided to use X instead of Y because of Z.",
        "```\nwe decided to use X instead of Y because of Z\n```",
        # advice, questions, routine
        "I would go with option B instead of A because it is simpler.",
        "Would you prefer that I use tabs instead of spaces?",
        "Du könntest stattdessen Redis verwenden, weil es schneller ist.",
        "I ran only the unit tests because the others need a database.",
        "Renamed the variable because the linter complained about shadowing.",
        "I added a new endpoint and updated the docs.",
    ],
)
def test_doubt_advice_routine_and_quotations_are_not_likely(text: str) -> None:
    assert not likely(text)


@pytest.mark.parametrize(
    ("text", "decides"),
    [
        ("House rule: no ORM in the hot path.", True),
        ("We don't support Windows in this repo, that was settled years ago.", True),
        ("Nous avons décidé en équipe de ne plus utiliser jQuery.", True),
        ("Please use tabs instead of spaces.", False),
        ("We haven't decided yet.", False),
        ("If we decide to drop Python 3.9, tell me.", False),
    ],
)
def test_standing_decisions_of_users(text: str, *, decides: bool) -> None:
    assert [one.kind for one in statements_in(text, "user")] == ["standing"] * decides


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "I chose SQLite over Postgres because there is no server.",
            ("choice", "I chose SQLite over Postgres", "There is no server."),
        ),
        (
            "I went with a ring buffer instead of a growing list of lines. The reason is that the log never shrinks.",
            (
                "choice",
                "I went with a ring buffer instead of a growing list of lines.",
                "The reason is that the log never shrinks.",
            ),
        ),
        ("I decided against it because it is slow.", None),
        (
            "A global lock was the other idea. I decided against it because readers would wait.",
            (
                "choice",
                "A global lock was the other idea. I decided against it",
                "Readers would wait.",
            ),
        ),
    ],
)
def test_reason_is_split_from_the_decision(text: str, expected: tuple[str, str, str] | None) -> None:
    found = [(one.kind, one.decision, one.rationale) for one in likely(text)]
    assert found == ([expected] if expected else [])


def test_headings_and_labels_name_sections() -> None:
    text = """
## Key decisions
- Each entry has a TTL of its own instead of a global one. Prices expire sooner than stock.
- Should this be configurable?

## Root cause
The leak was caused by the watcher, whose buffer was too small.

## Next steps
- I chose Redis instead of memory because it is shared.

## Considered
**Rejected:** a second process (it doubles the memory).
"""
    assert [(one.kind, one.decision) for one in likely(text)] == [
        ("choice", "Each entry has a TTL of its own instead of a global one."),
        ("cause", "The leak was caused by the watcher, whose buffer was too small."),
        ("attempt", "A second process (it doubles the memory)."),
    ]


def test_wheel_holds_language_files(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=Path(__file__).parents[2],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as held:
        names = {Path(name) for name in held.namelist()}
    folder = Path("foveal/daemon/transcripts/languages")
    assert {path.stem for path in names if path.parent == folder} == set(cues.languages())


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("", "english"),
        ("Die Wahl fiel auf Argon2.", "german"),
        ("L'erreur venait d'un fuseau horaire ignoré.", "french"),
        ("El error se debía a que la zona horaria se ignoraba.", "spanish"),
        ("问题的原因是连接从未关闭。", "chinese"),
        ("原因はコネクションが閉じられていないことでした。", "japanese"),
    ],
)
def test_language_is_the_one_with_most_frequent_words(text: str, language: str) -> None:
    assert cues.cues_for(text) is cues.languages()[language]


@pytest.mark.parametrize(
    "text",
    [
        *("i tried " * 10_000, "because " * 12_000, "`" * 50_000, "**a" * 22_000, "/a.b" * 22_000),
    ],
)
def test_hostile_text_is_fast(text: str) -> None:
    began = time.process_time()
    assert len(list(statements_in(text, "report"))) < 800
    assert time.process_time() - began < 3  # 0.3 s at most; a pattern that backtracks takes minutes
