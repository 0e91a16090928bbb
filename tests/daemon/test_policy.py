"""What an agent may not see reaches it through no method: hidden files, files of secrets, values of secrets.

The matrix of all methods and kinds of agents is in `test_policy_matrix.py`; here a few methods are asked with many
requests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.api.deliveries import LIST_MAX
from foveal.ipc.errors import PERMISSION_DENIED, RpcError

from tests.conftest import DEADLINE_S, DaemonProcess, git, write_files
from tests.policy_cases import QUERIES as MATRIX_QUERIES
from tests.search_cases import until

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
KEY_BODY = "\n".join("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj" for _ in range(24))
HIDDEN = ("quokka", "numbat", "bilby")
"""Words in the names and the contents of hidden files, and nowhere else."""
AWS_SECRET = "q7Zr2kVn8Lx4Tb9Wd3Hs6Jf1Mc5Pg0" + "Ya/E+uRoXiN4"[:10]
AWS_ID = "AKIA" + "Q3ZK7LXV2TBN5WDH"
WORDS = ("pangolin7", "axolotl-eight", "okapimeadow", "tapir!garden", "dugong", "kakapo4you", "narwhal=bay")
"""What people choose, each in another form, and all of letters but for a digit or two."""
SECRETS = ("wombat99", TOKEN, TOKEN[:20], KEY_BODY[:40], AWS_SECRET, *WORDS)
"""What stands in files of secrets, and values in files that anybody may see."""

FILES: Mapping[str, str | bytes] = {
    "foveal.toml": """
[agents.intern]
deny_paths = ["Secret/**", "**/*.bilby"]
deny_items = ["rule:style", "tool"]
max_tokens = 3000
[agents.stranger]
allow = false
[agents.kind]
deny_paths = ["secret/**", "**/*.bilby"]
deny_items = ["rule:sty*"]
[[items]]
type = "reference"
name = "style"
text = "Write short lines about ledgers."
[[items]]
type = "rule"
name = "style"
include = "agent"
description = "bilby rules"
text = "bilby numbat quokka rules for ledgers"
""",
    "src/app.py": f'''"""Open the ledger."""
from secret import thing

API = "{TOKEN}"


def helper(token="{TOKEN}"):
    """Help with the ledger."""
    return token


def run():
    """Run the ledger."""
    return thing() + helper()
''',
    "src/store.py": '''"""Keep the ledger."""


def connect(server, become_pass="okapimeadow"):
    """Connect to the ledger as root with the password `axolotl-eight`."""
    return server.open("Server=db;User Id=sa;Password=Pangolin7;Encrypt=True", become_pass)


class Store:
    """The store of the ledger, at postgres://ledger:dugong@db/ledger."""

    LOGIN = "{\\"user\\":\\"a\\",\\"password\\":\\"tapir!garden\\"}"
''',
    "docs/store.md": f"# Store of the ledger\n\n## Reads {AWS_ID}\n\nThe secret is {AWS_SECRET} there.\n",
    "config/store.xml": "<store>\n  <password>kakapo4you</password>\n  <db pwd='narwhal=bay'/>\n</store>\n",
    "src/other.py": "from src.app import helper\n\n\ndef work():\n    return helper()\n",
    "src/keys.py": f'KEY = """-----BEGIN PRIVATE KEY-----\n{KEY_BODY}\n-----END PRIVATE KEY-----"""\n',
    "secret/__init__.py": "from .quokka import Numbat as thing\n",
    "secret/quokka.py": '''"""The numbat ledger of the treasure chamber."""
from src.app import helper


class Numbat:
    """Count the treasure."""

    def numbat_total(self):
        return helper()


def numbat_caller():
    return helper()
