"""Estimates the probability that a prompt needs code of the project, from its words and the search results.

The words alone decide only clear cases (`is_small_talk`). Whether `how do I exit vim` is about this project
depends on what the search finds in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import islice
from math import exp, fsum, log
from typing import TYPE_CHECKING, Final

from ..core.vocabulary import words
from ..index.terms import document_terms
from .classify import mood_of, without_greeting
from .clauses import Clause, Token, split_clauses
from .mentions import MEMBER, QUOTED_CODE, SHAPED
from .patterns import compiled
from .query import NEED_MIN, Need
from .question import Question
from .question_words import (
    ASKING,
    CHANGING,
    FOREIGN_STOP_WORDS,
    LOOKING,
    OTHER_CHANGING,
    SMALL_TALK,
    STOP_WORDS,
    TELLING,
)

if TYPE_CHECKING:
    from ..index.lexical_reader import LexicalReader

DEFINITIONS_MAX: Final = 10
"""Maximum number of found definitions, the most probable ones, that enter the estimate."""

WORDS_MAX: Final = 100
"""Maximum number of terms of a prompt looked up, at 5 microseconds each."""

PLACES_LEAST: Final = 0.01
"""Added to the sum of the definitions' probabilities before taking the logarithm, because the sum may be
0."""

SAID_MAX: Final = 5
"""Maximum number of a prompt's words in the reason."""

NEAREST_USUAL: Final = 0.3
"""Cosine of the chunk nearest to a prompt that counts neither for nor against its need."""

WEIGHTS: Final[Mapping[str, float]] = {
    "constant": -3.65,
    "asks": 2.273,
    "changes": 1.495,
    "known in names": 2.797,
    "meaning": 5.54,
    "named": 2.19,
    "pasted": 4.093,
    "persons": -1.747,
    "places": 0.7193,
    "shaped": 1.312,
    "telling": 5.104,
    "work": -3.412,
}
"""Weights of the logistic regression, by feature. `python -m benchmarks.silence.fit` fits them to the
prompts of benchmarks/silence, about three projects in two languages."""

HINT: Final = (
    "Nothing of the code is shown for this prompt: its words aren't those of the code. `foveal query` finds"
    " what it is about with English words or with names of the code."
)
"""The text sent for a question or task in another language if the project has none of its words."""


def need_of(
    question: Question,
    lexical: LexicalReader,
    named: float,
    probabilities: Collection[float],
    nearest: float | None,
) -> Need:
    """Return the probability that a prompt needs code, with the reason.

    `named` is the certainty (0 to 1) that the prompt names a file or definition of the project.
    `probabilities` are those of the definitions found for it. `nearest` is the cosine of the chunk nearest in
    meaning, None if unknown. Raises `LexicalDamaged`, `OSError`.
    """
    if question.is_long:
        return Need(1.0, "it is long, as no prompt is that needs nothing")
    clauses = split_clauses(question.asked)
    telling = telling_words(clauses)
    features = features_of(question, clauses, telling, lexical, named, probabilities, nearest)
    probability = round(probability_of(features, WEIGHTS), 2)
    said = ", ".join(dict.fromkeys(token.text for token in telling[:SAID_MAX])) or "none"
    near = "" if nearest is None else f", the nearest in meaning has a cosine of {nearest:.2f}"
    reason = (
        f"it needs the code with a probability of {probability:.2f}: of its words that name anything ({said})"
        f" names in the code know {features['known in names']:.0%}, outright it names something with"
        f" {named:.1f}, the likeliest definition has {max(probabilities, default=0.0):.2f}{near}"
    )
    asks = features["asks"] or (features["changes"] and probability >= NEED_MIN)
    return Need(probability, reason, HINT if asks and _is_foreign(clauses) else "")


