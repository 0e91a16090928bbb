"""The VS Code extension, run by Node with a stand-in for the editor, speaks with a real daemon."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped] # it ships no types
import pytest

from tests.conftest import DEADLINE_S, DaemonProcess, need_tool

EXTENSION = Path(__file__).resolve().parents[2] / "hooks" / "editors" / "vscode"

STAND_IN = """
// What of VS Code's API the extension uses, with a test in the editor's place.
const listeners = {};
const on = (name) => (callback) => { (listeners[name] ??= []).push(callback); return { dispose() {} }; };
const fire = (name, event) => { for (const callback of listeners[name] ?? []) callback(event); };
const shown = { documents: [], errors: [], messages: [], picks: [], status: [] };
const settings = JSON.parse(process.env.FOVEAL_TEST_SETTINGS);
const commands = {};
const answers = [];
const root = process.env.FOVEAL_TEST_ROOT;
class Position { constructor(line, character) { this.line = line; this.character = character; } }
class Range { constructor(start, end) { this.start = start; this.end = end; } }
const uriOf = (path, scheme = "file") => ({ scheme, fsPath: path, toString: () => `${scheme}://${path}` });
const makeDocument = (path, text, scheme) =>
  ({ uri: uriOf(path, scheme), text, isDirty: false, isClosed: false, getText() { return this.text; } });