''',
    "secret/AGENTS.md": "Always feed the numbat before the ledger.\n",
    "secret/notes.md": "# Numbat\n\nThe numbat is fed by the ledger.\n",
    "docs/plan.bilby": "the bilby plan of the ledger\n",
    "CLAUDE.md": "Rules of the ledger.\n\n@secret/notes.md\n",
    "AGENTS.md": "Keep the ledger tidy.\n",
    ".env": "LEDGER_PASSWORD=wombat99\n",
    "config/.ENV.local": "LEDGER_PASSWORD=wombat99\n",
    "config/service.pem": f"-----BEGIN PRIVATE KEY-----\n{KEY_BODY}\n-----END PRIVATE KEY-----\nwombat99\n",
    "README.md": "# Ledger\n\nSee the code.\n",
}


class Asked:
    """A daemon with the project, a scope, a session, a request and experiences that others left."""

    def __init__(self, daemon: DaemonProcess, root: Path) -> None:
        self.daemon, self.root = daemon, str(root)
        for path in ("secret/quokka.py", "src/other.py"):
            daemon.call("NotifyFile", cwd=self.root, path=path, event="opened")
        self.scope_id = daemon.call(
            "GetContext",
            cwd=self.root,
            focus_paths=["secret/quokka.py", "src/app.py"],
            constraints=["keep off secret/quokka.py", "keep off the ledger"],
            agent_name="lead",
        )["scope_id"]
        session = daemon.call("CreateSession", cwd=self.root, session_id="of-another", name="s")
        self.session_id = session["session_id"]
        daemon.call(
            "UpdateSession",
            session_id=self.session_id,
            current_intent="mend secret/quokka.py",
            context={"files": [f"{self.root}/secret/quokka.py", f"{self.root}/src/app.py"], "urls": []},
            set_context={"set_name": "notes", "items": ["look at secret/quokka.py", "read the ledger"]},
        )
        self.request_id = daemon.call(
            "GetContext",
            cwd=self.root,
            session_id=self.session_id,
            prompt="treasure numbat",
            focus_paths=["secret/quokka.py"],
        )["request_id"]
        for decision, files in (
            ("Feed it daily", ["secret/quokka.py"]),
            ("Tidy the ledger", ["secret/quokka.py", "src/app.py"]),
            ("Move secret/quokka.py away", ["src/app.py"]),
        ):
            daemon.call(
                "GraftExperience",
                cwd=self.root,
                experience={
                    "decision": decision,
                    "agent_id": "a",
                    "session_id": "s",
                    "files_touched": files,
                    "rationale": f"the token is {TOKEN}, of {AWS_ID}",
                    "outcome": {"kind": "failure", "error": f"denied: {AWS_SECRET}, pw is Kakapo4you"},
                },
            )
        listed = daemon.call("ListExperiences", cwd=self.root)
        self.experience_ids = [one["experience_id"] for one in listed["experiences"]]

    def ask(self, method: str, **fields: Any) -> str:
        """Return a reply, or the error, as one text."""
        try:
            return json.dumps(self.daemon.call(method, **fields), ensure_ascii=False)
        except RpcError as error:
            return f"{error.code}: {error}"


@pytest.fixture(scope="module")
def asked(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    root = write_files(tmp_path_factory.mktemp("policy") / "ledger", FILES)
    (root / "src" / "link.py").symlink_to("../secret/quokka.py")
    (root / "src" / "link.txt").symlink_to("../.env")
    (root / "linked").symlink_to("secret")
    git(root, "init", "-q")
    git(root, "add", "-Af", ".")
    git(root, "commit", "-qm", "Begin with secret/quokka.py")
    shared_daemon.open_ready(root)
    return Asked(shared_daemon, root)


PROMPTS = (
    "",
    "where is the treasure chamber counted?",
    "who calls helper?",
    "what does src/app.py#run call",
    "open LEDGER_PASSWORD",
)
FORMATS = ("markdown", "json", "messages", "prompts")
GIVEN_ASKED = 60
"""So many contexts are asked for, those given last, and a quarter of them why files are in them."""
QUERIES = (
    *MATRIX_QUERIES,
    "callers of helper",
    "where is Numbaat defined",
    "callers of numbaat_total",
    "outline of secret/quokkka.py",
    "tests of helper",
    "how is run connected to helper",
    "subclasses of Numbbat",
    "LEDGER_PASSWORD",
    "deny_paths of agents",
    "API token",
    "feed the animal before the ledger",
    "connect to the store of the ledger",
    "where is become_pass used",
    "secret of the bucket in docs/store.md",
    "outline of src/store.py",
)


def calls(asked: Asked) -> dict[str, list[dict[str, Any]]]:
    """Return what methods that tell most of a project are asked, as cunningly as can be.

    What a request says itself may come back, so none names a hidden word.
    """
    cwd, session, own = asked.root, asked.session_id, {"cwd": asked.root}
    focus: list[list[str]] = [
        ["secret"],
        ["secret/**"],
        ["**/*.py", "**/*"],
        ["."],
        ["src/app.py", "src/link.py", "src/link.txt", "linked", "SECRET"],
        ["src/app.py#run", "src/app.py#helper", "src/keys.py"],
        ["src/store.py", "docs/store.md", "config/store.xml"],
        ["src/store.py#connect", "src/store.py#Store"],
        [".env", "config", "config/.ENV.local", "config/service.pem", ".ENV"],
        ["secret/__init__.py#thing", "secret/AGENTS.md", "secret/notes.md"],
    ]
    contexts: list[dict[str, Any]] = [
        {**own, "focus_paths": paths, "prompt": prompt, "format": form, "max_tokens": 2900}
        for paths in focus
        for prompt, form in zip(PROMPTS, (*FORMATS, "markdown"), strict=True)
    ]
    contexts += [
        {"scope_id": asked.scope_id, "format": form, "prompt": "ledger treasure"} for form in FORMATS
    ]
    contexts += [{**own, "session_id": session, "prompt": "the ledger", "format": form} for form in FORMATS]
    contexts += [
        {**own, "parent_scope_id": asked.scope_id},
        {**own, "focus_paths": ["src/app.py", "secret"], "prompt": "ledger", "deadline_ms": 1},
        {**own, "focus_paths": ["secret"], "prompt": "ledger", "fresh": "tree"},
        {**own, "focus_paths": ["src/app.py"], "prompt": "ledger", "fresh": "no", "delta": True},
        {**own, "prompt": "ledger", "include_items": [{"type": "rule", "name": "style"}]},
        {**own, "prompt": "ledger", "include_items": [{"type": "rule", "name": "CLAUDE.md"}]},
        {**own, "session_id": session, "prompt": "ledger", "agent_id": "child", "max_bytes": 900},
    ]
    nodes = ["src/app.py", "src/app.py#run", "src/app.py#helper", "src/link.py", "src/link.txt", ".env"]
    nodes += ["secret/__init__.py", "secret/__init__.py#thing", "secret", "src/keys.py", "config/.ENV.local"]
    nodes += [
        "foveal.toml",
        "linked/__init__.py",
        "SECRET/__init__.py",
        "CLAUDE.md",
        "secret/AGENTS.md",
        "src/other.py#work",
        "src/store.py",
        "src/store.py#connect",
        "src/store.py#Store",
        "docs/store.md",
        "config/store.xml",
    ]
    each = [{**own, "experience_id": one} for one in asked.experience_ids]
    listed = asked.daemon.call("ListContexts", cwd=cwd, limit=LIST_MAX)["contexts"]
    given = [one["context_id"] for one in listed]
    return {
        "GetContext": contexts,
        "ListContexts": [own, {}, {**own, "limit": LIST_MAX}, {"session_id": session}],
        "GetBuiltContext": [{"context_id": one} for one in given[:GIVEN_ASKED]],
        "ExplainPath": [
            {"context_id": one, "path": path}
            for one in given[:GIVEN_ASKED:4]
            for path in (
                "src/app.py",
                "src/link.py",
                "linked/__init__.py",
                "secret/none.py",
                "x/keys.py",
                "docs",
            )
        ],
        "Query": [
            {**own, "query": query, "limit": 50, **extra}
            for query in QUERIES
            for extra in (
                {},
                {"route": "structural"},
                {"route": "semantic"},
                {"path_prefix": "secret/"},
                {"glob": "**/*"},
                {"scope_id": asked.scope_id},
            )
        ],
        "FindSymbols": [
            {**own, "query": part, "limit": 500}
            for part in ("t", "thing", "secret.th", "run", "hlp", "key", "connect", "LOGIN")
        ],
        "FindFiles": [{**own, "query": part, "limit": 500} for part in ("e", "/", ".py", "secret/q")],
        "GetNode": [{**own, "node_id": node} for node in nodes],
        "GetScope": [{"scope_id": asked.scope_id}],
        "ListExperiences": [own, {**own, "query": "ledger"}, {**own, "limit": 1}],
        "GetExperience": each,
        "ListItems": [own],
        "SearchItems": [{**own, "query": "ledger rules", "floor": -1, "include_score": -1}],
        "GetSession": [{"session_id": session}],
        "GetRelevantContext": [{"session_id": session}, {"session_id": session, "set_name": "notes"}],
        "ListRequests": [{"session_id": session}],
        "GetRequest": [{"session_id": session, "request_id": asked.request_id}],
        "ExportRequests": [{"session_id": session, "content": True}, {**own, "content": True}],
    }


def shown(asked: Asked, words: tuple[str, ...], agent: Mapping[str, str]) -> list[str]:
    """Return what of some words any method says to an agent, with the request."""
    found = []
    for method, requests in calls(asked).items():
        for request in requests:
            reply = asked.ask(method, **request, **agent).lower()
            found += [
                f"{method} {request}: {word} in …{reply[max(place - 90, 0) : place + 40]}…"
                for word in words
                if (place := reply.find(word.lower())) >= 0
            ]
    return found


def test_what_is_hidden_from_an_agent_is_told_by_no_method(asked: Asked) -> None:
    assert shown(asked, HIDDEN, {"agent_name": "intern"}) == []


def test_it_is_hidden_by_type_and_for_who_changes_the_name(asked: Asked) -> None:
    assert shown(asked, HIDDEN, {"agent_name": "x", "agent_type": "kind"}) == []


def test_files_and_values_of_secrets_are_told_to_nobody(asked: Asked) -> None:
    assert shown(asked, SECRETS, {}) == []
    assert shown(asked, SECRETS, {"agent_name": "intern"}) == []


def test_what_is_not_hidden_is_there(asked: Asked) -> None:
    everyone = {"cwd": asked.root, "focus_paths": ["src/app.py"], "prompt": "ledger"}
    assert "quokka" in asked.ask("GetContext", **everyone), "the map names it to others"
    assert "numbat" in asked.ask("Query", cwd=asked.root, query="treasure chamber").lower()
    reply = asked.daemon.call("GetContext", **everyone, agent_name="intern")
    assert "def run" in reply["context"]
    mapped = asked.ask("GetContext", cwd=asked.root, focus_paths=["src/app.py"], agent_name="intern")
    assert ".env" in mapped, "that there is a file of secrets is no secret"
    assert reply["masked"] >= 2
    assert {one["path"] for one in reply["slices"] if "path" in one} >= {"src/app.py", "AGENTS.md"}
    assert reply["tokens"] <= 3000
    hits = asked.daemon.call("Query", cwd=asked.root, query="help with the ledger", agent_name="intern")
    assert "src/app.py" in [hit["path"] for hit in hits["results"]]


def test_a_node_is_told_without_its_hidden_neighbours(asked: Asked) -> None:
    fields = {"cwd": asked.root, "node_id": "src/app.py#helper"}
    everyone, intern = (asked.daemon.call("GetNode", **fields, agent_name=name) for name in ("", "intern"))
    callers = [{one["path"] for one in node["callers"]} for node in (everyone, intern)]
    assert callers == [{"secret/quokka.py", "src/app.py", "src/other.py"}, {"src/app.py", "src/other.py"}]
    assert "[masked]" in intern["signature"]
    assert "[masked]" in intern["definition"]


def test_a_name_that_a_session_or_scope_keeps_cant_be_shed(asked: Asked) -> None:
    daemon = asked.daemon
    own = daemon.call("CreateSession", cwd=asked.root, session_id="intern-1", agent_name="intern")
    fields = {"cwd": asked.root, "session_id": own["session_id"], "focus_paths": ["secret", "src/app.py"]}
    for agent in ({}, {"agent_name": "lead"}, {"agent_name": "lead", "agent_type": "boss"}):
        assert "quokka" not in asked.ask("GetContext", **fields, **agent)
    scope = daemon.call("GetContext", cwd=asked.root, focus_paths=["src/other.py"], agent_name="intern")
    for agent in ({}, {"agent_name": "lead"}):
        assert "quokka" not in asked.ask("GetContext", scope_id=scope["scope_id"], prompt="treasure", **agent)
        assert (
            "numbat" not in asked.ask("Query", scope_id=scope["scope_id"], query="treasure", **agent).lower()
        )
    refused = daemon.error("GetContext", scope_id=scope["scope_id"], agent_name="stranger")
    assert refused.code == PERMISSION_DENIED


def test_the_folder_around_a_project_shows_none_of_what_its_rules_hide(
    shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    rules = '[agents.intern]\ndeny_paths = ["secret/**"]\n'
    inner = write_files(
        tmp_path / "outer" / "inner",
        {"foveal.toml": rules, "secret/vault.py": "def quokka():\n    return 1\n", "open.py": "x = 1\n"},
    )
    shared_daemon.open_ready(inner)
    outer = {"cwd": str(inner.parent)}
    shared_daemon.open_ready(inner.parent)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("GetContext", {"prompt": "where is quokka?"}),
        ("Query", {"query": "quokka"}),
        ("FindSymbols", {"query": "quokka"}),
        ("GetNode", {"node_id": "inner/secret/vault.py"}),
        ("ListExperiences", {}),
    ]
    for method, fields in asked:
        assert shared_daemon.call(method, **outer, **fields, agent_name="lead")
        assert shared_daemon.error(method, **outer, **fields, agent_name="intern").code == PERMISSION_DENIED
    context = shared_daemon.call("GetContext", **outer, prompt="where is quokka?")["context_id"]
    shown = {"context_id": context, "agent_name": "intern"}
    assert shared_daemon.error("GetBuiltContext", **shown).code == PERMISSION_DENIED
    assert shared_daemon.error("ListContexts", **outer, agent_name="intern").code == PERMISSION_DENIED
    listed = shared_daemon.call("ListContexts", agent_name="intern")["contexts"]
    assert str(inner.parent) not in {one["project"] for one in listed}
    with shared_daemon.client() as intern, shared_daemon.client() as user:
        for client, agent in ((intern, "intern"), (user, "")):
            client.call("Subscribe", {"topics": ["context.built"], "agent_name": agent})
        shared_daemon.call("GetContext", **outer, focus_paths=["inner/open.py"])
        assert str(inner.parent) in str(next(user.events(DEADLINE_S)))
        shared_daemon.call("GetContext", cwd=str(inner), focus_paths=["open.py"])
        assert next(intern.events(DEADLINE_S))["data"]["project"] == str(inner)
    shared_daemon.call("CloseProject", path=str(inner))
    assert (
        shared_daemon.error("Query", **outer, query="quokka", agent_name="Intern").code == PERMISSION_DENIED
    )
    assert shared_daemon.call("Query", **outer, query="quokka")["results"]


def test_why_says_nothing_of_who_works_on_a_hidden_file(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    rules = '[agents.intern]\ndeny_paths = ["secret/**"]\n'
    files = {"foveal.toml": rules, "secret/vault.py": "x = 1\n", "open.py": "y = 1\n", "more.py": "z = 1\n"}
    root = str(write_files(tmp_path / "worked", files))
    shared_daemon.open_ready(tmp_path / "worked")
    for path in ("open.py", "secret/vault.py"):
        shared_daemon.call("NotifyFile", cwd=root, path=path, event="opened")
    found = {}
    for agent in ("intern", "lead"):
        given = shared_daemon.call("GetContext", cwd=root, focus_paths=["more.py"], agent_name=agent)
        assert "hot" in {piece["type"] for piece in given["slices"]}
        fields = {"cwd": root, "context_id": given["context_id"], "path": "secret/vault.py"}
        found[agent] = shared_daemon.call("ExplainPath", **fields, agent_name=agent)
    assert "open in an editor" in str(found["lead"]["reasons"])
    assert [found[agent]["named"] for agent in ("lead", "intern")] == [True, False]
    assert "editor" not in str(found["intern"]["reasons"])


def test_equal_requests_of_two_agents_share_no_context(asked: Asked) -> None:
    first = asked.daemon.call("GetContext", cwd=asked.root, focus_paths=["src/app.py"], max_tokens=2500)
    fields = {"scope_id": first["scope_id"], "max_tokens": 2500}
    for _ in range(2):
        for kind, told in (("kind", False), ("", True), ("kind", False)):
            reply = asked.ask("GetContext", **fields, agent_type=kind)
            assert ("quokka" in reply) == told, kind
    assert [asked.daemon.call("GetContext", **fields)["cached"] for _ in range(2)] == [False, True]


def test_requests_of_a_session_that_nobody_made_are_held_by_their_project(asked: Asked) -> None:
    daemon, session = asked.daemon, {"session_id": "nobody-made"}
    fields = {"cwd": asked.root, **session, "focus_paths": ["secret/quokka.py"], "prompt": "the ledger"}
    one = {**session, "request_id": daemon.call("GetContext", **fields)["request_id"]}
    assert "quokka" in asked.ask("GetRequest", **one)
    for method, request in (("GetRequest", one), ("ListRequests", session), ("ExportRequests", session)):
        assert "quokka" not in asked.ask(method, **request, agent_name="intern")
    assert "isn't given to an agent" in daemon.call("GetRequest", **one, agent_name="intern")["problem"]
    assert daemon.error("GetRequest", **one, agent_name="stranger").code == "not_found"
    assert daemon.call("ListRequests", **session, agent_name="stranger")["requests"] == []


def test_changed_rules_hold_at_once_and_a_slip_opens_nothing(
    shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = write_files(tmp_path / "slip", {"a/quokka.py": "def numbat(): ...\n", "b.py": "def b(): ...\n"})
    shared_daemon.open_ready(root)
    fields = {"cwd": str(root), "focus_paths": ["b.py"], "agent_name": "intern"}

    def told() -> bool:
        found = {
            "quokka" in json.dumps(shared_daemon.call("GetContext", **fields)),
            "quokka"
            in json.dumps(
                shared_daemon.call("Query", cwd=str(root), query="def numbat", agent_name="intern")
            ),
        }
        assert len(found) == 1
        return found.pop()

    assert told()
    (root / "foveal.toml").write_text('[agents.intern]\ndeny_paths = ["a/**"]\n')
    assert not told()
    (root / "foveal.toml").write_text('[agents.intern]\ndeny_path = ["a/**"]\n')
    assert not told(), "the tables from before hold"
    degraded = shared_daemon.call("GetContext", **fields)["degraded"]
    assert any("unknown key deny_path" in reason for reason in degraded)
    (root / "foveal.toml").unlink()
    assert told()


def test_a_hidden_manifest_says_nothing_of_the_project(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    manifest = '{"name": "quokka", "description": "Counts numbats.", "scripts": {"test": "bilby"}}'
    rules = '[agents.intern]\ndeny_paths = ["package.json"]\n'
    root = write_files(
        tmp_path / "plain", {"package.json": manifest, "Makefile": "build:\n\ttrue\n", "foveal.toml": rules}
    )
    shared_daemon.open_ready(root)
    for form in ("markdown", "prompts", "json"):
        fields = {"cwd": str(root), "format": form, "max_tokens": 9_000}
        everyone = json.dumps(shared_daemon.call("GetContext", **fields))
        assert "quokka: Counts numbats." in everyone
        assert "npm run test" in everyone
        intern = json.dumps(shared_daemon.call("GetContext", **fields, agent_name="intern"))
        assert not [word for word in (*HIDDEN, "npm") if word in intern]
        assert "make build" in intern


def test_commits_that_changed_hidden_files_only_are_told_to_nobody_who_may_not_see_them(
    shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    rules = '[agents.intern]\ndeny_paths = ["secret/**"]\n'
    root = write_files(tmp_path / "told", {"foveal.toml": rules, "a.py": "x = 1\n", "secret/b.py": "y = 1\n"})
    git(root, "init", "-q", "-b", "main")

    def told(subject: str, *paths: str, to: str = "intern", form: str = "markdown") -> bool:
        for path in paths:
            with (root / path).open("a") as file:
                file.write("# more\n")
        git(root, "add", "-A")
        git(root, "commit", "-q", "--allow-empty", "-m", subject)
        return seen(subject, to, form)

    def seen(subject: str, to: str, form: str = "markdown") -> bool:
        def is_told(agent: str) -> bool:
            given = {
                "cwd": str(root),
                "agent_name": agent,
                "prompt": "x",
                "format": form,
                "max_tokens": 9_000,
            }
            reply = shared_daemon.call("GetContext", **given)
            return subject in json.dumps(reply)

        until(lambda: is_told(""), f"{subject} is told to who may see all")
        return is_told(to)

    assert told("Start over with ledgers", "a.py", "secret/b.py", "foveal.toml")
    shared_daemon.open_ready(root)
    assert not told("Rotate quokka keys", "secret/b.py")
    assert not told("Rotate numbat keys", "secret/b.py", form="prompts")
    assert not told("Give the intern less", "foveal.toml")
    assert told("Widen the ledger", "a.py", "secret/b.py")
    assert not told("Widen secret/b.py", "a.py")
    assert told("Release two")
    git(root, "checkout", "-q", "-b", "side")
    assert not told("Rotate bilby keys", "secret/b.py")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "-m", "Merge bilby keys", "side")
    assert not seen("Merge bilby keys", "intern")
    assert seen("Merge bilby keys", "intern2")


def test_unsaved_texts_are_masked_and_hidden_too(asked: Asked) -> None:
    daemon = asked.daemon
    for path, text in (("src/other.py", f'KEY = "{TOKEN}"\n'), ("secret/quokka.py", "numbat = 1\n")):
        daemon.call("NotifyFile", cwd=asked.root, path=path, event="changed", text=text)
    reply = asked.ask(
        "GetContext", cwd=asked.root, focus_paths=["src/other.py", "secret"], agent_name="intern"
    )
    assert TOKEN not in reply
    assert "[masked]" in reply
    assert "numbat" not in reply
    assert "quokka" not in reply
    for path in ("src/other.py", "secret/quokka.py"):
        daemon.call("NotifyFile", cwd=asked.root, path=path, event="closed")


def test_a_file_that_comes_is_hidden_from_the_first_moment(asked: Asked) -> None:
    for number in range(3):
        write_files(Path(asked.root), {f"secret/bilby{number}.py": f"def bilby_{number}(): ...\n"})
        fields = {"cwd": asked.root, "agent_name": "intern", "fresh": "tree"}
        assert "bilby" not in asked.ask("GetContext", **fields, focus_paths=["src/app.py"], prompt="bilbi")
        assert "bilby_" not in asked.ask("Query", **fields, query=f"where is bilb_{number}", limit=50)
