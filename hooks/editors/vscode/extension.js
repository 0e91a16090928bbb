// Owns what VS Code says to the daemon, and the commands; speaks to the daemon through `client.js` only.
"use strict";

const vscode = require("vscode");

const { Client, DaemonError } = require("./client");

/** Time after which a focused file is reported, so that tabs passed on the way to another aren't. */
const FOCUS_MS = 150;

/** Time after the last change of a text until it is sent, so that not every key is. */
const UNSAVED_MS = 400;

/** Maximum characters sent of a buffer, below the daemon's 2 Mi; for a larger one the saved file counts. */
const UNSAVED_CHARACTERS = 1024 * 1024;

const QUERY_RESULTS = 50;

let running = null;

/** Begin to report and to offer commands; VS Code calls it. */
function activate(context) {
  running = new Extension(clientOf(vscode.workspace.getConfiguration("foveal")));
  running.start(context.subscriptions);
}

/** Take unsaved texts back and hang up; VS Code calls it, and waits for it. */
function deactivate() {
  return running?.stop();
}

function clientOf(settings) {
  return new Client({
    socket: settings.get("socket"),
    command: settings.get("command"),
    start: settings.get("start"),
  });
}

class Extension {
  constructor(client) {
    this._client = client;
    this._focusTimer = null;
    this._timers = new Map(); // of texts that changed, by URI
    this._told = new Map(); // texts that the daemon has, by URI
  }

  start(subscriptions) {
    const { workspace, window, commands } = vscode;
    subscriptions.push(
      window.onDidChangeActiveTextEditor((editor) => this._focusSoon(editor)),
      workspace.onDidChangeTextDocument((event) => this._changed(event)),
      workspace.onDidSaveTextDocument((document) => this._saved(document)),
      workspace.onDidCloseTextDocument((document) => this._closed(document)),
      workspace.onDidChangeConfiguration((event) => this._configure(event)),
      commands.registerCommand("foveal.showContext", () => this._run(() => this.showContext())),
      commands.registerCommand("foveal.query", () => this._run(() => this.query())),
    );
    this._focusSoon(window.activeTextEditor);
  }

  stop() {
    clearTimeout(this._focusTimer);
    for (const timer of this._timers.values()) clearTimeout(timer);
    for (const file of this._told.values()) this._notify(file, "closed");
    this._told.clear();
    return this._client.close();
  }

  /** Show the context for the active file, and for a prompt if one is typed, in a document of its own. */
  async showContext() {
    const file = fileOf(vscode.window.activeTextEditor?.document);
    const cwd = file?.cwd ?? (await askFolder());
    if (!cwd) return;
    const prompt = await vscode.window.showInputBox({ prompt: "What is the task? May be left empty." });
    if (prompt === undefined) return;
    const reply = await this._ask("GetContext", {
      cwd,
      focus_paths: file ? [file.path] : undefined,
      prompt: prompt || undefined,
    });
    const document = await vscode.workspace.openTextDocument({ language: "markdown", content: reply.context });
    await vscode.window.showTextDocument(document, { preview: true });
  }

  /** Ask for places, offer them, and open the one that is picked. */
  async query() {
    const cwd = fileOf(vscode.window.activeTextEditor?.document)?.cwd ?? (await askFolder());
    if (!cwd) return;
    const query = await vscode.window.showInputBox({ prompt: "Names, words, or a question about the code" });
    if (!query) return;
    const reply = await this._ask("Query", { cwd, query, limit: QUERY_RESULTS });
    if (!reply.results.length) {
      vscode.window.showInformationMessage(`foveal: ${reply.hint ?? "nothing was found"}`);
      return;
    }
    const picked = await vscode.window.showQuickPick(reply.results.map(pickOf), {
      placeHolder: query,
      matchOnDescription: true,
      matchOnDetail: true,
    });
    if (picked) await openPlace(`${reply.project}/${picked.result.path}`, picked.result.line);
  }

  async _ask(method, params) {
    for (const document of vscode.workspace.textDocuments) {
      if (this._timers.has(document.uri.toString())) this._tellText(document);
    }
    const reply = await this._client.request(method, params);
    if (reply.degraded?.length) vscode.window.setStatusBarMessage(`foveal: ${reply.degraded.join("; ")}`, 10_000);
    return reply;
  }

  async _run(command) {
    try {
      await command();
    } catch (error) {
      if (!(error instanceof DaemonError)) throw error;
      vscode.window.showErrorMessage(error.text);
    }
  }

  _configure(event) {
    if (!event.affectsConfiguration("foveal")) return;
    this._client.close();
    this._client = clientOf(vscode.workspace.getConfiguration("foveal"));
  }

  _notify(file, event, text) {
    this._client.notify("NotifyFile", { cwd: file.cwd, path: file.path, event, text });
  }

  _focusSoon(editor) {
    clearTimeout(this._focusTimer);
    const file = fileOf(editor?.document);
    if (file) this._focusTimer = setTimeout(() => this._notify(file, "focused"), FOCUS_MS);
  }

  _changed({ document, contentChanges }) {
    if (!fileOf(document) || !contentChanges.length) return;
    const key = document.uri.toString();
    clearTimeout(this._timers.get(key));
    this._timers.set(key, setTimeout(() => this._tellText(document), UNSAVED_MS));
  }

  _tellText(document) {
    this._forgetTimer(document);
    const key = document.uri.toString();
    const file = fileOf(document);
    if (!file || document.isClosed) return;
    const wanted = document.isDirty && vscode.workspace.getConfiguration("foveal").get("unsaved");
    const text = wanted ? document.getText() : "";
    if (wanted && text.length <= UNSAVED_CHARACTERS) {
      this._told.set(key, file);
      this._notify(file, "changed", text);
    } else if (this._told.delete(key)) {
      this._notify(file, "changed"); // undone, or grown too large: the file counts
    }
  }

  _saved(document) {
    const file = this._forget(document);
    if (file) this._notify(file, "changed");
  }

  _closed(document) {
    const file = this._forget(document);
    if (file) this._notify(file, "closed");
  }

  _forget(document) {
    this._forgetTimer(document);
    this._told.delete(document.uri.toString());
    return fileOf(document);
  }

  _forgetTimer(document) {
    const key = document.uri.toString();
    clearTimeout(this._timers.get(key));
    this._timers.delete(key);
  }
}

/** Return path and folder of a document; null where it isn't a file, or in no folder that is open. */
function fileOf(document) {
  if (document?.uri.scheme !== "file") return null;
  const folder = vscode.workspace.getWorkspaceFolder(document.uri);
  return folder ? { path: document.uri.fsPath, cwd: folder.uri.fsPath } : null;
}

async function askFolder() {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const folder = folders.length > 1 ? await vscode.window.showWorkspaceFolderPick() : folders[0];
  if (!folder && !folders.length) vscode.window.showInformationMessage("foveal: open a folder first");
  return folder?.uri.fsPath;
}

function pickOf(result) {
  const line = result.snippet.split("\n")[result.line - result.snippet_line];
  return {
    label: result.symbol ?? result.path.split("/").pop(),
    description: `${result.path}:${result.line}`,
    detail: line?.trim(),
    result,
  };
}

async function openPlace(path, line) {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.file(path));
  const start = new vscode.Position(line - 1, 0);
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(start, start) });
}

module.exports = { activate, deactivate };
