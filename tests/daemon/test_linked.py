"""A project's questions reach the projects that it links, each under its own rules, and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from foveal.ipc.errors import INVALID_PARAMS, NOT_FOUND, PERMISSION_DENIED

from tests.conftest import DaemonProcess, git, running_daemon, write_files

SHOP = {
    "foveal.toml": 'linked = ["../common", "../private", "../shop", "."]\n',
    "shop/cart.py": "from payments.charge import charge_card\n\n\ndef pay_for(cart):\n"
    "    return charge_card(cart.total)\n\n\ndef round_total(total):\n    return round(total, 2)\n",
    "shop/locks.py": "from vault.locks import quokka_lock\n\n\ndef lock_cart():\n    return quokka_lock()\n",
}
PAYMENTS = {
    "foveal.toml": '[agents.reader]\ndeny_paths = ["vault/**"]\n[agents.stranger]\nallow = false\n',
    "payments/charge.py": 'def charge_card(total):\n    """Charge a credit card through the gateway."""\n'
    "    return open_gateway().send(total)\n\n\ndef open_gateway():\n    return object()\n",
    "payments/refund.py": "from payments.charge import open_gateway\n\n\ndef refund_card(total):\n"
    "    return open_gateway().send(-total)\n",
    "vault/keys.py": 'def wombat_key():\n    """Return the wombat key of the gateway."""\n    return 1\n',
    "vault/__init__.py": "",
    "vault/locks.py": "def quokka_lock():\n    return 1\n",
    "payments/__init__.py": "",
    "pyproject.toml": '[project]\nname = "payments"\n',
    ".env": "WOMBAT_PASSWORD=aardvark\n",
    "AGENTS.md": "Never charge a credit card twice through the gateway.\n",
}
COMMON = {"common/money.py": "def round_total(total):\n    return round(total, 4)\n"}
PRIVATE = {"diary.py": 'def numbat_diary():\n    """Write the numbat diary."""\n'}
ELSEWHERE = {"elsewhere/tea.py": 'def brew_tea():\n    """Brew a pot of green tea."""\n'}


class LinkedWorld:
    """A daemon with a shop, which links payments and common, and names what it may not link."""

    def __init__(self, daemon: DaemonProcess, folder: Path) -> None:
        self.daemon, self.folder = daemon, folder
        self.root = str(folder / "shop")

    def ask(self, query: str, **fields: Any) -> Any:
        return self.daemon.call("Query", cwd=self.root, query=query, **fields)

    def paths(self, query: str, **fields: Any) -> list[str]:
        return [each["path"] for each in self.ask(query, **fields)["results"]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LinkedWorld]:
    base, folder = tmp_path_factory.mktemp("d"), tmp_path_factory.mktemp("src")
    config = f'[linked]\n"{folder}/shop" = ["../payments", "../later"]\nallow = ["{folder}/comm*"]\n'
    write_files(base, {"config/config.toml": config})
    for name, files in (
        ("shop", SHOP),
        ("payments", PAYMENTS),
        ("common", COMMON),
        ("private", PRIVATE),
        ("elsewhere", ELSEWHERE),
    ):
        git(write_files(folder / name, files), "init", "-q")
    (folder / "payments" / "out.py").symlink_to(folder / "private" / "diary.py")
    with running_daemon(base) as daemon:
        for name in ("payments", "common", "elsewhere", "shop"):
            daemon.open_ready(folder / name)
        yield LinkedWorld(daemon, folder)


def test_a_question_finds_what_is_in_a_linked_project(world: LinkedWorld) -> None:
    reply = world.ask("where is charge_card defined", for_agent=True)
    [result] = reply["results"]
    assert result["node_id"] == "../payments/payments/charge.py#charge_card"
    assert (result["repository"], result["root"]) == ("payments", str(world.folder / "payments"))
    assert result["definition"].startswith("def charge_card(total):")
    assert (Path(world.root) / result["path"]).is_file(), "an agent can open it"
    assert reply["project"] == world.root
    node = world.daemon.call("GetNode", cwd=world.root, node_id=result["node_id"])
    assert node["definition"] == result["definition"]
    assert [each["node_id"] for each in node["callees"] if "node_id" in each] == [
        "../payments/payments/charge.py#open_gateway"
    ]
    absolute = f"{world.folder}/payments/payments/charge.py"
    assert world.daemon.call("GetNode", cwd=world.root, node_id=absolute)["path"] == result["path"]


def test_relations_are_answered_from_linked_projects(world: LinkedWorld) -> None:
    reply = world.ask("what calls open_gateway")
    assert [(each["path"], each["enclosing"], each["certainty"]) for each in reply["results"]] == [
        ("../payments/payments/charge.py", "charge_card", "resolved"),
        ("../payments/payments/refund.py", "refund_card", "resolved"),
    ]
    assert reply["route"] == "structural"


def test_callers_over_the_border_are_certain_for_those_who_may_see_both_sides(world: LinkedWorld) -> None:
    [caller] = world.ask("what calls charge_card")["results"]
    assert (caller["path"], caller["enclosing"], caller["certainty"]) == (
        "shop/cart.py",
        "pay_for",
        "resolved",
    )
    assert caller["why"] == ["calls it, defined in ../payments"]
    [called] = world.ask("what does pay_for call")["results"]
    assert called["node_id"] == "../payments/payments/charge.py#charge_card"
    assert called["via"] == "shop: shop/cart.py:5"
    node = world.daemon.call("GetNode", cwd=world.root, node_id="shop/cart.py#pay_for")
    place = {"path": "shop/cart.py", "line": 5, "certainty": "resolved"}
    assert node["callees"] == [place | {"node_id": called["node_id"]}]
    node = world.daemon.call("GetNode", cwd=world.root, node_id=called["node_id"])
    assert node["callers"] == [place | {"node_id": "shop/cart.py#pay_for"}]
    [caller] = world.ask("what calls quokka_lock", agent_name="lead")["results"]
    assert (caller["path"], caller["certainty"]) == ("shop/locks.py", "resolved")
    for agent in ("reader", "stranger"):
        found = world.ask("what calls quokka_lock", agent_name=agent)["results"]
        assert [(each["path"], each["certainty"]) for each in found] == [("shop/locks.py", "name")], agent
        assert "payments" not in json.dumps(found), agent
        assert "payments" not in json.dumps(
            world.ask("what does lock_cart call", agent_name=agent)["results"]
        )
        node = world.daemon.call(
            "GetNode", cwd=world.root, node_id="shop/locks.py#lock_cart", agent_name=agent
        )
        assert "payments" not in json.dumps(node["callees"]), agent


def test_results_of_all_projects_are_ordered_by_probability(world: LinkedWorld) -> None:
    found = world.ask("charge a credit card through the gateway")["results"]
    assert found[0]["path"] == "../payments/payments/charge.py"
    probabilities = [each["probability"] for each in found]
    assert probabilities == sorted(probabilities, reverse=True)
    assert world.paths("round_total")[:2] == ["shop/cart.py", "../common/common/money.py"], "its own first"
    first, again = (json.dumps(world.ask("round the total")["results"]) for _ in range(2))
    assert first == again


def test_a_path_leads_into_one_project(world: LinkedWorld) -> None:
    question = "charge a credit card"
    assert set(world.paths(question, path_prefix="../payments/payments/")) == {
        "../payments/payments/charge.py",
        "../payments/payments/refund.py",
    }
    assert set(world.paths(question, path_prefix="shop")) == {"shop/cart.py"}
    outside = world.daemon.error("Query", cwd=world.root, query=question, path_prefix="../private")
    assert outside.code == INVALID_PARAMS


def test_nothing_is_linked_that_the_user_did_not_allow(world: LinkedWorld) -> None:
    reply = world.ask("the numbat diary")
    assert "diary" not in json.dumps(reply["results"])
    [warning] = [each for each in reply["degraded"] if "../private" in each]
    assert "the user hasn't allowed it" in warning
    assert "foveal trust" in warning
    assert world.daemon.error("GetNode", cwd=world.root, node_id="../private/diary.py").code == INVALID_PARAMS
    [file] = world.daemon.call("GetTrust", cwd=world.root)["files"]
    wanted = [{"path": file["path"], "digest": file["digest"]}]
    world.daemon.call("Trust", cwd=world.root, files=wanted)
    world.daemon.open_ready(world.folder / "private")
    assert world.paths("where is numbat_diary defined") == ["../private/diary.py"]
    world.daemon.call("RevokeTrust", cwd=world.root)
    assert "diary" not in json.dumps(world.ask("the numbat diary")["results"])


def test_a_folder_that_is_missing_is_named_and_linked_once_it_is_there(world: LinkedWorld) -> None:
    assert any(each.startswith("../later can't be linked") for each in world.ask("tea")["degraded"])
    git(write_files(world.folder / "later", {"kettle.py": "def boil_kettle():\n    pass\n"}), "init", "-q")
    world.daemon.open_ready(world.folder / "later")
    reply = world.ask("where is boil_kettle defined")
    assert [each["path"] for each in reply["results"]] == ["../later/kettle.py"]
    assert not any("later" in each for each in reply["degraded"])


def test_agents_see_of_a_linked_project_what_its_rules_allow(world: LinkedWorld) -> None:
    key = "../payments/vault/keys.py"
    assert world.paths("where is wombat_key defined", agent_name="lead") == [key]
    for agent in ("reader", "stranger"):
        for query in ("where is wombat_key defined", "the wombat key of the gateway"):
            found = json.dumps(world.ask(query, agent_name=agent)["results"])
            assert "wombat" not in found, agent
        refused = world.daemon.error("GetNode", cwd=world.root, node_id=key, agent_name=agent)
        assert refused.code in {PERMISSION_DENIED, INVALID_PARAMS, NOT_FOUND}
    assert world.paths("what calls open_gateway", agent_name="reader") != []
    stranger = world.ask("what calls open_gateway", agent_name="stranger")
    assert "payments" not in json.dumps([stranger["results"], stranger["degraded"]])
    refused = world.daemon.error(
        "GetNode", cwd=world.root, node_id="../payments/payments/charge.py", agent_name="stranger"
    )
    nowhere = world.daemon.error("GetNode", cwd=world.root, node_id="../nowhere/a.py", agent_name="stranger")
    assert str(refused).replace("payments/payments/charge", "nowhere/a") == str(nowhere)


def test_rules_of_a_linked_project_hold_from_their_next_change_on(world: LinkedWorld) -> None:
    rules = world.folder / "payments" / "foveal.toml"
    before = rules.read_text()
    rules.write_text(before + '[agents.lead]\ndeny_paths = ["payments/refund.py"]\n')
    assert world.paths("what calls open_gateway", agent_name="lead") == ["../payments/payments/charge.py"]
    rules.write_text(before)
    assert len(world.paths("what calls open_gateway", agent_name="lead")) == 2


def test_secrets_and_files_behind_symlinks_stay_where_they_are(world: LinkedWorld) -> None:
    assert "aardvark" not in json.dumps(world.ask("WOMBAT_PASSWORD", limit=50))
    refused = world.daemon.error("GetNode", cwd=world.root, node_id="../payments/.env")
    assert refused.code == PERMISSION_DENIED
    assert "diary" not in json.dumps(world.ask("numbat diary", path_prefix="../payments")["results"])
    behind = world.daemon.error("GetNode", cwd=world.root, node_id="../payments/out.py")
    assert behind.code in {INVALID_PARAMS, NOT_FOUND, PERMISSION_DENIED}


def test_all_projects_are_asked_on_request(world: LinkedWorld) -> None:
    assert "tea.py" not in json.dumps(world.ask("brew a pot of green tea")["results"])
    found = world.ask("where is brew_tea defined", all_projects=True)["results"]
    assert [each["node_id"] for each in found] == ["../elsewhere/elsewhere/tea.py#brew_tea"]
    assert found[0]["root"] == str(world.folder / "elsewhere")
    stranger = world.ask("what calls open_gateway", all_projects=True, agent_name="stranger")
    assert "payments" not in json.dumps(stranger["results"])
