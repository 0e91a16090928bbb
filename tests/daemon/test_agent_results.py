"""Agents get one clearly best place whole with what it needs, else the few places that may be it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DaemonProcess, write_files

FILES: dict[str, str | bytes] = {
    "shop/limits.py": "MOST_TRIES = 3\n\n\ndef wait(tries: int) -> float:\n    return 2.0 ** tries\n",
    "shop/retry.py": (
        "from .limits import MOST_TRIES, wait\n\n\n"
        "class Retrying(Base):\n"
        "    def pause_before_retry(self, tries):\n"
        '        """Return the pause before a payment is sent again."""\n'
        "        if tries > MOST_TRIES:\n            raise TooManyTries(f'gave up after {tries} tries')\n"
        "        return wait(tries)\n"
    ),
    **{
        f"shop/part{number}.py": f"def part{number}(basket):\n    return basket.price * {number}\n"
        for number in range(9)
    },
}


@pytest.fixture(scope="module")
def root(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> str:
    root = write_files(tmp_path_factory.mktemp("agent") / "p", FILES)
    shared_daemon.open_ready(root)
    return str(root)


def ask(daemon: DaemonProcess, root: str, query: str, **options: Any) -> list[dict[str, Any]]:
    reply = daemon.call("Query", cwd=root, query=query, for_agent=True, **{"limit": 4, **options})
    results: list[dict[str, Any]] = reply["results"]
    return results


@pytest.mark.parametrize("query", ["gave up after 12 tries", "where is Retrying.pause_before_retry defined?"])
def test_the_best_place_comes_whole_with_what_it_needs(
    shared_daemon: DaemonProcess, root: str, query: str
) -> None:
    (best,) = ask(shared_daemon, root, query)
    assert (best["node_id"], best["truncated"]) == ("shop/retry.py#Retrying.pause_before_retry", False)
    assert best["definition"].split("\n")[0] == "    def pause_before_retry(self, tries):"
    assert best["definition"].endswith("return wait(tries)")
    assert [(one["role"], one["node_id"], one["text"].strip()) for one in best["needs"]] == [
        ("within", "shop/retry.py#Retrying", "class Retrying(Base):"),
        ("value", "shop/limits.py#MOST_TRIES", "MOST_TRIES = 3"),
        ("call", "shop/limits.py#wait", "def wait(tries: int) -> float:"),
    ]


def test_several_that_may_be_it_are_few_and_by_probability(shared_daemon: DaemonProcess, root: str) -> None:
    results = ask(shared_daemon, root, "basket price")
    probabilities = [one["probability"] for one in results]
    assert 1 < len(results) <= 4
    assert probabilities == sorted(probabilities, reverse=True)
    assert all("definition" not in one and one["snippet"] for one in results)
    assert len(ask(shared_daemon, root, "basket price", limit=2)) == 2


def test_only_definitions_of_chosen_kinds_are_shown(shared_daemon: DaemonProcess, root: str) -> None:
    for kinds in (["class"], ["method"], ["constant"]):
        results = ask(shared_daemon, root, "retrying after most tries with a pause", kinds=kinds)
        assert {one["kind"] for one in results} == set(kinds)


def test_definitions_of_one_chunk_each_show_their_own_lines(
    shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    names = ("open", "close")
    text = "".join(f"def {name}_parcel(box):\n    return box.{name}\n\n\n" for name in names)
    root = write_files(tmp_path / "p", {"parcels.py": text})
    shared_daemon.open_ready(root)
    results = ask(shared_daemon, str(root), "parcel box")
    assert sorted((one["start_line"], one["snippet_line"], one["snippet"]) for one in results) == [
        (1, 1, "def open_parcel(box):\n    return box.open"),
        (5, 5, "def close_parcel(box):\n    return box.close"),
    ]


def test_usages_that_the_graph_does_not_know_are_not_one_place(
    shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    files = {f"{name}.py": f"def {name}(config):\n    return config['KEY_LIFE'] + 1\n" for name in ("a", "b")}
    root = write_files(tmp_path / "p", files)
    shared_daemon.open_ready(root)
    results = ask(shared_daemon, str(root), "usages of KEY_LIFE")
    assert sorted((one["path"], one["line"]) for one in results) == [("a.py", 2), ("b.py", 2)]


def test_references_are_a_line_each(shared_daemon: DaemonProcess, root: str) -> None:
    (call,) = ask(shared_daemon, root, "who calls wait?")
    assert (call["path"], call["line"], "definition" in call) == ("shop/retry.py", 9, False)
    assert ask(shared_daemon, root, "zzyzx qwfpgj") == []


def test_callers_come_completely(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    calls = "".join(f"def use{number}():\n    sell()\n\n\n" for number in range(30))
    root = write_files(
        tmp_path / "p", {"shop.py": "def sell():\n    pass\n", "tests/test_shop.py": f"import shop\n{calls}"}
    )
    shared_daemon.open_ready(root)
    found = ask(shared_daemon, str(root), "who calls sell", limit=1)
    assert [one["symbol"] for one in found] == [f"use{number}" for number in range(30)]
    whole = shared_daemon.call("Query", cwd=str(root), query="who calls sell", for_agent=True)
    assert "sell has no callers outside tests and examples" in whole["evidence"]
    (best,) = ask(shared_daemon, str(root), "sell", relation="definition")
    assert best["remark"] == "has no callers outside tests and examples"
    plain = shared_daemon.call("Query", cwd=str(root), query="who calls sell", limit=3)
    assert len(plain["results"]) == 3, "a limit is a person's"
