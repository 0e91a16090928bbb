"""A project's questions reach the projects that it links, each under its own rules, and no others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.api.method import declared_methods
from foveal.ipc.errors import INVALID_PARAMS, NOT_FOUND, PERMISSION_DENIED

from tests.conftest import DaemonProcess, git, running_daemon, write_files
from tests.policy_cases import (
    FILES,
    HIDDEN_FROM,
    LIMITED,
    PATH_WORDS,
    REQUESTS,
    SAID,
    LinkerView,
    ask,
    words_in,
)

import_module("foveal.daemon.api.handlers")  # declares every method
READING = [declared.name for declared in declared_methods() if declared.access == "read"]

SHOP = {
    "foveal.toml": 'linked = ["../common", "../private", "../shop", "."]\n',
    "shop/cart.py": "from payments.charge import charge_card\n\n\ndef pay_for(cart):\n"
    "    return charge_card(cart.total)\n\n\ndef round_total(total):\n    return round(total, 2)\n",
    "shop/locks.py": "from vault.locks import bolt_lock\n\n\ndef lock_cart():\n    return bolt_lock()\n",
    "shop/tally.py": "def tally_total():\n    return 2\n\n\ndef shown():\n    return tally_total()\n",
}
PAYMENTS = {
    "foveal.toml": '[agents.reader]\ndeny_paths = ["vault/**"]\n[agents.stranger]\nallow = false\n',
    "payments/charge.py": 'def charge_card(total):\n    """Charge a credit card through the gateway."""\n'
    "    return open_gateway().send(total)\n\n\ndef open_gateway():\n    return object()\n",
    "payments/refund.py": "from payments.charge import open_gateway\n\n\ndef refund_card(total):\n"
    "    return open_gateway().send(-total)\n",
    "vault/keys.py": 'def wombat_key():\n    """Return the wombat key of the gateway."""\n    return 1\n',
    "vault/__init__.py": "",
    "vault/locks.py": "def bolt_lock():\n    return 1\n",
    "payments/__init__.py": "",
    "payments/till.py": "class Till:\n    def tally_total(self):\n        return 1\n\n\n"
    "def close(till: Till):\n    return till.tally_total()\n",
    "tests/test_charge.py": "from payments.charge import charge_card\n\n\ndef test_charge():\n    charge_card(1)\n",
    "pyproject.toml": '[project]\nname = "payments"\n',
    ".env": "WOMBAT_PASSWORD=aardvark\n",
    "AGENTS.md": "# Rules\n\n## Gateway\n\nNever charge a credit card twice through the gateway.\nIt asks for the card.\n",
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
    caller, tested = world.ask("what calls charge_card")["results"]
    assert world.paths("Wer ruft charge_card auf?") == [caller["path"], tested["path"]]
    assert tested["path"] == "../payments/tests/test_charge.py"
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
    assert node["callers"][0] == place | {"node_id": "shop/cart.py#pay_for"}
    there = str(world.folder / "payments")
    reply = world.daemon.call("Query", cwd=there, query="what calls charge_card", all_projects=True)
    assert [each["path"] for each in reply["results"]] == ["tests/test_charge.py", "../shop/shop/cart.py"]
    assert not [each for each in reply["evidence"] if "no callers" in each], "another project calls it"
    assert world.paths("what calls Till.tally_total") == ["../payments/payments/till.py"], "no namesake's"
    [caller] = world.ask("what calls bolt_lock", agent_name="lead")["results"]
    assert (caller["path"], caller["certainty"]) == ("shop/locks.py", "resolved")
    for agent in ("reader", "stranger"):
        found = world.ask("what calls bolt_lock", agent_name=agent)["results"]
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
    assert {each["path"] for each in found[:2]} == {"shop/cart.py", "../payments/payments/charge.py"}
    probabilities = [each["probability"] for each in found]
    assert probabilities == sorted(probabilities, reverse=True)
    assert world.paths("where is round_total defined") == ["shop/cart.py", "../common/common/money.py"], (
        "its own first"
    )
    first, again = (json.dumps(world.ask("round the total")["results"]) for _ in range(2))
    assert first == again


def test_a_path_leads_into_one_project(world: LinkedWorld) -> None:
    question = "charge a credit card"
    assert set(world.paths(question, path_prefix="../payments/payments/")) == {
        "../payments/payments/charge.py",
        "../payments/payments/refund.py",
    }
    assert set(world.paths(question, path_prefix="shop")) == {"shop/cart.py"}
    [caller] = world.ask("what calls charge_card", path_prefix="shop")["results"]
    assert (caller["path"], caller["certainty"]) == ("shop/cart.py", "resolved"), "as without a path"
    there = world.ask("what calls charge_card", path_prefix="../payments")
    assert [each["path"] for each in there["results"]] == ["../payments/tests/test_charge.py"]
    assert not [each for each in there["evidence"] if "no callers" in each], "the shop calls it"
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


def test_status_names_the_links_that_an_agent_may_see(world: LinkedWorld) -> None:
    def links(**fields: Any) -> dict[str, str]:
        [project] = world.daemon.call("Status", cwd=world.root, **fields)["projects"]
        return {each["path"]: each["state"] for each in project["linked"]}

    assert {path: links()[path] for path in ("../payments", "../common")} == {
        "../payments": "ready",
        "../common": "ready",
    }
    assert "../payments" in links(agent_name="reader")
    assert "../payments" not in links(agent_name="stranger")


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


def context(world: LinkedWorld, prompt: str, **fields: Any) -> Any:
    return world.daemon.call("GetContext", cwd=world.root, prompt=prompt, max_tokens=6000, **fields)


def test_a_context_shows_what_is_found_in_linked_projects(world: LinkedWorld) -> None:
    prompt = "charge_card must retry when the gateway refuses the credit card"
    built = context(world, prompt)
    shown = {each["id"]: each for each in built["slices"]}
    assert "document:../payments/payments/charge.py#charge_card" in shown
    assert "### `../payments/payments/charge.py`" in built["context"]
    assert "def charge_card(total):" in built["context"]
    rule = "Never charge a credit card twice"
    assert rule not in context(world, rule)["context"], "rules of another project stay there"
    again = context(world, prompt)
    assert again["cached"]
    assert again["context"] == built["context"]


def test_a_context_follows_changes_in_linked_projects(world: LinkedWorld) -> None:
    prompt = "how does refund_card give the money back?"
    assert "send(-total)" in context(world, prompt)["context"]
    file = world.folder / "payments" / "payments" / "refund.py"
    before = file.read_text()
    file.write_text(before.replace("send(-total)", "send_back(total)"))
    changed = context(world, prompt)
    assert "send_back(total)" in changed["context"]
    assert "send(-total)" not in changed["context"]
    assert not changed["cached"]
    file.write_text(before)
    assert "send(-total)" in context(world, prompt)["context"]
    found = 'def give_money_back():\n    """Give the money back."""\n'
    write_files(world.folder / "payments", {"payments/back.py": found})
    assert "give_money_back" in context(world, prompt, fresh="tree")["context"]


def test_a_definition_of_a_linked_project_can_be_in_focus(world: LinkedWorld) -> None:
    node = "../payments/payments/refund.py#refund_card"
    built = world.daemon.call("GetContext", cwd=world.root, focus_paths=[node])
    assert [each["id"] for each in built["slices"] if each["type"] == "focus"] == [f"focus:{node}"]
    assert "def refund_card(total):" in built["context"]
    assert "`../payments/payments/charge.py` (imported by" in built["context"]
    scope = built["scope_id"]
    expanded = world.daemon.call("ExpandFocus", scope_id=scope, node_ids=["../common/common/money.py"])
    assert expanded["expanded"] == ["../common/common/money.py"]
    assert "round(total, 4)" in world.daemon.call("GetContext", scope_id=scope)["context"]
    outside = world.daemon.error("GetContext", cwd=world.root, focus_paths=["../private/diary.py"])
    assert outside.code == INVALID_PARAMS


def test_who_may_not_see_a_linked_project_cant_tell_it_from_none(world: LinkedWorld) -> None:
    stranger = {"agent_name": "stranger"}
    scope = world.daemon.call("GetContext", cwd=world.root, prompt="tea", **stranger)["scope_id"]
    for method, fields in (
        ("GetContext", lambda path: {"cwd": world.root, "focus_paths": [path]}),
        ("ExpandFocus", lambda path: {"scope_id": scope, "node_ids": [path]}),
        ("ContractFocus", lambda path: {"scope_id": scope, "paths": [path]}),
    ):
        linked, nowhere = (
            world.daemon.error(method, **fields(f"../{name}/payments/charge.py"), **stranger)
            for name in ("payments", "nowhere")
        )
        assert str(linked).replace("payments/payments", "nowhere/payments") == str(nowhere), method


def test_rules_that_appear_inside_a_linked_project_end_cached_contexts(world: LinkedWorld) -> None:
    prompt = {"agent_name": "careful", "fresh": "no"}
    there = "### `../common/common/money.py`"
    question = "round_total must round the total to cents"
    assert there in context(world, question, **prompt)["context"]
    assert context(world, question, **prompt)["cached"]
    inner = world.folder / "common" / "inner"
    git(write_files(inner, {"foveal.toml": '[agents.careful]\ndeny_paths = ["**"]\n'}), "init", "-q")
    world.daemon.call("OpenProject", path=str(inner))
    assert there not in context(world, question, **prompt)["context"]
    world.daemon.call("ForgetProject", path=str(inner))
    shutil.rmtree(inner)


class LinkedView(LinkerView):
    """A project that links one with something hidden in every field, and what `lead` did in it."""

    def __init__(self, world: LinkedWorld) -> None:
        self.daemon, self.number = world.daemon, 0
        self.root, self.own = world.root, {"cwd": world.root}
        ledger = write_files(world.folder / "ledger", FILES)
        git(ledger, "init", "-q")
        world.daemon.open_ready(ledger)
        self.session = "of-lead"
        self.call("CreateSession", **self.own, session_id=self.session, agent_name="lead", name=SAID)
        self.scope, self.users_scope = self.new_scope(), self.new_scope("")
        self.childrens_scopes = [self.child_scope(agent) for agent in LIMITED[:2]]
        fields = {"session_id": self.session, "focus_paths": ["../ledger/secret/quokka.py"]}
        built = self.lead("GetContext", **self.own, **fields, prompt="count the treasure of the numbat")
        self.request, self.context = built["request_id"], built["context_id"]
        about = [f"Mend {ledger}/secret/quokka.py", "Mend ../ledger/secret/quokka.py"]
        self.hidden, self.named = (self.graft(decision, []) for decision in about)
        self.mixed = self.open = self.edited = self.hidden
        self.access = self.call("OpenDashboard", login=False)["token"]

    def new_scope(self, agent: str = "lead") -> str:
        focus = ["../ledger/secret/quokka.py", "../ledger/src/app.py", self.new_name("constraint")]
        found = self.call("GetContext", **self.own, focus_paths=focus, constraints=[SAID], agent_name=agent)
        return str(found["scope_id"])


def led_there(value: Any) -> Any:
    """Return parameters with paths of the linked project in place of those of one with the same files."""
    if isinstance(value, dict):
        return {name: led_there(part) for name, part in value.items()}
    if isinstance(value, list):
        return [led_there(part) for part in value]
    is_path = isinstance(value, str) and value.startswith(("secret", "src/"))
    return f"../ledger/{value}" if is_path else value


def test_limited_agents_learn_of_linked_projects_by_no_method(world: LinkedWorld) -> None:
    shop = Path(world.root, "foveal.toml")
    shop.write_text('linked = ["../ledger"]\n')
    [file] = world.daemon.call("GetTrust", cwd=world.root)["files"]
    world.daemon.call("Trust", cwd=world.root, files=[{name: file[name] for name in ("path", "digest")}])
    view = LinkedView(world)
    assert len(READING) >= 30
    hidden = {**HIDDEN_FROM, "stranger": HIDDEN_FROM["stranger"][:-1]}  # it asks for the ledger itself
    shown: dict[str, set[str]] = {agent: set() for agent in hidden}
    for method in READING:
        for request in REQUESTS[method](view):
            asked = led_there(request)
            for agent, words in hidden.items():
                code, reply = ask(view, method, {**asked, "agent_name": agent})
                assert code != "internal", (method, reply)
                if words_in(reply, asked, words or PATH_WORDS):
                    shown[agent].add(method)
    telling = {"GetContext", "Query", "GetNode", "GetBuiltContext", "GetRequest", "ListContexts"}
    assert shown.pop("lead") >= telling, "without rules it is shown"
    assert shown == {"reader": set(), "clerk": set(), "stranger": set()}
    shop.write_text(SHOP["foveal.toml"])  # isn't trusted, so the link is gone, and what was recorded stays
    for method in ("ExportRequests", "ListContexts", "GetTimeline", "GetBuiltContext", "GetRequest"):
        told = {
            agent
            for asked in map(led_there, REQUESTS[method](view))
            for agent, words in hidden.items()
            if words_in(ask(view, method, {**asked, "agent_name": agent})[1], asked, words or PATH_WORDS)
        }
        assert told == {"lead"}, method
