"""What a context shows of what was found: sources before their uses, lines around a text, what is needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DaemonProcess, write_files

CALLBACKS = "".join(
    f"def test_{n}(app):\n    @app.on_teardown\n    def cleanup_{n}():\n        assert {n}\n\n"
    for n in range(9)
)
SETTINGS = "".join(f"    'OPTION_{n}': {n},\n" for n in range(40))
TOTALS = "".join(f"    fun total_{n}(): Int {{ return {n} }}\n" for n in range(120))
FILES: Mapping[str, str | bytes] = {
    "src/app.py": (
        "from .limits import TRIES, wait_for\n\n\n"
        "class App:\n    def on_teardown(self, function):\n        self.functions.append(function)\n\n"
        "    def finish(self):\n"
        "        for function in reversed(self.functions):\n            function()\n\n"
        "    def connect_peer(self):\n"
        "        for number in range(TRIES):\n            wait_for(number)\n"
    ),
    "src/limits.py": "TRIES = 3\n\n\ndef wait_for(number):\n    sleep(number)\n    return number * 2\n",
    "src/settings.py": f"class Settings:\n  defaults = {{\n{SETTINGS}    'FALLBACK_KEYS': None,\n{SETTINGS}  }}\n",
    "src/keys.py": "def keys(config):\n    return [*config['FALLBACK_KEYS'], 1]\n",
    "tests/dashboard/test_app.py": CALLBACKS,
    "src/Cart.kt": (
        "class Cart(val id: String) {\n    fun open() {\n        println(id)\n    }\n\n    init {\n"
        '        require(id.isNotBlank()) { "cart must not be blank" }\n    }\n\n' + TOTALS + "}\n"
    ),
}


class Shop:
    """The project, asked for contexts."""

    def __init__(self, daemon: DaemonProcess, root: Path) -> None:
        self._daemon = daemon
        self._root = root

    def ask(self, prompt: str, tokens: int) -> Any:
        """Return the reply for a prompt."""
        fields = {"max_tokens": tokens, "reserve_tokens": 0}
        return self._daemon.call("GetContext", cwd=str(self._root), prompt=prompt, **fields)

    def change(self, path: str, **fields: Any) -> None:
        """Give a file an unsaved text, or none."""
        root = str(self._root)
        self._daemon.call("NotifyFile", cwd=root, path=f"{root}/{path}", event="changed", **fields)


@pytest.fixture(scope="module")
def shop(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    root = write_files(tmp_path_factory.mktemp("found") / "shop", FILES)
    shared_daemon.open_ready(root)
    return Shop(shared_daemon, root)


def test_tests_that_use_a_name_stand_behind_its_source(shop: Shop) -> None:
    reply = shop.ask("what calls on_teardown?", 2_000)
    scores = {one["id"]: one["score"] for one in reply["slices"] if "score" in one}
    in_tests = [score for name, score in scores.items() if name.startswith("document:tests/")]
    assert scores["document:src/app.py#App.on_teardown"] > 3 * max(in_tests, default=0.0)


def test_of_a_long_class_the_lines_around_a_text_are_shown(shop: Shop) -> None:
    context = shop.ask("usages of FALLBACK_KEYS", 1_000)["context"]
    assert "'FALLBACK_KEYS': None," in context
    assert "return [*config['FALLBACK_KEYS'], 1]" in context
    assert context.count("'OPTION_") < 20


def test_what_a_definition_names_and_calls_is_shown_beside_it(shop: Shop) -> None:
    reply = shop.ask("how does an app connect to its peer?", 1_000)
    needed = {one["id"]: one["source"] for one in reply["slices"] if one["id"].startswith("needed:")}
    assert needed == {
        "needed:src/limits.py#TRIES": "needed to understand `src/app.py#App.connect_peer`, which names it",
        "needed:src/limits.py#wait_for": "needed to understand `src/app.py#App.connect_peer`, which calls it",
    }
    assert "TRIES = 3\n⋮ line 4\ndef wait_for(number):\n    sleep(number)\n" in reply["context"]


def test_a_called_name_is_found_by_its_call(shop: Shop) -> None:
    reply = shop.ask("wait_for(3) should return 6, but sleeps", 1_000)
    assert reply["slices"][1]["id"] == "document:src/limits.py#wait_for"


def test_what_is_barely_probable_is_left_out_of_a_small_context_first(shop: Shop) -> None:
    prompt = "how are keys of the config read?"
    small, large = (
        {one["id"]: one["score"] for one in shop.ask(prompt, tokens)["slices"] if "score" in one}
        for tokens in (2_000, 30_000)
    )
    best = max(small.values())
    assert set(small) < set(large)
    assert all(score >= 0.15 * best for score in small.values())
    assert min(large.values()) < 0.15 * best


def test_a_text_between_the_members_of_a_class_is_shown(shop: Shop) -> None:
    context = shop.ask("cart must not be blank", 1_000)["context"]
    assert 'require(id.isNotBlank()) { "cart must not be blank" }' in context


def test_nothing_is_shown_twice_where_a_class_and_what_it_holds_are_found(shop: Shop) -> None:
    reply = shop.ask("App, App.finish and App.connect_peer", 8_000)
    assert reply["context"].count("for function in reversed(self.functions)") == 1
    reply = shop.ask("Cart total_3", 20_000)
    assert reply["context"].count("fun total_3(): Int { return 3 }") <= 1


def test_what_is_found_in_an_unsaved_file_is_shown_from_its_buffer(shop: Shop) -> None:
    shop.change("src/keys.py", text="# new\n\n\ndef keys(config):\n    return [config['FALLBACK_KEYS'], 2]\n")
    try:
        reply = shop.ask("how are keys of the config read?", 1_000)
        assert "return [config['FALLBACK_KEYS'], 2]" in reply["context"]
        assert "unsaved" in reply["context"]
    finally:
        shop.change("src/keys.py")
