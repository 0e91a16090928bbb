"""A secret in a prompt that stands in files as well is shown by no face of the daemon and kept in no record."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from foveal.benchmarks.secrets.forms import Form, read_forms
from foveal.daemon.privacy.secret_values import mask_piece

from tests.command_cases import CommandLine
from tests.conftest import DEADLINE_S, DaemonProcess, git, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]

FORMATS = ("markdown", "json", "prompts", "messages")
FORMS_MIN = 100
PAGES = 12
"""Forms whose pages and command are looked at, of those with a context of each format."""


def asked(form: Form) -> str:
    return f"why does this fail? {form.text}"


def forms() -> list[Form]:
    """Return forms whose secret is masked in a prompt, each with a secret of its own that no word contains."""
    found: dict[str, Form] = {}
    for form in read_forms("forms.json"):
        secret = form.secret or ""
        plain = len(secret) >= 8 and "\n" not in secret and form.text.count(secret) == 1
        if plain and secret.lower() not in mask_piece(asked(form)).text.lower():
            found.setdefault(secret.lower(), form)
    return list(found.values())


FORMS = forms()


@dataclass
class Given:
    """A project whose files have the secrets, and the contexts that were given for prompts with them."""

    daemon: DaemonProcess
    root: Path
    session_id: str
    replies: list[tuple[Form, str, dict[str, Any]]] = field(default_factory=list)
    queries: list[tuple[Form, dict[str, Any]]] = field(default_factory=list)

    def call(self, method: str, **params: Any) -> Any:
        return self.daemon.call(method, **params)


@pytest.fixture(scope="module")
def given(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Given:
    """Ask for a context and for hits about each form: one file has it as it is, another only the secret."""
    files: dict[str, str | bytes] = {}
    for number, form in enumerate(FORMS):
        files[f"src/part{number}.txt"] = f"{form.text}\n"
        files[f"src/other{number}.py"] = f'"""Part {number}."""\n\nlog({form.secret!r})\n'
    root = write_files(tmp_path_factory.mktemp("given") / "shop", files)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    shared_daemon.open_ready(root)
    with shared_daemon.client() as client:

        def call(method: str, **params: Any) -> Any:
            return client.call(method, {"cwd": str(root), **params}, DEADLINE_S)

        given = Given(shared_daemon, root, call("CreateSession", name="Secrets")["session_id"])
        for number, form in enumerate(FORMS):
            kind = FORMATS[number % len(FORMATS)]
            session = {"session_id": given.session_id} if number % 3 else {}
            reply = call("GetContext", prompt=asked(form), format=kind, **session)
            given.replies.append((form, kind, reply))
            given.queries.append((form, call("Query", query=asked(form))))
    return given


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from texts_in(name)
            yield from texts_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts_in(part)


def shown(value: Any, *wanted: Form) -> list[str]:
    """Return the ids of the forms whose secret stands in a value, in whatever case."""
    whole = "\n".join(texts_in(value)).lower()
    assert whole
    return [form.id for form in wanted or FORMS if str(form.secret).lower() in whole]


def without_own(reply: dict[str, Any]) -> dict[str, Any]:
    """Return a reply without the prompt, which goes back to its sender unchanged."""
    kept = {name: value for name, value in reply.items() if name != "user_prompt"}
    if "messages" in kept:
        kept["messages"] = [said for said in kept["messages"] if said["role"] != "user"]
    return kept


def test_enough_forms_are_asked_for(given: Given) -> None:
    assert len(given.replies) == len(given.queries) == len(FORMS) >= FORMS_MIN
    assert {kind for _, kind, _ in given.replies} == set(FORMATS)
    found = [any(piece.get("path") for piece in reply["slices"]) for _, _, reply in given.replies]
    assert sum(found) >= FORMS_MIN


def test_no_reply_shows_the_secret_of_its_prompt(given: Given) -> None:
    assert [left for form, _, reply in given.replies for left in shown(without_own(reply), form)] == []
    assert [left for form, reply in given.queries for left in shown(reply, form)] == []


def test_no_record_shows_a_secret(given: Given) -> None:
    by_request = {reply["request_id"]: form for form, _, reply in given.replies if "request_id" in reply}
    assert len(by_request) >= 60
    for request_id, form in by_request.items():
        kept = given.call("GetRequest", session_id=given.session_id, request_id=request_id)
        assert kept["context"]
        assert shown(kept, form) == []
    for form, _, reply in given.replies:
        kept = given.call("GetBuiltContext", context_id=reply["context_id"])
        assert kept["context"]
        assert shown(kept, form) == []
    exported = given.call("ExportRequests", session_id=given.session_id, content=True)["requests"]
    assert len(exported) >= 20
    assert [left for kept in exported for left in shown(kept, by_request[kept["request_id"]])] == []
    listed = given.call("ListContexts", cwd=str(given.root), limit=100)
    assert len(listed["contexts"]) >= 60
    assert shown(listed) == []
    assert shown(given.call("GetTimeline", session_id=given.session_id)) == []


def test_what_a_context_missed_does_not_show_the_secret(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    """Their paths name it, and they have no room."""
    secret = "tIREdHYkNPmeU7iVIBgE27bSLb0I89O4"
    lines = "".join(f"    total = total + price_{number} * rate_{number}\n" for number in range(60))
    sources = {
        f"src/{secret}/part{number}.py": f"def part{number}(total):\n    log('{secret}')\n{lines}    return total\n"
        for number in range(24)
    }
    root = write_files(tmp_path / "shop", sources)
    shared_daemon.open_ready(root)
    prompt = f"why does this fail? API_KEY={secret}"
    reply = shared_daemon.call("GetContext", cwd=str(root), prompt=prompt, max_tokens=300)
    near = shared_daemon.call("GetBuiltContext", context_id=reply["context_id"])["near"]
    assert sum(place["symbol"].startswith("part") for place in near) >= 4
    assert secret.lower() not in "\n".join(texts_in(near)).lower()


def test_no_file_of_the_state_folder_has_a_secret(given: Given) -> None:
    """Indexes aside, which hold the project's files as they are."""
    assert given.call("GetBuiltContext", context_id=given.replies[-1][2]["context_id"])[
        "prompt"
    ]  # is written
    files = [path for path in sorted(given.daemon.state.rglob("*")) if path.is_file()]
    files = [path for path in files if path.relative_to(given.daemon.state).parts[0] != "projects"]
    assert {"deliveries.sqlite", "meta.json"} <= {path.name for path in files}
    data = b"\0".join(path.read_bytes() for path in files).lower()
    assert [form.id for form in FORMS if str(form.secret).lower().encode() in data] == []


async def test_no_page_of_a_turn_shows_a_secret(given: Given, pages: Pages) -> None:
    for form, _, reply in given.replies[:PAGES]:
        page = await read(pages, f"/turns/{reply['context_id']}")
        assert "why does this fail?" in page
        assert shown(html.unescape(page), form) == []


def test_no_command_shows_a_secret(
    given: Given, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    foveal = CommandLine(given.daemon, given.root, monkeypatch, capsys)
    for form in FORMS[:PAGES]:
        given.call("GetContext", cwd=str(given.root), prompt=asked(form))
        assert shown(foveal.json("last"), form) == []
