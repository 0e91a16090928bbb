"""Owns which prompts name nothing to look for: talk with an agent, and commands about its own work.

Only what is sure without a look at the project: the rest is for `need.py`. A prompt says something if it
holds a path, an identifier, an error, a quotation or pasted text; else if a word is left beside function
words, words of conversation, nouns of an agent's own work (tests to run, commits, plans) and verbs in the
place of a command. It names what the rest only points to: `fix it` says nothing, `fix the redirect` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..core.vocabulary import words
from .clauses import Clause, Token, split_clauses
from .patterns import compiled
from .question import Question
from .question_words import ASKING, CHANGING, LOOKING, OTHER_CHANGING, SMALL_TALK, STOP_WORDS, TELLING
from .symbol_mentions import MEMBER, QUOTED_CODE


def is_small_talk(question: Question) -> bool:
    """Whether a prompt names nothing that a project could hold."""
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
    """Return the words that name anything."""
    return [
        token
        for clause in clauses
        if not compiled(SMALL_TALK).search(clause.form)
        for place in (_asks_for_place(clause),)
        for at, token in enumerate(clause.tokens)
        if _names(token, clause.tokens[:at], place=place)
    ]


def _names(token: Token, before: Sequence[Token], *, place: bool) -> bool:
    """Whether a token names something; a verb where it stands for a noun: `the cache`, `client cache`."""
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
    """Whether a verb commands in its place: at the start, or behind a word that says nothing by itself."""
    last = before[-1] if before else None
    return last is None or last.kind == "mark" or (last.form in _SILENT and last.form not in _DETERMINERS)


def _asks_for_place(clause: Clause) -> bool:
    """Whether a clause asks where something is, or how: then tests and commits are things of the project."""
    forms = [token.form for token in clause.tokens]
    return bool(_PLACES.intersection(forms[:3])) and _YOU.isdisjoint(forms)


# Whole prompts that aren't prose

_COMMAND = r"/[A-Za-z][\w:.-]*(?:\s|$)|![^\s!].*$|#(?!\d)\w[^\n]*$"
"""What hosts take for themselves: `/review 12`, a line for the shell, a note; but `#12` is an issue."""

_NOTICE = (
    r"\[Request interrupted\b|Caveat: The messages below were generated\b"
    r"|This session is being continued from a previous conversation\b"
)
"""What hosts write in the user's name."""

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
"""Nouns of an agent's own work."""

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
