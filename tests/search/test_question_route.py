"""A question goes to the graph with its relation, direction and names; whatever isn't understood whole doesn't."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from foveal.daemon.core.vocabulary import words
from foveal.daemon.search.places import find_places
from foveal.daemon.search.query import Relation
from foveal.daemon.search.question import take_apart
from foveal.daemon.search.question_route import PROSE_MAX, RoutedQuestion, route_question, with_relation
from hypothesis import given
from hypothesis import strategies as st

LABELLED = Path(__file__).parents[1] / "test_queries.yaml"

DEFINED = words(
    """
    AdminPanel BaseModel BasePanel BaseView Circle CsvSink Derived IClock ICodec INotifier Lease Money
    OrderService Serializer Sink TokenBucket Touch authenticate bar draw emit execSql f flushQueue foo from
    handleRequest ledger login main normalizePath paint render rotate slugify touch write
    """
)
"""The plain words that the project of these tests defines."""


def route(text: str) -> RoutedQuestion:
    return route_question(take_apart(text), DEFINED.__contains__)


def asked(text: str) -> str:
    found = route(text)
    return f"{found.relation}: {', '.join(found.subjects)}" if found.relation else ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("how are slugify and Money connected?", "connection: slugify, Money"),
        ("what calls f_x", "callers: f_x"),
        ("What functions call authenticate?", "callers: authenticate"),
        ("who calls the login function", "callers: login"),
        ("where is `f` called from", "callers: f"),
        ("what does `f` call internally", "callees: f"),
        ("functions called by Worker.run", "callees: Worker.run"),
        ("callees of main_loop", "callees: main_loop"),
        ("where is MAX_LEN used", "references: MAX_LEN"),
        ("what writes to the field `Config.retries`", "references: Config.retries"),
        ("list all usages of `Money`", "references: Money"),
        ("where is parse_config defined", "definition: parse_config"),
        ("where is touch defined?", "definition: touch"),
        ("what line does `f` start on", "definition: f"),
        ("go to definition of blob.Store.put", "definition: blob.Store.put"),
        ("which files import left_pad.js", "importers: left_pad.js"),
        ("Which files depend on the ledger module", "importers: ledger"),
        ("what does server/main.go import", "imports: server/main.go"),
        ("list the imports of lib/parser.rb", "imports: lib/parser.rb"),
        ("which classes extend BaseModel", "subclasses: BaseModel"),
        ("what does Circle inherit from", "superclasses: Circle"),
        ("what inherits from AxiosError", "subclasses: AxiosError"),
        ("src/app.py:12", "definition: src/app.py:12"),
        ("  app.py:12:4 ", "definition: app.py:12:4"),
        ("who calls src/app.py:12", "callers: src/app.py:12"),
        ("does CsvSink extend `Sink`", "superclasses: CsvSink, Sink"),
        ("which classes implement the Serializer interface", "implementations: Serializer"),
        ("where is `paint` overridden", "overrides: paint"),
        ("what unit tests end up calling Matrix::invert", "tests: Matrix::invert"),
        ("Which test files should I run after touching storage/wal.py", "tests: storage/wal.py"),
        ("is there a test for `rotate`", "tests: rotate"),
        ("what breaks if I change Session.login", "impact: Session.login"),
        ("what breaks if f_x changes", "impact: f_x"),
        ("which tests reach f_x", "tests: f_x"),
        ("blast radius of changing src/db/pool.ts", "impact: src/db/pool.ts"),
        ("list the functions in handlers/webhook.go", "outline: handlers/webhook.go"),
        ("what methods does OrderService have", "outline: OrderService"),
        ("how does handleRequest end up in `execSql`", "connection: handleRequest, execSql"),
        ("is there a call path from main to write_row", "connection: main, write_row"),
        ("does `foo` call `bar`", "connection: foo, bar"),
        ("which functions are never called", "unused: "),
        ("are there circular imports", "cycles: "),
        ("which functions are used inside `f_x`", "callees: f_x"),
        ("what depends on src/a.ts", "importers: src/a.ts"),
        ("who uses src/a.ts", "importers: src/a.ts"),
        ("who relies on normalizePath", "references: normalizePath"),
        ("which libraries does src/app.ts use", "imports: src/app.ts"),
        ("is AdminPanel a subclass of BasePanel", "superclasses: AdminPanel, BasePanel"),
        ("what implementations exist for IClock", "implementations: IClock"),
        ("all structs satisfying the INotifier interface", "implementations: INotifier"),
        ("which kinds of BaseView are there", "subclasses: BaseView"),
        ("which classes have their own Shape.draw", "overrides: Shape.draw"),
        ("find tests that reach compute_tax", "tests: compute_tax"),
        ("transitive callers of `f`", "impact: f"),
        ("overriding methods of `f_x`", "overrides: f_x"),
        ("every class conforming to the ICodec protocol", "implementations: ICodec"),
        ("functions nobody calls", "unused: "),
        (
            "If the signature of Matrix4::invert changes, what else has to be adapted",
            "impact: Matrix4::invert",
        ),
        ("any path to delete_row from on_click", "connection: on_click, delete_row"),
    ],
)
def test_questions_about_the_graph(text: str, expected: str) -> None:
    assert asked(text) == expected


def test_a_second_name_that_is_not_asked_for_is_told() -> None:
    assert route("what calls login and flushQueue").evidence[1:] == (
        "this is of `login` alone: ask again for `flushQueue`",
    )
    assert asked("which tests reach login or flushQueue") == "tests: login"
    assert not route("how are slugify and Money connected?").evidence[1:]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what calls nosuch", "callers: nosuch"),
        ("what breaks if nosuch changes", "impact: nosuch"),
        ("how do Money and nosuch connect", "connection: Money, nosuch"),
        ("how do nosuch and Money connect", "connection: nosuch, Money"),
        ("how do Money and nosuch differ", ""),
        ("what happens if nosuch is empty", ""),
    ],
)
def test_a_word_that_the_project_has_nowhere_is_a_name_where_only_a_name_can_stand(
    text: str, expected: str
) -> None:
    found = route_question(take_apart(text), DEFINED.__contains__, {"nosuch"}.__contains__)
    assert (f"{found.relation}: {', '.join(found.subjects)}" if found.relation else "") == expected


@pytest.mark.parametrize(
    "text",
    [
        "who calls it",
        "where is everything defined",
        "what is the use of the second lock",
        "what is the purpose of the reference counting in the pool",
        "what is the idea behind the import queue",
        "is it ok to call `flush` from several threads",
        "what would be a good way to test `Session`",
        "are subclasses allowed to skip validation",
        "does README.md mention `Session`",
        "What makes `flush` fail",
        "should I use `Lock` or `RWLock`",
        "what uses so much memory",
        "where does `main` read the settings",
        "which files are in src/hooks",
        "Why does `checkout` call the tax service",
        "How is `Session` used",
        "what is `Session` used for",
        "which component talks to the payment provider",
        "who calls the payment provider",
        "What breaks the tie when two bids are equal",
        "where is TimeoutError handled",
        "where is the retry logic implemented",
        "is caching used anywhere",
        "locate the color constants in theme.scss",
        "find the login function in auth.py",
        "Changing the timeout in `Client.get` breaks uploads",
        "import from csv",
        "Error: The view function did not return a valid",
        "HTTP method can not be empty",
        "what happens when the signature changes between releases",
        "what happens if f_x gets an empty list",
        "what does f_x change",
        "feat: update version constant to v1.10.0",
        "what is the difference between on_click and delete_row",
        "how do I migrate from on_click to delete_row",
        "path from login to checkout",
        "how does on_click use delete_row to sort",
        "what connects users and accounts",
        "find the callers of f_x and rename them",
        "Write tests for f_x",
        "How does it work and who calls `f_x`?",
        "does it work? why does `f_x` call `g_x`?",
        "Traceback (most recent call last):\n  File 'a.py'\nwho calls `f_x`",
        "who calls `f_x` " + "x" * PROSE_MAX,
        "Wer ruft parse_datei auf?",
        "",
        "?!",
    ],
)
def test_other_questions(text: str) -> None:
    assert asked(text) == ""


def test_labelled_questions_of_others() -> None:
    """What must not be routed counts more: a miss is still searched by words."""
    rows = yaml.safe_load(LABELLED.read_text(encoding="utf-8"))
    known = DEFINED.union(*(row.get("subjects", ()) for row in rows))
    taken = [
        row["route"] for row in rows if route_question(take_apart(row["query"]), known.__contains__).relation
    ]
    structural = [row for row in rows if row["route"] == "structural"]
    assert len(taken) - taken.count("structural") <= 0.01 * (len(rows) - len(structural))
    assert taken.count("structural") >= 0.75 * len(structural)


@pytest.mark.parametrize(
    ("relation", "text", "subjects"),
    [
        ("callers", "parse_datei", ("parse_datei",)),
        ("callers", "login", ("login",)),
        ("callers", "Wer ruft `parse_datei` auf?", ("parse_datei",)),
        ("connection", "from on_click to delete_row", ("on_click", "delete_row")),
        ("importers", "src/a.ts", ("src/a.ts",)),
        ("cycles", "", ()),
    ],
)
def test_a_chosen_relation_is_asked_of_the_names(
    relation: Relation, text: str, subjects: tuple[str, ...]
) -> None:
    found = with_relation(relation, take_apart(text))
    assert (found.route, found.relation, found.subjects) == ("structural", relation, subjects)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("find the loop in src/client.py", "file src/client.py"),
        ("search for TODO in src/auth/", "file src/auth/"),
        ("error handling in handlers/*.go", "file handlers/*.go"),
        ('the section "Upgrading" of it', "section Upgrading"),
        ("Find X in section Y", "section Y"),
        ("the Installation section says", "section Installation"),
        ("In the class HttpClient, where", "class HttpClient"),
        ("within the Cart class", "class Cart"),
        ("path:server/auth hashing", "filter server/auth"),
        ("find the login function in auth module", ""),
        ("what does merge.py do", ""),
        ("in Session", ""),
        ("", ""),
    ],
)
def test_places(text: str, expected: str) -> None:
    assert [f"{place.kind} {place.name}" for place in find_places(text)] == [expected][: bool(expected)]


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        ("Which functions in src/api call `authorize`?", "structural", "asks for callers: Which functions"),
        ("find the timeout in src/a.py", "positional", "names a file: src/a.py"),
        ("why is it slow", "semantic", "asks in words: why is it slow"),
        ("login", "hybrid", "a plain search: it has no"),
        ("Traceback (most recent call last):\n  File 'a.py'", "hybrid", "holds a pasted trace"),
    ],
)
def test_the_evidence_says_why(text: str, expected: str, reason: str) -> None:
    found = route(text)
    assert (found.route, found.evidence[0][: len(reason)]) == (expected, reason)


@given(st.text())
def test_any_text_has_a_route_and_a_reason(text: str) -> None:
    found = route(text)
    assert found.evidence
    assert (found.relation is not None) == (found.route == "structural")
    assert bool(found.places) >= (found.route == "positional")
