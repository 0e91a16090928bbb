"""What a context shows of what was found: sources before their uses, lines around a text, what is needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.context.hit_slices import COMMENT

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


def test_of_a_trace_only_what_the_innermost_frame_uses_is_shown(shop: Shop) -> None:
    frames = ['  File "src/app.py", line 14, in connect_peer', '  File "src/keys.py", line 2, in keys']
    for ordered, shown in ((frames, False), (frames[::-1], True)):
        prompt = "\n".join(["Traceback (most recent call last):", *ordered, "KeyError: no"])
        names = {one["id"] for one in shop.ask(prompt, 2_000)["slices"]}
        assert {"document:src/app.py#App.connect_peer", "document:src/keys.py#keys"} <= names
        assert ("needed:src/limits.py#wait_for" in names) == shown


def test_a_called_name_is_found_by_its_call(shop: Shop) -> None:
    reply = shop.ask("wait_for(3) should return 6, but sleeps", 1_000)
    assert reply["slices"][1]["id"] == "document:src/limits.py#wait_for"


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


RAMPS: Mapping[str, str | bytes] = {
    "src/runner.py": (
        "from .output import LIMIT, emit\n\n\nclass Runner:\n    def ramp_up_workers(self, count):\n        for worker in range(count):\n"
        "            self.await_ramp_up(worker, LIMIT)\n\n    def await_ramp_up(self, worker, limit):\n        emit(worker)\n"
    ),
    "src/output.py": "LIMIT = 3\n\n\ndef emit(text):\n    print(text)\n",
    "src/dispatch.py": (
        "def add_lost(node):\n    # a worker that is lost is replaced\n    return [*nodes, node]\n\n\n"
        "def hand_out(users):\n    return users\n"
    ),
    **{f"src/other_{n}.py": f"def step_{n}(value):\n    return value + {n}\n" for n in range(12)},
}


def test_only_the_best_of_a_second_file_is_shown_in_a_small_context_if_it_is_improbable(
    shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = write_files(tmp_path / "ramps", RAMPS)
    shared_daemon.open_ready(root)
    ramps, prompt = Shop(shared_daemon, root), "the ramp up of workers hangs when a worker is lost"
    reply = ramps.ask(prompt, 1_000)
    weights = {one["id"]: one["weight"] for one in reply["slices"]}
    scores = {one["id"]: one["score"] for one in reply["slices"] if "score" in one}
    second = "document:src/dispatch.py#add_lost"
    assert scores[second] < 0.15 * scores["document:src/runner.py#Runner.ramp_up_workers"]
    another = "document:src/dispatch.py#hand_out"
    assert another not in scores
    assert another in {one["id"] for one in ramps.ask(prompt, 30_000)["slices"]}
    needed = [weight for name, weight in weights.items() if name.startswith("needed:")]
    assert needed
    assert weights[second] > max(needed)


CARTS: Mapping[str, str | bytes] = {
    "src/discounts.py": "def discount_of(cart):\n    return cart.rate\n",
    "src/vouchers.py": "def discount_for(cart):\n    return cart.voucher\n",
    "src/clock.py": "def tick(seconds):\n    return seconds + 1\n",
    "src/prices.py": "def price(count):\n    return count\n",
    "tests/test_prices.py": "from src.prices import price\n\n\ndef test_price():\n    assert price(3) == 3\n",
    **{f"src/other_{n}.py": f"def step_{n}(value):\n    return value + {n}\n" for n in range(12)},
}
FAILURE = "FAILED tests/test_prices.py::test_price - assert 4 == 3"


def test_files_just_edited_come_first_for_a_prompt_that_they_fit(
    shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = write_files(tmp_path / "carts", CARTS)
    shared_daemon.open_ready(root)
    carts = Shop(shared_daemon, root)

    def scores(prompt: str) -> dict[str, float]:
        """Return the probabilities of what a context for a prompt shows, by file."""
        slices = carts.ask(prompt, 2_000)["slices"]
        return {one["path"]: one["score"] for one in slices if "score" in one}

    prompt = "the discount of a cart is wrong"
    before, failed = scores(prompt), scores(FAILURE)
    assert "src/clock.py" not in {*before, *failed}
    assert "needed:src/prices.py#price" in {one["id"] for one in carts.ask(FAILURE, 2_000)["slices"]}
    carts.change("src/vouchers.py")
    carts.change("src/clock.py")
    after = scores(prompt)
    assert after["src/vouchers.py"] > 1.2 * before["src/vouchers.py"]
    assert after["src/discounts.py"] == before["src/discounts.py"]
    assert "src/clock.py" not in after, "the prompt concerns something else"
    assert {"tests/test_prices.py", "src/clock.py"} <= set(scores(FAILURE)), "an edit may have broken a test"


def test_function_that_only_tests_call_says_so(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    files: Mapping[str, str | bytes] = {
        "shop/prices.py": "def round_price(price):\n    return round(price, 2)\n",
        "shop/carts.py": "def cart_weight(cart):\n    return cart.weight\n\n\ncart_weight(None)\n",
        "tests/test_prices.py": "from shop.prices import round_price\n\nround_price(1)\n",
    }
    root = write_files(tmp_path / "p", files)
    shared_daemon.open_ready(root)
    shown = Shop(shared_daemon, root).ask("round_price and cart_weight", 2_000)["context"]
    assert "⋮ line 1, has no callers outside tests and examples\ndef round_price(price):" in shown
    assert "⋮ line 1\ndef cart_weight(cart):" in shown


def test_a_question_about_ci_is_answered_from_its_workflow(
    shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    files: Mapping[str, str | bytes] = {
        ".github/workflows/test.yml": (
            "on:\n  push:\n\njobs:\n  older-python:\n    strategy:\n      matrix:\n        python: [3.11, 3.12]\n"
        ),
        "package.json": '{\n  "scripts": {\n    "lint": "eslint src"\n  }\n}\n',
        "src/carts.py": "def checkout(cart):\n    return cart.versions\n",
        **{f"src/other_{n}.py": f"def step_{n}(value):\n    return value + {n}\n" for n in range(12)},
    }
    root = write_files(tmp_path / "ci", files)
    shared_daemon.open_ready(root)
    reply = Shop(shared_daemon, root).ask("which Python versions does CI check?", 2_000)
    best = max((one for one in reply["slices"] if "score" in one), key=lambda one: one["score"])
    assert best["id"].endswith(":.github/workflows/test.yml#jobs")


@pytest.mark.parametrize(
    ("line", "is_comment"),
    [
        ("  // src/**/*.ts", True),
        ("/** one", True),
        (" * two", True),
        (" *", True),
        (" */", True),
        ("/* one line */", True),
        ("*REG_A = 1;", False),
        ("**argv = 0;", False),
        (";(function () {})();", False),
        ("--count;", False),
        ("/*! lib */!function () {}()", False),
        (" */ run();", False),
    ],
)
def test_code_is_no_comment(line: str, is_comment: bool) -> None:
    assert (COMMENT.match(line) is not None) == is_comment


def test_a_comment_that_is_found_stands_as_the_definition_it_documents(
    shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    rows = "".join(f" * The zebra named stripe {number} crosses the savanna.\n" for number in range(60))
    files: Mapping[str, str | bytes] = {
        "src/walk.ts": f"/**\n{rows} */\nexport function walk(step: number) {{\n  return step;\n}}\n\n/*\n{rows} */\n",
        **{
            f"src/other{n}.ts": f"export function step{n}(v: number) {{ return v + {n}; }}\n"
            for n in range(9)
        },
    }
    root = write_files(tmp_path / "walks", files)
    shared_daemon.open_ready(root)
    reply = Shop(shared_daemon, root).ask("how does the zebra cross the savanna?", 2_000)
    assert [one["id"].partition(":")[2] for one in reply["slices"] if "score" in one] == ["src/walk.ts#walk"]
    assert " * The zebra" not in reply["context"]
