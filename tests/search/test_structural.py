"""The graph answers who calls, uses, inherits, imports and tests what, how sure that is, and what leads there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.index.store import Store
from foveal.daemon.search.filters import Filter
from foveal.daemon.search.query import Relation
from foveal.daemon.search.question import take_apart
from foveal.daemon.search.question_route import route_question
from foveal.daemon.search.structural import GraphAnswer, answer, asked

from tests.linked_cases import Given, linked
from tests.search_cases import Indexed

FILES: dict[str, str | bytes] = {
    "shop/__init__.py": "",
    "shop/sessions.py": (
        "class Base:\n"
        "    def save(self):\n"
        "        pass\n"
        "\n"
        "\n"
        "class Session(Base):\n"
        "    def __init__(self):\n"
        "        self.token = make_token()\n"
        "\n"
        "    def save(self):\n"
        "        super().save()\n"
        "\n"
        "\n"
        "class Guest(Session):\n"
        "    def save(self):\n"
        "        pass\n"
        "\n"
        "\n"
        "def make_token():\n"
        "    return ''\n"
    ),
    "shop/auth.py": (
        "import json\n"
        "from .sessions import Session\n"
        "\n"
        "\n"
        "def login(user):\n"
        "    session = Session()\n"
        "    session.save()\n"
        "    return json.dumps(user)\n"
        "\n"
        "\n"
        "def logout(user):\n"
        "    user.drop()\n"
    ),
    "shop/views.py": (
        "import json\n"
        "from .auth import login\n"
        "\n"
        "\n"
        "def handle(request):\n"
        "    return login(request)\n"
        "\n"
        "\n"
        "def main(base, request):\n"
        "    base.save()\n"
        "    handle(request)\n"
        "    request.login()\n"
        "\n"
        "\n"
        "handle(None)\n"
    ),
    "tests/test_views.py": (
        "from shop.views import handle\n"
        "\n"
        "\n"
        "def visit():\n"
        "    return handle(1)\n"
        "\n"
        "\n"
        "def test_visits():\n"
        "    visit()\n"
    ),
    "web/session.ts": "export class Session {\n  save() {}\n}\n",
    "web/app.ts": 'import { Session } from "./session";\n\nexport const one = new Session();\none.save();\n',
    "a.py": "import b\n\ndef ping():\n    b.pong()\n",
    "b.py": "import a\n\ndef pong():\n    a.ping()\n",
    "twins.py": "def twice():\n    pass\n\n\ndef twice():\n    pass\n\n\ntwice()\n",
    "guide.md": "# Session\n\nHow sessions end.\n\n## Tokens\n\nA secret.\n",
}

LINKS: list[Given] = [
    ("shop/sessions.py", 6, "inherit", "Base", "Session", "shop/sessions.py#Base"),
    ("shop/sessions.py", 8, "call", "make_token", "Session.__init__", "shop/sessions.py#make_token"),
    ("shop/sessions.py", 11, "call", "save", "Session.save", "shop/sessions.py#Base.save"),
    ("shop/sessions.py", 14, "inherit", "Session", "Guest", "shop/sessions.py#Session"),
    ("shop/auth.py", 6, "call", "Session", "login", "shop/sessions.py#Session"),
    ("shop/auth.py", 7, "call", "save", "login", "shop/sessions.py#Session.save"),
    ("shop/auth.py", 8, "call", "dumps", "login", "external"),
    ("shop/auth.py", 12, "call", "drop", "logout", "name"),
    ("shop/views.py", 6, "call", "login", "handle", "shop/auth.py#login"),
    ("shop/views.py", 10, "call", "save", "main", "shop/sessions.py#Base.save"),
    ("shop/views.py", 11, "call", "handle", "main", "shop/views.py#handle"),
    ("shop/views.py", 12, "call", "login", "main", "name"),
    ("shop/views.py", 15, "call", "handle", "", "shop/views.py#handle"),
    ("tests/test_views.py", 5, "call", "handle", "visit", "shop/views.py#handle"),
    ("tests/test_views.py", 9, "call", "visit", "test_visits", "tests/test_views.py#visit"),
    ("web/app.ts", 3, "call", "Session", "one", "web/session.ts#Session"),
    ("web/app.ts", 4, "call", "save", "", "name"),
    ("twins.py", 9, "call", "twice", "", "twins.py#twice"),
    ("twins.py", 9, "call", "twice", "", "twins.py#twice~2"),
    ("a.py", 4, "call", "pong", "ping", "b.py#pong"),
    ("b.py", 4, "call", "ping", "pong", "a.py#ping"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    return linked(tmp_path_factory.mktemp("p"), FILES, LINKS)


def ask(
    project: Indexed,
    relation: Relation,
    *subjects: str,
    limit: int = 100,
    chosen: Filter = Filter(),  # noqa: B008 - frozen
    depth: int = 3,
) -> GraphAnswer:
    with project.reader() as reader:
        found = answer(
            relation, subjects, project.tree, reader, limit, chosen, chosen.files(project.tree), depth
        )
    assert [hit.sources for hit in found.hits] == [{"tree": place} for place in range(1, len(found.hits) + 1)]
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
    assert all(hit.certainty in {"resolved", "name"} and 0 < hit.score <= 1 for hit in found.hits)
    return found


def places(found: GraphAnswer) -> list[str]:
    """Return the hits as `node_id:line`, with a question mark where they are known by name only."""
    return [f"{hit.node_id}:{hit.line}{'' if hit.certainty == 'resolved' else '?'}" for hit in found.hits]


@pytest.mark.parametrize(
    ("relation", "subjects", "expected"),
    [
        ("definition", ["make_token"], ["shop/sessions.py#make_token:19"]),
        ("definition", ["Session"], ["shop/sessions.py#Session:6", "web/session.ts#Session:1"]),
        ("definition", ["shop.auth.login"], ["shop/auth.py#login:5"]),
        ("definition", ["shop/auth.py#login"], ["shop/auth.py#login:5"]),
        ("definition", ["shop/sessions.py:11"], ["shop/sessions.py#Session.save:10"]),
        ("definition", ["sessions.py:6-9"], ["shop/sessions.py#Session:6"]),
        ("definition", ["shop/sessions.py:5"], []),
        ("definition", ["twice"], ["twins.py#twice:1", "twins.py#twice~2:5"]),
        ("definition", ["twice~2"], ["twins.py#twice~2:5"]),
        ("definition", ["login", "logout"], ["shop/auth.py#login:5", "shop/auth.py#logout:11"]),
        ("callers", ["login"], ["shop/views.py#handle:6", "shop/views.py#main:12?"]),
        ("callers", ["auth.login"], ["shop/views.py#handle:6", "shop/views.py#main:12?"]),
        ("callers", ["shop/sessions.py#Session"], ["shop/auth.py#login:6"]),
        ("callers", ["Session.__init__"], ["shop/auth.py#login:6"]),
        (
            "callers",
            ["handle"],
            ["shop/views.py#main:11", "shop/views.py:15", "tests/test_views.py#visit:5"],
        ),
        (  # what calls a method may mean those that override it
            "callers",
            ["shop/sessions.py#Session.save"],
            ["shop/auth.py#login:7", "shop/views.py#main:10?"],
        ),
        ("callers", ["json.dumps"], ["shop/auth.py#login:8?"]),
        ("callers", ["logout"], []),
        (
            "callees",
            ["login"],
            ["shop/sessions.py#Session:6", "shop/sessions.py#Session.save:10", "shop/auth.py#login:8?"],
        ),
        ("callees", ["logout"], ["shop/auth.py#logout:12?"]),
        (
            "callees",
            ["shop/sessions.py#Session"],
            ["shop/sessions.py#make_token:19", "shop/sessions.py#Base.save:2"],
        ),
        (
            "references",
            ["shop/sessions.py#Session"],
            ["shop/auth.py#login:6", "shop/sessions.py#Guest:14"],
        ),
        ("importers", ["shop/sessions.py"], ["shop/auth.py:2"]),
        ("importers", ["sessions.py"], ["shop/auth.py:2"]),
        ("importers", ["shop.sessions"], ["shop/auth.py:2"]),
        ("importers", ["sessions"], ["shop/auth.py:2"]),
        ("importers", ["make_token"], ["shop/auth.py:2"]),
        ("importers", ["web/session"], ["web/app.ts:1"]),
        ("importers", ["./session"], ["web/app.ts:1"]),
        ("importers", ["json"], ["shop/auth.py:1", "shop/views.py:1"]),
        ("imports", ["shop/auth.py"], ["shop/sessions.py:1", "shop/auth.py:1?"]),
        ("imports", ["app.ts"], ["web/session.ts:1"]),
        ("imports", ["guide.md"], []),
        ("subclasses", ["Base"], ["shop/sessions.py#Session:6", "shop/sessions.py#Guest:14"]),
        ("superclasses", ["Guest"], ["shop/sessions.py#Session:6", "shop/sessions.py#Base:1"]),
        ("implementations", ["Base"], ["shop/sessions.py#Session:6", "shop/sessions.py#Guest:14"]),
        (
            "implementations",
            ["Base.save"],
            ["shop/sessions.py#Session.save:10", "shop/sessions.py#Guest.save:15"],
        ),
        ("overrides", ["Base.save"], ["shop/sessions.py#Session.save:10", "shop/sessions.py#Guest.save:15"]),
        (
            "overrides",
            ["shop/sessions.py#Session.save"],
            ["shop/sessions.py#Guest.save:15", "shop/sessions.py#Base.save:2"],
        ),
        ("tests", ["login"], ["tests/test_views.py#test_visits:9"]),
        ("tests", ["make_token"], ["tests/test_views.py#test_visits:9"]),
        (
            "impact",
            ["login"],
            [
                "shop/views.py#handle:6",
                "shop/views.py#main:11",
                "shop/views.py:15",
                "tests/test_views.py#visit:5",
                "tests/test_views.py#test_visits:9",
            ],
        ),
        # Whoever saves a base may save a guest.
        (
            "impact",
            ["Guest.save"],
            [
                "shop/auth.py#login:7?",
                "shop/views.py#main:10?",
                "shop/views.py#handle:6?",
                "shop/views.py:15?",
                "tests/test_views.py#visit:5?",
            ],
        ),
        ("impact", ["ping"], ["b.py#pong:4"]),
        (
            "impact",
            ["shop/sessions.py"],
            [
                "shop/auth.py:2",
                "shop/auth.py#login:6",
                "shop/views.py#main:10",
                "shop/views.py:2",
                "shop/views.py#handle:6",
                "shop/views.py:15",
                "tests/test_views.py:1",
                "tests/test_views.py#visit:5",
            ],
        ),
        ("outline", ["shop/auth.py"], ["shop/auth.py#login:5", "shop/auth.py#logout:11"]),
        ("outline", ["web/session.ts#Session"], ["web/session.ts#Session.save:2"]),
        ("outline", ["guide.md"], ["guide.md#Session:1", "guide.md#Session/Tokens:5"]),
        (
            "connection",
            ["main", "make_token"],
            [
                "shop/views.py#main:11",
                "shop/views.py#handle:6",
                "shop/auth.py#login:6",
                "shop/sessions.py#Session:6",
                "shop/sessions.py#Session.__init__:8",
                "shop/sessions.py#make_token:19",
            ],
        ),
        ("connection", ["login", "handle"], ["shop/views.py#handle:6", "shop/auth.py#login:5"]),
        ("connection", ["login", "ping"], []),
        ("connection", ["login", "login"], ["shop/auth.py#login:5"]),
        ("connection", ["login"], []),
        ("cycles", [], ["a.py:1"]),
        ("cycles", ["b.py"], ["a.py:1"]),
        ("cycles", ["shop/auth.py"], []),
        ("unused", ["shop/auth.py"], ["shop/auth.py#logout:11"]),
        ("unused", [], ["shop/auth.py#logout:11", "shop/sessions.py#Guest:14"]),
    ],
)
def test_answers(project: Indexed, relation: Relation, subjects: Sequence[str], expected: list[str]) -> None:
    assert places(ask(project, relation, *subjects)) == expected


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ("makeToken", "make_token"),
        ("MakeToken", "make_token"),
        ("MAKE_TOKEN", "make_token"),
        ("shop/none.py#make_token", "make_token"),
    ],
)
def test_a_name_in_another_form_is_a_guess(project: Indexed, written: str, taken: str) -> None:
    found = ask(project, "callers", written)
    assert places(found) == ["shop/sessions.py#Session.__init__:8?"]
    assert found.known
    assert not found.near
    assert found.remarks[0].startswith(f"no `{written}`; taken as `{taken}`")


@pytest.mark.parametrize(
    ("written", "nearest"),
    [
        ("make_tokn", "make_token"),
        ("mkae_token", "make_token"),
        ("sessions.make_tokens", "sessions.make_token"),
    ],
)
def test_a_near_name_never_stands_for_an_exact_one(project: Indexed, written: str, nearest: str) -> None:
    for relation in ("callers", "definition"):
        found = ask(project, relation, written)
        assert found.near
        assert found.remarks[0].startswith(f"no `{written}`; the nearest name is `{nearest}`")
        assert found.hits
        assert all(hit.why[0] == found.remarks[0] and hit.certainty == "name" for hit in found.hits)
        assert not any("defined here" in hit.why for hit in found.hits), "so none is shown whole either"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("autenticate", "nothing in the project is named `autenticate`"),
        ("", "no name is given"),
        ("::", "no name is given"),
        ("\N{ROCKET}", "nothing in the project is named"),
        ("登录", "nothing in the project is named `登录`"),
        ("x" * 4_096, "nothing in the project is named `xxx"),
        ("a." * 2_000, "nothing in the project is named"),
        ("\0", "nothing in the project is named"),
        ("%_*?[", "nothing in the project is named"),
    ],
)
@pytest.mark.parametrize(
    "relation",
    ["definition", "callers", "importers", "overrides", "tests", "impact", "connection", "outline"],
)
def test_a_name_that_means_nothing(project: Indexed, relation: Relation, written: str, said: str) -> None:
    found = ask(project, relation, written)
    assert not found.hits
    assert not found.known
    assert len(found.remarks[0]) < 600
    assert found.remarks[0].startswith(said) or not written.strip(".:")


@pytest.mark.parametrize(("depth", "count"), [(0, 2), (1, 2), (2, 4), (3, 5), (99, 5), (-1, 2)])
def test_an_impact_is_followed_to_a_depth(project: Indexed, depth: int, count: int) -> None:
    assert len(ask(project, "impact", "login", depth=depth).hits) == count


@pytest.mark.parametrize("limit", [-1, 0, 1, 2, 5])
def test_at_most_so_many(project: Indexed, limit: int) -> None:
    found = ask(project, "callers", "handle", limit=limit)
    assert len(found.hits) == min(max(limit, 0), 3)
    assert (f"{len(found.hits)} shown of 3" in found.remarks) == (limit < 3)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (Filter(path_prefix="tests/"), ["tests/test_views.py#visit:5"]),
        (Filter(symbol="main"), ["shop/views.py#main:11"]),
        (Filter(kinds=frozenset({"class"})), []),
        (Filter(kinds=frozenset({"function"})), ["shop/views.py#main:11", "tests/test_views.py#visit:5"]),
    ],
)
def test_what_is_left_out_leaves_room_for_others(
    project: Indexed, chosen: Filter, expected: list[str]
) -> None:
    assert places(ask(project, "callers", "handle", limit=2, chosen=chosen)) == expected


def test_many_definitions_of_one_name(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"m{number:03}.py": "def run():\n    pass\n" for number in range(510)}
    files["z.py"] = "import m000\n\ndef go(x):\n    x.run()\n    m000.run()\n"
    links: list[Given] = [
        ("z.py", 4, "call", "run", "go", "name"),
        ("z.py", 5, "call", "run", "go", "m000.py#run"),
    ]
    project = linked(tmp_path, files, links)
    found = ask(project, "callers", "run")
    assert places(found) == ["z.py#go:5", "z.py#go:4?"]
    assert found.remarks[0].startswith("`run` has 510 definitions, of which 500 are looked at")
    assert "m000.py#run" in found.remarks[0]
    assert any("`run` has 510" in remark for remark in ask(project, "callers", "Run").remarks)
    assert len(ask(project, "definition", "run", limit=10).hits) == 10
    assert places(ask(project, "callers", "m000.py#run")) == ["z.py#go:5", "z.py#go:4?"]


def test_what_is_cut_is_said(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "m.py": "def run():\n    pass\n",
        "test_m.py": "import m\n\n"
        + "".join(f"def test_{number:03}():\n    m.run()\n\n" for number in range(120)),
    }
    links: list[Given] = [
        ("test_m.py", 4 + 3 * number, "call", "run", f"test_{number:03}", "m.py#run") for number in range(120)
    ]
    found = ask(linked(tmp_path, files, links), "tests", "run", limit=1_000)
    assert "100 shown of more than 100; no more are looked for" in found.remarks


def test_circles_end(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.py": "class A(B):\n    def go(self):\n        B().go()\n\n\nclass B(A):\n    def go(self):\n        A().go()\n"
    }
    links: list[Given] = [
        ("a.py", 1, "inherit", "B", "A", "a.py#B"),
        ("a.py", 3, "call", "go", "A.go", "a.py#B.go"),
        ("a.py", 6, "inherit", "A", "B", "a.py#A"),
        ("a.py", 8, "call", "go", "B.go", "a.py#A.go"),
    ]
    project = linked(tmp_path, files, links)
    assert places(ask(project, "subclasses", "A")) == ["a.py#B:6"]
    assert places(ask(project, "superclasses", "A")) == ["a.py#B:6"]
    assert places(ask(project, "overrides", "A.go")) == ["a.py#B.go:7"]
    assert places(ask(project, "impact", "A.go", depth=20)) == ["a.py#B.go:8"]
    assert places(ask(project, "tests", "A.go")) == []


def test_tests_are_found_by_the_names_of_what_reaches_a_definition_and_helpers_are_only_named(
    tmp_path: Path,
) -> None:
    files: dict[str, str | bytes] = {
        "app.py": "class App:\n    def add_page(self):\n        draw()\n\n\ndef draw():\n    pass\n",
        "tests/conftest.py": "def page(app):\n    app.add_page()\n\n\ndef plain():\n    draw()\n",
        "tests/test_app.py": (
            "def test_page(app):\n    app.add_page()\n    app.add_page()\n\n\ndef test_draw():\n    draw()\n"
        ),
    }
    links: list[Given] = [
        ("app.py", 3, "call", "draw", "App.add_page", "app.py#draw"),
        ("tests/conftest.py", 2, "call", "add_page", "page", "name"),
        ("tests/conftest.py", 6, "call", "draw", "plain", "app.py#draw"),
        ("tests/test_app.py", 2, "call", "add_page", "test_page", "name"),
        ("tests/test_app.py", 3, "call", "add_page", "test_page", "name"),
        ("tests/test_app.py", 7, "call", "draw", "test_draw", "app.py#draw"),
    ]
    found = ask(linked(tmp_path, files, links), "tests", "draw")
    assert places(found) == ["tests/test_app.py#test_draw:7", "tests/test_app.py#test_page:2?"]
    assert found.hits[1].via == "App.add_page → draw"
    helpers = "tests/conftest.py#plain, tests/conftest.py#page"
    assert found.remarks == (f"helpers of tests reach it too: {helpers}",)


def test_files_that_wait_to_be_linked_are_told_of(tmp_path: Path) -> None:
    project = linked(tmp_path, {"a.py": "def f():\n    pass\n"}, [])
    assert ask(project, "callers", "f").degraded == ()
    store = Store(str(project.folder), System())
    number = store.chunks.id_of("a.py")
    assert number is not None
    with store.transaction():
        store.links.queue([number])
    store.close()
    assert ask(project, "callers", "f").degraded[0].startswith("1 file waits to be linked")
    assert ask(project, "definition", "f").degraded == ()


def test_a_file_without_text_is_no_place(tmp_path: Path) -> None:
    project = linked(
        tmp_path, {"a.py": "from b import *\nfrom c import *\n", "b.py": "", "c.py": "x = 1\n"}, []
    )
    assert places(ask(project, "imports", "a.py")) == ["c.py:1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what calls login", ("callers", ("login",), 3)),
        ("callers of login to depth 5", ("impact", ("login",), 5)),
        ("what breaks if Session.login changes, 2 levels", ("impact", ("Session.login",), 2)),
        ("Session.login", ("definition", ("Session.login",), 3)),
        ("login", ("definition", ("login",), 3)),
        ("the definition of touch", ("definition", ("touch",), 3)),
        ("where is the Touch method?", ("definition", ("Touch",), 3)),
        ("the definition of", ("definition", ("the", "definition", "of"), 3)),
        ("", ("definition", (), 3)),
    ],
)
def test_what_is_asked(text: str, expected: tuple[str, tuple[str, ...], int]) -> None:
    question = take_apart(text)
    assert asked(question, route_question(question, {"login", "touch", "Touch"}.__contains__)) == expected


def test_a_member_of_a_class_of_tests_is_a_test_only_by_its_own_name(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "site.py": "def draw():\n    pass\n",
        "tests/test_site.py": (
            "class TestSite:\n    made = draw()\n\n    def setup_method(self):\n        draw()\n\n"
            "    def _test_with(self):\n        draw()\n\n    def test_draws(self):\n        draw()\n"
        ),
    }
    target, path = "site.py#draw", "tests/test_site.py"
    scopes = ((2, "TestSite"), (5, "TestSite.setup_method"), (8, "TestSite._test_with"))
    links: list[Given] = [(path, line, "call", "draw", scope, target) for line, scope in scopes]
    links.append((path, 11, "call", "draw", "TestSite.test_draws", target))
    project = linked(tmp_path, files, links)
    found = ask(project, "tests", "draw")
    assert places(found) == [f"{path}#TestSite:2", f"{path}#TestSite.test_draws:11"]
    helpers = f"{path}#TestSite.setup_method, {path}#TestSite._test_with"
    assert found.remarks[0] == f"helpers of tests reach it too: {helpers}"


def test_built_copies_come_after_sources_and_tests(tmp_path: Path) -> None:
    text = "function go() {}\ngo()\n"
    paths = ("dist/a.js", "lib/a.js", "public/a.min.js", "test/a.js")
    links: list[Given] = [(path, 2, "call", "go", "", "lib/a.js#go") for path in paths]
    project = linked(tmp_path, dict.fromkeys(paths, text), links)
    with project.reader() as reader:
        found = answer("callers", ["lib/a.js#go"], project.tree, reader, 10)
    assert [hit.path for hit in found.hits] == ["lib/a.js", "test/a.js", "dist/a.js", "public/a.min.js"]
