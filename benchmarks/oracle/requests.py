"""The requests of a code base: contexts, questions, nodes, symbols and hooks, the same in every run."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from .. import silence
from ..literals.sampling import questions as literal_questions
from ..needed.projects import CodeBase
from ..needed.tasks import read_tasks
from ..questions import FORMS
from ..silence.__main__ import prompts as silence_prompts

ROOT = "{root}"
"""Stands in recorded requests and answers for the folder of the code base."""

PAYLOADS = Path(__file__).parents[2] / "tests" / "hook_payloads"
PAYLOAD_ROOT = "/home/ada/shop"
PAYLOAD_FILE = "src/shop/auth.py"
PAYLOAD_PROMPT = "How does a session of the shop end?"
SESSION_FIELDS = ("session_id", "sessionId", "conversation_id")
LAST_EVENTS: tuple[str, ...] = ("SubagentStop", "subagentStop", "Stop", "stop", "agentStop", "AfterAgent")
LAST_EVENTS += ("SessionEnd", "sessionEnd")
"""Payloads that graft in the background: they are sent when nothing else is asked any more."""

DEADLINE_MS = 300_000
"""Nothing is partial for want of time."""

PROMPTS = 40
"""Contexts of a code base that are asked for by a prompt, and prompts that are sent by a hook."""

NAMES = 4
"""Definitions, and files, that each structural question is asked about."""

LITERALS = 24
"""Strings and messages, and half as many names, that are looked up word for word."""

_ASKED: Mapping[str, list[Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
"""The forms of questions, filters of queries, and requests that are wrong."""


@dataclass(frozen=True, slots=True)
class Request:
    """A call; `ROOT` stands in the parameters for the folder of the code base."""

    method: str
    params: Mapping[str, Any]


def requests(code: CodeBase, tasks: Path) -> list[Request]:
    """Return the requests about a code base in the order in which they are sent.

    `tasks` is the folder where benchmarks.needed keeps what it mined.
    """
    chance = random.Random(code.name)
    files = sorted(path for path in code.paths if _is_text(code.root / path) and code.file(path).symbols)
    names = sorted(
        {symbol.name for path in files for symbol in code.file(path).symbols if symbol.kind != "section"}
    )
    prompts = _prompts(code.name, tasks, names, chance)
    asked = _Asked(chance, files, names, prompts)
    made = [*_kept(files), *_contexts(asked), *_queries(code, asked), *_nodes(code, asked)]
    made += [Request(method, {"cwd": ROOT} | params) for method, params in _ASKED["wrong"]]
    return [*made, *_hooks(code.name, asked)]


@dataclass(frozen=True, slots=True)
class _Asked:
    chance: random.Random
    files: Sequence[str]
    names: Sequence[str]
    prompts: Sequence[str]

    def name(self) -> str:
        return self.chance.choice(self.names)

    def file(self) -> str:
        return self.chance.choice(self.files)


def _is_text(path: Path) -> bool:
    return path.is_file() and path.stat().st_size < 500_000 and b"\0" not in path.read_bytes()


def _prompts(project: str, tasks: Path, names: Sequence[str], chance: random.Random) -> list[str]:
    """Return what people wrote about a code base (commits, then labelled prompts), and made prompts."""
    mined = [task.text for path in sorted(tasks.glob(f"{project}-*.jsonl")) for task in read_tasks(path)]
    labelled = [
        prompt.text
        for path in sorted((Path(silence.__file__).parent / "data" / project).glob("*.toml"))
        for prompt in silence_prompts(path)
    ]
    chance.shuffle(labelled)
    made = [
        form.format(
            one=chance.choice(names), other=chance.choice(names), words=chance.choice(names).replace(".", " ")
        )
        for form in FORMS * 10
    ]
    return list(dict.fromkeys([*mined[: PROMPTS // 2], *labelled[: PROMPTS // 2], *made]))


def _kept(files: Sequence[str]) -> Iterator[Request]:
    """Yield what contexts bring besides code: decisions, an item, a session."""
    for number, text in enumerate(
        ("Retry twice and then fail", "Keep the old name as an alias", "No globals")
    ):
        experience = {
            "decision": f"{text} in {files[number]}.",
            "rationale": "It was asked for by users.",
            "agent_id": "oracle",
            "session_id": "oracle-decisions",
            "files_touched": [files[number]],
            "timestamp": f"2024-05-0{number + 1}T10:00:00Z",
        }
        yield Request("GraftExperience", {"cwd": ROOT, "experience": experience})
    item = {"type": "rule", "name": "oracle", "text": "Write a test for each change.", "include": "always"}
    yield Request("PutItem", {"cwd": ROOT, "item": item})
    yield Request("ListItems", {"cwd": ROOT})
    yield Request("ListExperiences", {"cwd": ROOT})


def _contexts(asked: _Asked) -> Iterator[Request]:
    shapes: cycle[dict[str, Any]] = cycle(
        (
            {},
            {"max_tokens": 2_000},
            {"max_tokens": 32_000, "reserve_tokens": 0},
            {"format": "prompts", "task_type": "review"},
            {"format": "messages", "history": [{"role": "user", "content": "It failed again."}]},
            {"format": "json"},
            {"constraints": ["Change no public name."], "max_bytes": 6_000},
            {"session_id": "oracle-delta", "delta": True},
            {"fresh": "tree"},
        )
    )
    for number, prompt in enumerate(asked.prompts[:PROMPTS]):
        focus = {"focus_paths": [asked.file()]} if number % 4 == 3 else {}
        yield _context({"prompt": prompt} | focus | next(shapes))
    whole: list[list[str]] = [
        [],
        ["README.md"],
        ["no/such/file"],
        ["**/*.md"],
        [asked.files[0].partition("/")[0]],
    ]
    for focus_paths in [*whole, *([asked.file(), asked.file()] for _ in range(8))]:
        yield _context({"focus_paths": focus_paths} | next(shapes))
    yield _context({"focus_paths": [asked.files[0]], "prompt": asked.prompts[0]})
    yield _context({"focus_paths": [asked.files[0]], "prompt": asked.prompts[0]})  # from what is kept


def _context(params: dict[str, Any]) -> Request:
    return Request("GetContext", {"cwd": ROOT, "deadline_ms": DEADLINE_MS} | params)


def _queries(code: CodeBase, asked: _Asked) -> Iterator[Request]:
    def query(text: str, more: dict[str, Any] | None = None) -> Request:
        return Request("Query", {"cwd": ROOT, "query": text, "deadline_ms": DEADLINE_MS} | (more or {}))

    for form in (*_ASKED["about_names"], *_ASKED["other_languages"]):
        for _ in range(NAMES if form in _ASKED["about_names"] else 1):
            yield query(form.format(asked.name(), asked.name()))
    for form in _ASKED["about_files"]:
        yield from (query(form.format(asked.file())) for _ in range(NAMES))
    yield from map(query, _ASKED["about_all"])
    yield from (query(question.text) for question in literal_questions(code, LITERALS, LITERALS // 2, 1))
    texts = cycle(asked.prompts)
    yield from (query(text, more) for text, more in zip(texts, _ASKED["filters"] * 2, strict=False))
    folder = asked.files[-1].rpartition("/")[0]
    yield from (query(text, {"path_prefix": folder}) for text in islice(texts, NAMES))
    yield from (query(text, {"symbol": asked.name()}) for text in islice(texts, NAMES))
    yield from (query(text, {"for_agent": True}) for text in islice(texts, PROMPTS // 2))


def _nodes(code: CodeBase, asked: _Asked) -> Iterator[Request]:
    for path in (asked.file() for _ in range(8)):
        symbol = asked.chance.choice(code.file(path).symbols)
        for node in (path, f"{path}#{symbol.name}"):
            yield Request("GetNode", {"cwd": ROOT, "node_id": node, "deadline_ms": DEADLINE_MS})
    for number in range(12):
        name = asked.name()
        part = (name, name[:3], name.lower(), name[1:])[number % 4]
        yield Request("FindSymbols", {"cwd": ROOT, "query": part, "deadline_ms": DEADLINE_MS})
    yield from (Request("FindFiles", {"cwd": ROOT, "query": asked.file()[-9:]}) for _ in range(4))


def _hooks(project: str, asked: _Asked) -> Iterator[Request]:
    """Yield prompts in sessions of one host, and the recorded payloads of all hosts."""
    for number, prompt in enumerate(asked.prompts[-PROMPTS:]):
        about = {"session_id": f"{project}-{number // 4}", "cwd": ROOT}
        if number % 4 == 0:
            yield _hook("claude-code", about | {"hook_event_name": "SessionStart", "source": "startup"})
        yield _hook("claude-code", about | {"hook_event_name": "UserPromptSubmit", "prompt": prompt})
    prompts, paths = cycle(asked.prompts), sorted(PAYLOADS.glob("*/*.json"))
    for path in sorted(paths, key=lambda path: path.stem.startswith(LAST_EVENTS)):
        text = (
            path.read_text(encoding="utf-8").replace(PAYLOAD_ROOT, ROOT).replace(PAYLOAD_FILE, asked.file())
        )
        payload: dict[str, Any] = json.loads(text)
        for field in SESSION_FIELDS:
            if payload.get(field):
                payload[field] = f"{project}-{payload[field]}"
        if payload.get("prompt") == PAYLOAD_PROMPT:
            payload["prompt"] = next(prompts)
        yield _hook(path.parent.name, payload, path.stem)


def _hook(host: str, payload: dict[str, Any], stem: str = "") -> Request:
    # Copilot's own payloads don't say their event.
    event = {} if "hook_event_name" in payload or not stem else {"event": stem.partition("_")[0]}
    return Request("HookEvent", {"host": host, "payload": payload, "deadline_ms": DEADLINE_MS} | event)
