"""Chooses the experiences for a scope: how near each is and why, and which ones say the same."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import log1p
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from .experience import Experience
from .pool_records import words_of

THRESHOLD = 0.75
"""Minimum share of common words of two decisions that say the same. Of 30 pairs of decisions that say the
same in other words and 40 that differ in a word or a number (`tests/memory/decision_pairs.py`, on which it
was chosen) it folds 29 and 0; 0.7 folds two of the 40, 0.8 only 28 of the 30. One word of five or six that
differs leaves 0.67 to 0.71."""

DECISION_CHARACTERS = 2_000
"""Maximum characters of a decision that are compared, as many as a context shows."""


class _Gist(Struct, frozen=True):
    """The features by which two decisions are compared; `marks` must be equal: the numbers, whether it is
    negated, and whether it failed, so that no failure hides behind a success."""

    words: frozenset[str]
    names: tuple[str, ...]
    marks: tuple[tuple[str, ...], bool, bool]

    def says(self, other: _Gist) -> bool:
        """Whether it says nearly the same: of common names the order counts too."""
        names, others = (
            [name for name in one.names if name in both]
            for one, both in ((self, other.names), (other, self.names))
        )
        all_words = self.words | other.words
        return (
            bool(all_words)
            and len(self.words & other.words) >= THRESHOLD * len(all_words)
            and self.marks == other.marks
            and names == others
        )


_NEGATIONS = frozenset("not no never without don dont doesn isn cannot avoid".split())  # noqa: SIM905 - a line
_TOKENS = re.compile(r"[^\W_]+")
_NUMBERS = re.compile(r"\d+")

SAME_FILE, NEIGHBOUR, SAME_FOLDER = 1.0, 0.4, 0.3
"""Nearness by files: the experience touched a file of the focus; a file that imports it, that it imports or
that was found for the prompt; or a file in the same folder. Only the first suffices by itself."""

WORDS_WORTH = 0.15
WORDS_MAX = 3
"""Nearness of each word shared with the prompt, at most three: together about a neighbouring file."""

MEANING_WORTH = 1.5
MEANING_FLOOR = 0.30
"""Nearness for similarity in meaning above a floor; below it half of all rules are irrelevant (see the preset
`normal` of items, whose texts are as short and compared by the same model)."""

ANSWER_WORTH, ANSWER_MIN = 1.6, 0.6
"""Nearness of an experience with all words of the prompt, and the minimum share of them, each weighed by its
rarity among the candidates. It answers the prompt, so it comes before a shared file, failure and recency."""

FAILED_WORTH = 0.3
"""Added to the score of failed or reverted experiences, to rank them above successes of the same nearness."""

RECENT_WORTH = 0.2
RECENT_HALF = 20
"""Added to the score by recency: .2 for the newest, .1 after twenty newer ones. By order, not by the clock,
so that the same pool gives the same choice tomorrow."""

STALE_WEIGHT = 0.4
"""Factor of the score of a stale experience: it ranks below a fresh one that is half as near."""

LOOKED_AT = 4
"""Number of candidates for each wanted experience whose staleness is looked up."""

LEAST_NEAR = 0.45
"""Minimum nearness by files, words and meaning together: three shared words, or a similarity of .6 alone.
Measured on the rules of `benchmarks/items` taken as decisions, each query against 172: precision .88 and
recall .45 (on held-out queries .57 and .36); with `MEANING_WORTH` 1 and a minimum of .3, precision .39 and
recall .60."""

LATEST_MAX = 3
"""Maximum number of experiences without focus, words and meanings: the latest ones."""


class Chosen(Struct, frozen=True):
    """A chosen experience, its score, and the reasons in words."""

    experience: Experience
    score: float
    reasons: tuple[str, ...]
    staleness: str = ""
    """Why it may not hold any more, in words."""
    folded: int = 0
    """Number of others that say nearly the same."""
    near: float = 0.0
    """The part of the score from files, words and meaning."""


def choose(
    candidates: Sequence[Experience],
    focus: Collection[str],
    neighbours: Collection[str],
    words: Collection[str],
    limit: int,
    *,
    meaning: Mapping[str, float] | None = None,
    staleness: Callable[[Experience], str] = lambda _: "",
) -> tuple[Chosen, ...]:
    """Choose at most `limit` experiences that are near enough, the nearest first, without near-duplicates.

    Without focus, words and meanings these are the latest ones, at most `LATEST_MAX`. `focus` and
    `neighbours` are paths of files and folders, `words` any texts, `meaning` similarities to the prompt by
    id, -1 to 1. Experiences of low trust are left out. The same input gives the same choice.
    """
    wanted = words_of(" ".join(words))
    answers = _answers(candidates, wanted)
    newest = sorted(candidates, key=lambda experience: (experience.timestamp, experience.id), reverse=True)
    weighed = [
        _weigh(
            experience,
            position,
            focus,
            neighbours,
            wanted,
            (meaning or {}).get(experience.id),
            answers.get(experience.id, 0.0),
        )
        for position, experience in enumerate(newest)
        if experience.provenance.trust != "low"
    ]
    if focus or wanted or meaning:
        weighed = [chosen for chosen in weighed if chosen.near >= LEAST_NEAR]
    else:
        limit = min(limit, LATEST_MAX)
    weighed.sort(key=lambda experience: -experience.score)  # of equal scores the newer comes first
    # Staleness is looked up on disk, so only for those that may be chosen.
    weighed = [_aged(chosen, staleness(chosen.experience)) for chosen in weighed[: LOOKED_AT * limit]]
    weighed.sort(key=lambda experience: -experience.score)
    return tuple(_folded(weighed)[:limit])


def _weigh(
    experience: Experience,
    position: int,
    focus: Collection[str],
    neighbours: Collection[str],
    wanted: frozenset[str],
    meaning: float | None,
    answer: float,
) -> Chosen:
    near, reasons = _nearness(experience, focus, neighbours)
    shared = sorted(words_of(f"{experience.decision} {experience.rationale}") & wanted)
    if answer >= ANSWER_MIN:
        near += ANSWER_WORTH * answer
        reasons.append(f"has {answer:.0%} of the prompt's words")
    elif shared:
        near += WORDS_WORTH * min(len(shared), WORDS_MAX)
        reasons.append(f"shares {', '.join(shared[:WORDS_MAX])} with the prompt")
    if meaning is not None and meaning > MEANING_FLOOR:
        near += MEANING_WORTH * (meaning - MEANING_FLOOR)
        reasons.append(f"near the prompt in meaning ({meaning:.2f})")
    near = round(near, 4)
    outcome = experience.outcome
    score = near
    if outcome in {"failure", "reverted"}:
        score += FAILED_WORTH if near else 0.0
        reasons.append("it failed" if outcome == "failure" else "it was reverted")
    score += RECENT_WORTH * 0.5 ** (position / RECENT_HALF)
    if not near:
        reasons.append("one of the latest")
    return Chosen(experience, round(score, 4), tuple(reasons), near=near)


def _answers(candidates: Sequence[Experience], wanted: frozenset[str]) -> dict[str, float]:
    """Return the share of the prompt's words that each experience has, weighed by rarity; those with a single
    word of several have none."""
    stems = frozenset(map(_stem, wanted))
    held = {
        each.id: stems & frozenset(map(_stem, words_of(f"{each.decision} {each.rationale}")))
        for each in candidates
    }
    counts = Counter(stem for found in held.values() for stem in found)
    rarity = {stem: log1p(len(candidates) / (1 + counts[stem])) for stem in sorted(stems)}
    total = sum(rarity.values()) or 1.0
    return {
        name: round(sum(rarity[stem] for stem in sorted(found)) / total, 4)
        for name, found in held.items()
        if len(found) > 1 or len(stems) == 1
    }


def _aged(chosen: Chosen, stale: str) -> Chosen:
    if not stale:
        return chosen
    reasons = (*chosen.reasons, f"weighs less: {stale}")
    return replace(chosen, score=round(chosen.score * STALE_WEIGHT, 4), reasons=reasons, staleness=stale)


def _nearness(
    experience: Experience, focus: Collection[str], neighbours: Collection[str]
) -> tuple[float, list[str]]:
    """Return the nearness by files, and the reason."""
    folders = {posixpath.dirname(path) for path in focus}
    best, reason = 0.0, ""
    for path in experience.files_touched:
        if any(part in focus for part in (path, *map(str, PurePosixPath(path).parents[:-1]))):
            return SAME_FILE, [f"touched {path}"]
        if path in neighbours and best < NEIGHBOUR:
            best, reason = NEIGHBOUR, f"touched {path}, next to the focus or found"
        elif posixpath.dirname(path) in folders and best < SAME_FOLDER:
            best, reason = SAME_FOLDER, f"touched {path}, in a folder of the focus"
    return best, [reason] if reason else []


def _folded(weighed: Iterable[Chosen]) -> list[Chosen]:
    """Return the first of those that say nearly the same, with the number of the others, in order."""
    found: list[tuple[_Gist, Chosen]] = []
    for chosen in weighed:
        gist = _gist_of(chosen.experience)
        for place, (other, first) in enumerate(found):
            if gist.says(other):
                found[place] = (other, replace(first, folded=first.folded + 1))
                break
        else:
            found.append((gist, chosen))
    return [chosen for _, chosen in found]


def _gist_of(experience: Experience) -> _Gist:
    text = experience.decision[:DECISION_CHARACTERS]
    tokens = _TOKENS.findall(text)
    names = dict.fromkeys(token for token in tokens[1:] if not token.islower() and not token.isdigit())
    negated = any(token.casefold() in _NEGATIONS for token in tokens)
    failed = experience.outcome in ("failure", "reverted")
    marks = (tuple(_NUMBERS.findall(text)), negated, failed)
    return _Gist(frozenset(map(_stem, words_of(text))), tuple(names), marks)


def _stem(word: str) -> str:
    """Return the stem of a word: `moved` and `move` have the same, `logged` and `log` too."""
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= 3:
            return stem[:-1] if stem[-1] == stem[-2] else stem
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