def probability_of(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the probability of a need, at least the certainty that the prompt names something (`named`)."""
    total = weights["constant"] + fsum(weights[name] * value for name, value in features.items())
    return max(1 / (1 + exp(-max(min(total, 30.0), -30.0))), features["named"])


def features_of(
    question: Question,
    clauses: Sequence[Clause],
    telling: Sequence[Token],
    lexical: LexicalReader,
    named: float,
    probabilities: Collection[float],
    nearest: float | None,
) -> dict[str, float]:
    """Return the features of a prompt, by name; `telling` are the words of `telling_words`."""
    forms = [token.form for clause in clauses for token in clause.tokens if token.kind != "mark"]
    moods = {mood_of(without_greeting(clause)) for clause in clauses}
    known, total = _known(telling, lexical)
    return {
        "named": min(named, 1.0),
        "places": log(PLACES_LEAST + fsum(nlargest(DEFINITIONS_MAX, probabilities))),
        "meaning": 0.0 if nearest is None else nearest - NEAREST_USUAL,
        "known in names": known / total if total else 0.0,
        "telling": len(telling) / max(len(forms), 1),
        "work": sum(form in WORK for form in forms) / max(len(forms), 1),
        "persons": float(not _PERSONS.isdisjoint(forms)),
        "asks": float("question" in moods),
        "changes": float("change" in moods),
        "pasted": float(bool(question.pasted)),
        "shaped": float(
            any(symbol.certainty >= SHAPED for symbol in question.symbols) or bool(question.paths)
        ),
    }


def _known(telling: Sequence[Token], lexical: LexicalReader) -> tuple[float, float]:
    """Return the weight of the words that occur in names or paths, and of all words, weighted by rarity."""
    known = total = 0.0
    parts = (term for token in telling for term in _parts(token.text))
    for term in islice(dict.fromkeys(parts), WORDS_MAX):
        places = lexical.places(term)
        weight = log(1 + lexical.documents / (1 + max(places.values(), default=0)))
        total += weight
        known += weight if "symbols" in places or "path" in places else 0.0
    return known, total


def _parts(word: str) -> list[str]:
    """Return the terms of a word; for a compound name only the terms of its parts."""
    terms = document_terms(word)
    return terms[:-1] if len(terms) > 2 else terms


def _is_foreign(clauses: Sequence[Clause]) -> bool:
    """Whether most function words aren't English, or a word is in a script other than Latin."""
    forms = [token.form for clause in clauses for token in clause.tokens if token.kind == "word"]
    if any(compiled(_OTHER_SCRIPT).search(form) for form in forms):
        return True
    others = sum(form in FOREIGN_STOP_WORDS for form in forms)
    return others > 1 and others > sum(form in STOP_WORDS - FOREIGN_STOP_WORDS for form in forms)


_OTHER_SCRIPT = r"[\u0370-\u1fff\u3040-\ud7af]"
_PERSONS = words("you your u i me my mine we us our yourself du dir ihr mir mich ich tu te vous je me mi yo")
"""Pronouns for the asker and the agent."""


def is_small_talk(question: Question) -> bool:
    """Whether a prompt has no word that could refer to something in a project."""
    text = question.text.strip()
    if compiled(_COMMAND).match(text) or compiled(_NOTICE).match(text):
        return True
    if question.paths or question.errors or question.pasted:
        return False
    for symbol in question.symbols:
        if symbol.certainty == QUOTED_CODE:
            return False
        if symbol.certainty >= MEMBER and symbol.name.lower() not in _SILENT:
            return False
    return not telling_words(split_clauses(question.asked))


def telling_words(clauses: Iterable[Clause]) -> list[Token]:
    """Return the words that could refer to something in a project, without small talk."""
    return [
        token
        for clause in clauses
        if not compiled(SMALL_TALK).search(clause.form)
        for place in (_asks_for_place(clause),)
        for at, token in enumerate(clause.tokens)
        if _names(token, clause.tokens[:at], place=place)
    ]


def _names(token: Token, before: Sequence[Token], *, place: bool) -> bool:
    """Whether a token could refer to something in a project; a verb only if used as a noun (`the cache`)."""
    form = token.form if token.kind == "word" else token.text.lower()
    if token.kind == "mark" or form.isdigit() or (len(form) < 2 and form.isascii()) or form in STOP_WORDS:
        return False
    if token.kind in {"path", "quote", "filter"}:
        return True
    if not form.isascii() and compiled(_CJK).search(form):
        return bool(compiled(_CJK_WORD).search(compiled(_CJK_TALK).sub(" ", form)))
    if form in WORK:
        return place
    if form in _TALK or not compiled(_LETTERS).search(form):
        return False
    return form not in _VERBS or not _commands(before)


def _commands(before: Sequence[Token]) -> bool:
    """Whether a verb after some tokens is a command: at the start, or after a word that names nothing."""
    last = before[-1] if before else None
    return last is None or last.kind == "mark" or (last.form in _SILENT and last.form not in _DETERMINERS)


def _asks_for_place(clause: Clause) -> bool:
    """Whether a clause asks where or how something is; words like `tests` then mean things in the project."""
    forms = [token.form for token in clause.tokens]
    return bool(_PLACES.intersection(forms[:3])) and _YOU.isdisjoint(forms)


# Whole prompts that aren't prose

_COMMAND = r"/[A-Za-z][\w:.-]*(?:\s|$)|![^\s!].*$|#(?!\d)\w[^\n]*$"
"""Prompts that the agent program handles itself: a command (`/review 12`), a shell line (`!ls`), or a note
(`#note`); `#12` is an issue."""

_NOTICE = (
    r"\[Request interrupted\b|Caveat: The messages below were generated\b"
    r"|This session is being continued from a previous conversation\b"
)
"""Messages that the agent program writes in the user's name."""

_CJK = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_CJK_WORD = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}"
_CJK_TALK = (
    r"请|請|继续|繼續|接着|好的|好吧|好|是的|对的|可以|谢谢|謝謝|多谢|感谢|不用了?|不要|不是|没问题|同意|确认|确定|开始吧|开始"
    r"|再试一次|再来一次|重试|试试|停止|提交|推送|运行|测试|代码|撤销|下一步|第一个|第二个|都要?|全部|吧|了"
    r"|做|执行|完成|你|我|它|这个|那个|一下"
    r"|はい|いいえ|お願いします|お願い|続けて|続き|続行|ください|下さい|ありがとうございます|ありがとう|了解|そうです|大丈夫|やって|もう一度"
    r"|テスト|実行|して|コミット|プッシュ|どうぞ|それで|いいです|わかりました"
    r"|계속해?|네|예|아니요|감사합니다|고마워요?|좋아요?|주세요|해줘|진행|다시|실행|테스트|커밋"
)
_LETTERS = r"[^\W\d_]"