const vscode = {
  Position, Range, Uri: { file: (path) => uriOf(path) },
  workspace: {
    textDocuments: [],
    workspaceFolders: [{ uri: uriOf(root) }],
    getConfiguration: () => ({ get: (name) => settings[name] }),
    getWorkspaceFolder: (uri) => uri.fsPath.startsWith(root + "/") ? vscode.workspace.workspaceFolders[0] : undefined,
    openTextDocument: async (what) => { shown.documents.push(what.content ?? what.fsPath); return what; },
    onDidChangeTextDocument: on("change"), onDidSaveTextDocument: on("save"),
    onDidCloseTextDocument: on("close"), onDidChangeConfiguration: on("configuration"),
  },
  window: {
    activeTextEditor: undefined,
    onDidChangeActiveTextEditor: on("focus"),
    showTextDocument: async (document, options) => { shown.options = options; },
    showInputBox: async () => answers.shift(),
    showQuickPick: async (picks) => { shown.picks = picks; return picks[0]; },
    showErrorMessage: (text) => { shown.errors.push(text); },
    showInformationMessage: (text) => { shown.messages.push(text); },
    setStatusBarMessage: (text) => { shown.status.push(text); },
  },
  commands: { registerCommand: (name, callback) => { commands[name] = callback; return { dispose() {} }; } },
};
const Module = require("module");
const load = Module._load;
Module._load = (name, ...rest) => name === "vscode" ? vscode : load(name, ...rest);
const extension = require(process.env.FOVEAL_TEST_EXTENSION + "/extension.js");
const { Client, DaemonError } = require(process.env.FOVEAL_TEST_EXTENSION + "/client.js");
const { encode, decode } = require(process.env.FOVEAL_TEST_EXTENSION + "/msgpack.js");
const answer = (value) => process.stdout.write(JSON.stringify(value));
const assert = require("assert");
const change = (document, text) => {
  Object.assign(document, { text, isDirty: true });
  fire("change", { document, contentChanges: [{}] });
};
"""


Run = Callable[..., Any]


@pytest.fixture
def node(shared_daemon: DaemonProcess, ready: Path) -> Run:
    """Give what runs a script in a project that is indexed."""
    return partial(run_node, shared_daemon, ready)


def run_node(daemon: DaemonProcess, root: Path, script: str, *, text: str = "", **settings: Any) -> Any:
    """Run a script behind the stand-in; return what it passed to `answer`."""
    node = need_tool("node")
    file = root.parent / "script.js"
    file.write_text(f"{STAND_IN}\n(async () => {{\n{script}\n}})();\n")
    chosen = {"socket": "", "command": "foveal", "start": True, "unsaved": True, **settings}
    result = subprocess.run(
        [node, str(file)],
        check=False,
        env={
            **daemon.environ,
            "FOVEAL_TEST_ROOT": str(root),
            "FOVEAL_TEST_EXTENSION": str(EXTENSION),
            "FOVEAL_TEST_SETTINGS": json.dumps(chosen),
        },
        cwd=root,
        input=text,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert not result.stderr, result.stderr
    return json.loads(result.stdout)


VALUES: list[Any] = [
    None, True, False, 0, 1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**53 - 1, -1, -32, -33,
    -128, -129, -32768, -32769, -(2**31), -(2**31) - 1, -(2**53) + 1, 0.5, -1e300, "", "é✓😀", "x" * 31,
    "x" * 32, "x" * 255, "x" * 256, "x" * 65535, "x" * 65536, [], [1] * 15, [1] * 16, [None] * 65536, {},
    {str(n): n for n in range(15)}, {str(n): n for n in range(16)}, {str(n): n for n in range(65536)},
    {"__proto__": {"a": [1, {"b": None}]}, "constructor": 1},
]  # fmt: skip


def test_values_roundtrip(node: Run) -> None:
    packed = [msgpack.packb(value).hex() for value in VALUES]
    reply = node(
        """
        const packed = JSON.parse(require("fs").readFileSync(0, "utf8"));
        answer(packed.map((one) => {
          const bytes = Buffer.from(one, "hex");
          const { value, end, missing } = decode(bytes);
          assert.strictEqual(end, bytes.length);
          assert.strictEqual(missing, 0);
          for (const cut of new Set([0, 1, bytes.length >> 1, bytes.length - 1])) {
            if (cut < bytes.length) {
              const short = decode(bytes.subarray(0, cut));
              assert(short.missing > 0 && short.missing <= bytes.length - cut && !("value" in short));
            }
          }
          return encode(value).toString("hex");
        }));
        """,
        text=json.dumps(packed),
    )
    for value, encoded in zip(VALUES, reply, strict=True):
        assert msgpack.unpackb(bytes.fromhex(encoded)) == value


def test_vscode_document_events_reach_the_daemon(node: Run, shared_daemon: DaemonProcess, shop: Path) -> None:
    reply = node(
        """
        const seen = {};
        const document = makeDocument(`${root}/web/app.ts`, "");
        vscode.workspace.textDocuments.push(document);
        vscode.window.activeTextEditor = { document };
        extension.activate({ subscriptions: [] });
        const context = async () => {
          answers.push("");
          await commands["foveal.showContext"]();
          return shown.documents.pop();
        };
        change(document, "// typed, and not saved\\n");
        seen.typed = await context(); // what waited to be told is told before
        Object.assign(document, { isDirty: false });
        fire("change", { document, contentChanges: [{}] });
        seen.undone = await context();
        change(document, "// typed again\\n");
        require("fs").writeFileSync(document.uri.fsPath, document.text);
        document.isDirty = false;
        fire("save", document);
        seen.saved = await context();
        change(document, "// a third time\\n");
        seen.third = await context();
        fire("close", document);
        seen.closed = await context();
        change(document, "// left behind\\n");
        seen.left = await context();
        await extension.deactivate();
        answer({ seen, shown });
        """,
    )
    seen = reply["seen"]
    assert "```typescript\n// typed, and not saved\n```" in seen["typed"]
    assert "export function main" in seen["undone"]
    assert "```typescript\n// typed again\n```" in seen["saved"]
    assert "// a third time" in seen["third"]
    assert "```typescript\n// typed again\n```" in seen["closed"]
    assert "// left behind" in seen["left"]
    assert reply["shown"]["errors"] == []
    after = shared_daemon.call("GetContext", cwd=str(shop), focus_paths=["web/app.ts"])
    assert "```typescript\n// typed again\n```" in after["context"], "deactivating takes the text back"


def test_unsaved_text_setting_keeps_text_local(node: Run) -> None:
    reply = node(
        """
        const document = makeDocument(`${root}/web/app.ts`, "");
        vscode.workspace.textDocuments.push(document);
        vscode.window.activeTextEditor = { document };
        extension.activate({ subscriptions: [] });
        change(document, "// typed, and not told\\n");
        answers.push("");
        await commands["foveal.showContext"]();
        await extension.deactivate();
        answer(shown.documents);
        """,
        unsaved=False,
    )
    assert "export function main" in reply[0]


def test_query_opens_the_picked_place(node: Run, shop: Path) -> None:
    reply = node(
        """
        extension.activate({ subscriptions: [] });
        answers.push("where is expire defined", "zzyzx", undefined);
        for (let left = 3; left > 0; left--) await commands["foveal.query"]();
        await extension.deactivate();
        answer(shown);
        """,
    )
    (pick,) = reply["picks"]
    assert (pick["label"], pick["description"]) == ("expire", "src/shop/sessions.py:16")
    assert pick["detail"] == "def expire(session: Session) -> None:"
    assert reply["documents"] == [str(shop / "src/shop/sessions.py")]
    assert reply["options"]["selection"]["start"] == {"line": 15, "character": 0}
    (message,) = reply["messages"]
    assert "nothing in the project has these words" in message


def test_request_starts_the_daemon_and_survives_a_restart(
    daemon: DaemonProcess, shop: Path, program: Path
) -> None:
    reply = run_node(
        daemon,
        shop,
        f"""
        const client = new Client({{ command: {json.dumps(str(program))} }});
        const [first, same] = await Promise.all([client.request("Ping", {{}}), client.request("Ping", {{}})]);
        assert.strictEqual(first.pid, same.pid);
        const ended = new Promise((resolve) => client._connection._socket.once("close", resolve));
        process.kill(first.pid, "SIGKILL");
        await ended;
        const second = await client.request("Ping", {{}});
        await client.close();
        answer([first.pid, second.pid]);
        """,
    )
    assert reply[0] != reply[1] == daemon.pid


def test_manifest_and_docs_name_registered_commands() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text())
    source = (EXTENSION / "extension.js").read_text()
    commands = [one["command"] for one in manifest["contributes"]["commands"]]
    assert all(f'registerCommand("{command}"' in source for command in commands)
    assert (EXTENSION / manifest["main"]).exists()
    assert "dependencies" not in manifest
    page = (EXTENSION.parents[2] / "docs" / "editors.md").read_text()
    assert all(f"`{name}`" in page for name in manifest["contributes"]["configuration"]["properties"])
    assert all(f"{one['category']}: {one['title']}" in page for one in manifest["contributes"]["commands"])
