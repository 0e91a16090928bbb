// A session's page: sets and items are changed in place, each change with its undo.
import { call } from "./actions.js";
import { refresh } from "./live.js";
import { say } from "./messages.js";

const TURN_MS = 15_000; // in which a change is answered
const SETTLE_MS = 120; // between two keys of somebody who types

const MASKED = "[masked]"; // replaces secrets in the daemon's replies, and must not be stored in their place

const page = document.querySelector("[data-session]");
const session_id = page.dataset.session;

// What was changed, in words, and how to take it back; `act` and what `undo` gives are functions.
async function change(act, undo, isUndo = false) {
  try {
    const result = await act();
    const back = undo(result);
    say(result.text, back && { label: "Undo", run: () => change(back, () => null, true) });
    refresh();
    return true;
  } catch (error) {
    say(error.message, { bad: true, ...(isUndo && { label: "Undo", run: () => change(act, undo, true) }) }); // the offer stays
    return false;
  }
}

function add(set_name, items) {
  return keep(set_name, items, "merge");
}

// A change that is never answered would hold up those of all pages of this browser.
function keep(set_name, items, mode) {
  return call("SetRelevantContext", { session_id, set_name, items, mode }, { signal: AbortSignal.timeout(TURN_MS) });
}

// Changes of a set are made one after the other, in the order of the clicks, by one page of this browser at a time.
function inTurn(act) {
  return navigator.locks ? navigator.locks.request(`foveal-set ${session_id}`, act) : act();
}

// A set can be replaced only as a whole, so it is read right before. An agent may change it in between: entries that
// the replacement removed are added again, and entries that it brought back are removed.
async function take(set_name, gone) {
  const now = await entriesOf(set_name);
  const left = now.filter((one) => !gone.includes(one));
  if (left.some((one) => one.includes(MASKED))) throw new Error(`${set_name} has another entry with a secret, which isn’t shown here and would be lost. Nothing was changed; Clear takes all.`);
  if (left.length === now.length) return { text: "It was gone already.", removed: [] };
  const result = await keep(set_name, left, "replace");
  const swept = result.removed.filter((one) => !gone.includes(one));
  if (swept.length) await add(set_name, swept);
  if (result.added.length) await take(set_name, result.added);
  return { ...result, former: now, removed: result.removed.filter((one) => gone.includes(one)) };
}

// Put removed entries back at their former places if nothing else changed, else at the end.
async function putBack(set_name, { former, removed }) {
  const now = await entriesOf(set_name);
  const left = former.filter((one) => !removed.includes(one));
  if (now.join("\n") === left.join("\n")) return keep(set_name, former, "replace");
  return add(set_name, removed);
}

async function entriesOf(set_name) {
  const reply = await fetch(`/api/sessions/${encodeURIComponent(session_id)}`, { cache: "no-store", signal: AbortSignal.timeout(TURN_MS) }).catch(() => null);
  const session = await reply?.json().catch(() => null);
  if (!reply?.ok) throw new Error(session?.message ?? "The daemon can’t be reached; nothing was changed. See: foveal status");
  return session.context[set_name] ?? [];
}

page.addEventListener("click", (event) => {
  const button = event.target.closest("[data-removes], [data-clears]");
  if (button) {
    const set = button.closest("[data-set]");
    const entries = JSON.parse(set.dataset.entries);
    const gone = button.dataset.removes === undefined ? entries : [entries[Number(button.dataset.removes)]];
    const name = set.dataset.set;
    change(() => inTurn(() => take(name, gone)), (taken) => taken.removed.length && !taken.removed.some((one) => one.includes(MASKED)) ? () => inTurn(() => putBack(name, taken)) : null);
  }
  const hides = event.target.closest("[data-hides]");
  if (hides) document.getElementById(hides.dataset.hides).hidden = true;
});