# Words

_PLACES = words("where how which wo wie welche dónde cómo où comment onde como dove come где как")
_YOU = words("you your du dir dein ihr sie tu te vous usted ustedes você ты вы")
_DETERMINERS = words(
    """
    a an the this that these those my your our their its his her each every any some no another other which
    der die das den dem ein eine einen einem dieser diese dieses le la les un une des ce cette el los las una
    este esta o os as um uma il lo gli i
    """
)
_TALK = words(
    """
    hey yo morning evening bye thx ty cool nice great perfect awesome good well-done sorry pls plz yep yup
    yeah nope nah lol haha hmm lgtm fine job works work done true right wrong agree go rest
    first second third last previous next both option options all none later today tomorrow wait stop start
    begin leave skip forget
    weiter genau gut danke ja nein mach bitte sí gracias vale claro continúa oui non merci d'accord vas-y
    obrigado sim grazie да нет спасибо продолжай
    """
)
WORK = words(
    """
    commit commits committed commiting push pull merge rebase squash stash branch branches tag diff diffs pr
    prs mr origin remote main master git gh staging amend checkout fetch status history
    test tests testing tested suite pytest unittest jest vitest cargo npm make lint linter linters linting
    formatter typecheck typechecker mypy ruff eslint build builds ci pipeline checks green red passes passed
    passing fails fail failed failing failure failures error errors broken bug bugs issue issues problem
    problems crash crashed
    output result results message messages terminal shell screen server command commands script
    code file files project repo repository codebase change changes changed edit edits edited fix fixes fixed
    plan plans todo todos task tasks step steps summary list item items question questions answer answers
    prompt context token tokens model mode conversation session chat agent agents subagent tool tools
    permission permissions everything nothing
    tests testfälle fehler datei dateien änderung änderungen commiten prueba pruebas cambios tests modifs
    testes alterações тесты коммит изменения
    """
)
"""Words about an agent's own work, such as commits, tests and plans."""

_VERBS = (
    CHANGING
    | OTHER_CHANGING
    | LOOKING
    | TELLING
    | words(
        """
        run rerun re-run retry redo undo revert restart stop pause resume continue proceed finish complete
        keep going make do use open close exit quit clear reset save send ask answer repeat summarize
        summarise recap wait hold think plan check verify confirm double-check ensure rebase merge squash
        force create leave ship land decide choose pick take teste testen führe lauf starte starten
        """
    )
)
_SILENT = STOP_WORDS | _TALK | WORK | ASKING
