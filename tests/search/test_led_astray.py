"""Questions of structure that used to lead astray: plain words, constructors, overrides, circles, short names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from foveal.daemon.search.candidates import GatheredCandidates
from foveal.daemon.search.filters import EVERYTHING
from foveal.daemon.search.query import Hit, Relation
from foveal.daemon.search.router import conclude, gather
from foveal.daemon.search.structural import HOW_TO_NAME

from tests.search_cases import Indexed, indexed

FILES: dict[str, str | bytes] = {
    "shop/__init__.py": "from .wire import Request as Request\n",
    "shop/wire.py": (
        "from shop.content import encode\n\n\n"
        "class Request:\n"
        "    def __init__(self, body):\n"
        "        self.body = encode(body)\n\n"
        "    def baskets(self):\n"
        "        return []\n\n\n"
        "class Signed(Request):\n"
        "    pass\n\n\n"
        "def send(request: Request) -> None:\n"
        "    request.baskets()\n\n\n"
        "def build(body):\n"
        "    return Request(body)\n"
    ),
    "shop/content.py": "def encode(body):\n    return body.encode()\n",
    "shop/baskets.py": "class Basket:\n    def add(self, item):\n        pass\n",
    "shop/transport.py": (
        "class Transport:\n"
        "    def handle(self):\n"
        "        raise NotImplementedError\n\n\n"
        "class Remote(Transport):\n"
        "    def handle(self):\n"
        "        translate_errors()\n\n\n"
        "def translate_errors():\n"
        "    pass\n"
    ),
    "shop/client.py": (
        "from shop.transport import Transport\n\n\n"
        "class Client:\n"
        "    def get(self, transport: Transport):\n"
        "        transport.handle()\n"
    ),
    "shop/left.py": "import shop.right\n\ng = 1\n",
    "shop/right.py": "import shop.left\n\n\ndef coro():\n    return shop.left.g\n",
    "shop/middleware/cors.py": "ORIGINS = ()\n",
    "app.py": "from shop import Request\n\nprint(Request)\n",
    "examples/inner/shop.py": "",
    "tests/test_baskets.py": ("from shop.baskets import Basket\n\n\ndef test_adds():\n    Basket().add(1)\n"),
    "tests/test_wire.py": "from shop.wire import send\n\n\ndef test_sends():\n    send(None)\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    return indexed(tmp_path_factory.mktemp("p"), FILES)


def collect(project: Indexed, text: str, relation: Relation | None = None) -> GatheredCandidates:
    with project.reader() as reader, reader.snapshot():
        return gather(text, project.tree, reader, project.handle, EVERYTHING, None, 10, relation)


def answer(project: Indexed, text: str, relation: Relation | None = None) -> list[str]:
    hits = collect(project, text, relation).answer
    assert hits is not None
    return [hit.node_id for hit in hits]


def ranked(project: Indexed, gathered: GatheredCandidates, limit: int = 10) -> Sequence[Hit]:
    with project.reader() as reader, reader.snapshot():
        return conclude(gathered, (), project.tree, reader, limit)


def test_a_plain_word_means_a_module_before_a_method_where_tests_are_asked_for(project: Indexed) -> None:
    assert answer(project, "tests for baskets") == ["tests/test_baskets.py#test_adds"]
    assert answer(project, "tests for Request.baskets") == ["tests/test_wire.py#test_sends"]


def test_a_path_goes_from_a_method_to_those_that_override_it(project: Indexed) -> None:
    gathered = collect(project, "how does Client.get reach translate_errors")
    assert [hit.node_id for hit in gathered.answer or ()] == [
        "shop/client.py#Client.get",
        "shop/transport.py#Transport.handle",
        "shop/transport.py#Remote.handle",
        "shop/transport.py#translate_errors",
    ]
    assert {hit.certainty for hit in gathered.answer or ()} == {"name"}
    assert "connected, if methods are called that override others: " in gathered.evidence[-1]


@pytest.mark.parametrize(
    "text", ["what nobody uses", "what does nobody use", "which functions does no one call"]
)
def test_what_nobody_uses_is_asked_for_in_several_words(project: Indexed, text: str) -> None:
    gathered = collect(project, text)
    assert "shop/wire.py#build" in [hit.node_id for hit in gathered.answer or ()]


def test_a_single_letter_is_a_name(project: Indexed) -> None:
    for text in ("g", "what is g"):
        assert ranked(project, collect(project, text))[0].node_id == "shop/left.py#g"
    assert not collect(project, "a b shop").question.symbols


def test_an_abbreviation_means_the_file_that_bears_it(project: Indexed) -> None:
    assert answer(project, "where is CORS defined") == ["shop/middleware/cors.py"]


def test_a_package_comes_before_a_file_of_its_name(project: Indexed) -> None:
    assert answer(project, "who imports shop") == ["app.py"]


def test_an_empty_answer_of_the_graph_is_followed_by_words(tmp_path: Path) -> None:
    project = indexed(tmp_path, {"shop/cart.py": "def unused_parts():\n    '''Circular imports.'''\n"})
    gathered = collect(project, "circular imports")
    assert (gathered.answer, gathered.route) == (None, "structural")
    assert [hit.path for hit in ranked(project, gathered)] == ["shop/cart.py"]
    assert collect(project, "circular imports", "cycles").answer == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "what calls Cart.drop?",
            "no callers: nothing in the project is named `Cart.drop`; there is c.py#Cart",
        ),
        ("what calls zzyzx", f"no callers: nothing in the project is named `zzyzx`; {HOW_TO_NAME}"),
        ("what calls fill", "no callers of fill are known"),
        (
            "what calls fil_cart",
            "no callers: nothing in the project is named `fil_cart`; the nearest names are",
        ),
        ("how do Cart and fill connect", "no path of at most 14 references connects them"),
        ("section Nowhere", "there is no section Nowhere"),
    ],
)
def test_what_there_is_not_is_said_in_one_line_and_nothing_else_is_shown(
    cart: Indexed, text: str, line: str
) -> None:
    gathered = collect(cart, text)
    assert (gathered.answer, gathered.is_final) == ((), True)
    assert gathered.evidence[-1].startswith(line)


@pytest.mark.parametrize(
    "text",
    [
        "what calls happen when a cart is filled",  # no name
        "who uses zzyzx",  # perhaps a concept
        "what calls Cart.drop? The cart stays full.",  # more than that is asked
        "why is Cart.drop gone",
    ],
)
def test_other_questions_about_what_there_is_not_are_searched(cart: Indexed, text: str) -> None:
    assert not collect(cart, text).is_final


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("section Filling", ["guide.rst#Carts/Filling"]),
        ("section carts", ["guide.rst#Carts"]),
        ("the Filling section says what of drop", None),
    ],
)
def test_a_section_is_found_by_its_title(cart: Indexed, text: str, found: list[str] | None) -> None:
    gathered = collect(cart, text)
    assert gathered.route == "positional"
    assert found == (None if gathered.answer is None else [hit.node_id for hit in gathered.answer])


def test_a_relation_of_code_is_not_asked_of_documents(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.py": "import logging\n\n\ndef warn():\n    logging.warning('certificates')\n",
        "docs/logging.rst": "Logging\n=======\n\nOn logs.\n",
        "docs/certificates.md": "# Certificates\n\nOn trust.\n",
    }
    project = indexed(tmp_path, files)
    for text in ("what imports logging", "what uses logging", "what breaks if logging changes"):
        assert answer(project, text) == ["a.py"], "the module outside of the project"
    gathered = collect(project, "who uses certificates")
    assert (gathered.answer, gathered.is_final) == (None, False)
    assert "no code is named `certificates`, only documents or data" in gathered.evidence[-2]
    assert {hit.path for hit in ranked(project, gathered)} == {"a.py", "docs/certificates.md"}
    assert answer(project, "where is logging defined") == ["docs/logging.rst"]


@pytest.fixture(scope="module")
def cart(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    files: dict[str, str | bytes] = {
        "c.py": "class Cart:\n    pass\n\n\ndef fill():\n    pass\n\n\ndef fill_carts():\n    fill_cart_twice()\n",
        "guide.rst": "Carts\n=====\n\nHow they are kept.\n\nFilling\n-------\n\nOne by one.\n",
    }
    return indexed(tmp_path_factory.mktemp("cart"), files)


def test_as_many_files_are_found_as_are_asked_for(tmp_path: Path) -> None:
    # Each file has so many chunks with the word that the usual candidates lie in a third of them.
    lines = "    x = 1\n" * 60
    body = "".join(f"def treasure_{part}():\n    treasure = 1\n{lines}\n\n" for part in range(20))
    project = indexed(tmp_path, {f"pkg/m{number:02}.py": body + f"# {number}\n" for number in range(60)})
    with project.reader() as reader, reader.snapshot():
        found = []
        for limit in (10, 100):
            gathered = gather(
                "treasure", project.tree, reader, project.handle, EVERYTHING, None, limit, None, limit
            )
            found.append([hit.path for hit in conclude(gathered, (), project.tree, reader, limit)])
    assert len(found[0]) == 10
    assert len(found[1]) == len(set(found[1])) == 60