page.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.dataset.addsEntries !== undefined) {
    event.preventDefault();
    const { set_name, entry: text } = Object.fromEntries(new FormData(form));
    const entry = set_name === "files" ? inProject(text.trim()) : text;
    const undo = ({ added }) => added.length ? () => inTurn(() => take(set_name, added)) : null;
    if (await change(() => inTurn(() => add(set_name, [entry])), undo)) form.elements.entry.value = "";
  } else if (form.dataset.captures !== undefined) {
    event.preventDefault();
    const former = JSON.parse(page.querySelector("[data-captured]").dataset.captured);
    const undo = former.some((one) => one.includes(MASKED)) ? () => null : () => () => keep("applet", former, "replace");
    if (await change(() => keep("applet", parts(form.elements.applet.value), "replace"), undo)) form.reset();
  } else if (form.dataset.addsItem) {
    event.preventDefault();
    const item = named(form);
    if (!item) return say("A tool is written with its server before it, as server: name.", { bad: true });
    const params = { session_id, ...item };
    const undo = ({ changed }) => changed ? () => call("RemoveSessionItem", params) : null;
    if (await change(() => call("AddSessionItem", params), undo)) form.reset();
  }
});

// A file of the project may be written as it is shown: from the project's root.
function inProject(path) {
  return !path || /^[/~]/.test(path) ? path : `${page.dataset.root.replace(/\/+$/, "")}/${path}`;
}

// An applet is written as its address, or as its name and `key=value`; a value may have spaces in it.
function parts(text) {
  return text.includes("://") ? [text.trim()] : text.trim().split(/\s+(?=[^\s=]+=)/);
}

// Names are completed from what the session hasn't yet.
const offered = new Map();
let typing = 0;

page.addEventListener("input", (event) => completeSoon(event.target.closest("form[data-adds-item]")));
page.addEventListener("focusin", (event) => event.target.name === "name" && completeSoon(event.target.closest("form[data-adds-item]")));

function completeSoon(form) {
  if (!form) return;
  clearTimeout(typing);
  typing = setTimeout(() => complete(form), SETTLE_MS);
}

async function complete(form) {
  const input = form.elements.name;
  const query = new URLSearchParams({ type: form.dataset.addsItem, q: input.value.trim() });
  const reply = await fetch(`/sessions/${encodeURIComponent(session_id)}/items?${query}`).catch(() => null);
  if (!reply?.ok) return; // a name can be written without help
  const { items } = await reply.json();
  for (const item of items) offered.set(`${item.type} ${item.label}`, item);
  input.list.replaceChildren(...items.map((item) => new Option(item.description, item.label)));
}

function named(form) {
  const text = form.elements.name.value.trim();
  const type = form.dataset.addsItem;
  const item = offered.get(`${type} ${text}`);
  if (item) return { type, name: item.name, ...(item.server_name && { server_name: item.server_name }) };
  if (type !== "tool") return { type, name: text };
  const [server_name, ...name] = text.split(":"); // as it is shown: server: name
  if (!server_name.trim() || !name.join(":").trim()) return null;
  return { type, name: name.join(":").trim(), server_name: server_name.trim() };
}

// What an agent is told on resume is shown, with a link to its applet; nothing is opened by itself.
page.addEventListener("foveal:done", (event) => {
  if (event.target.dataset.resumes === undefined) return;
  const { text, summary, applet, missing_files: missing } = event.detail;
  say(summary ? `Resumed: ${summary}.` : "Resumed.");
  const reopen = document.getElementById("reopen");
  reopen.hidden = !applet?.url;
  if (applet?.url) {
    reopen.href = applet.url;
    reopen.textContent = `Reopen ${applet.slug}`;
  }
  document.getElementById("resume-text").textContent = text || "Nothing: the session has no intent, no environment and no context.";
  const notice = document.getElementById("resume-missing");
  notice.hidden = !missing.length;
  notice.textContent = missing.length ? `Not there any more: ${missing.join(", ")}` : "";
  const section = document.getElementById("resumed");
  section.hidden = false;
  section.scrollIntoView({ block: "nearest" });
});
