// The page of items: how one comes in is chosen in a dialog that explains it, and each change can be undone.
import { call } from "./actions.js";
import { refresh } from "./live.js";
import { say } from "./messages.js";

const cwd = document.querySelector("[data-project]").dataset.project;
const dialog = document.getElementById("change");
const form = dialog.querySelector("form");
const parts = Object.fromEntries(["title", "server", "globs", "level", "result", "forget"].map((name) => [name, document.getElementById(`change-${name}`)]));
const titles = Object.fromEntries([...dialog.querySelectorAll("[data-choice]")].map((one) => [one.dataset.choice, one.querySelector("strong").textContent]));

let item = null; // the one that the dialog is about

// Steps are calls of the daemon in their order; `undo` gives those that take them back.
async function change(steps, said, undo) {
  try {
    const results = [];
    for (const [method, params] of steps) results.push(await call(method, { cwd, ...params }));
    const back = undo(results);
    say(said(results), back && { label: "Undo", run: () => change(back, () => "Taken back.", () => null) });
    refresh();
  } catch (error) {
    say(error.message, { bad: true });
    refresh(); // show the current state
    return false;
  }
  return true;
}

function key({ type, name, server_name }) {
  return { type, name, ...(server_name && { server_name }) };
}

// Return an item's fields for PutItem; without a text the item keeps the text of its source.
function draft(one) {
  const { include, globs, priority_level, description, source } = one;
  return {
    ...key(one), include, ...(globs.length && { globs }), priority_level,
    ...(one.put && description && { description }), ...(one.put && source !== "PutItem" && { source }),
  };
}

// An item as the daemon has it now: it is put as a whole, and others may have changed it since it was drawn.
async function whole(one) {
  const reply = await fetch(`/items/one?${new URLSearchParams({ project: cwd, ...key(one) })}`, { cache: "no-store" }).catch(() => null);
  const now = await reply?.json().catch(() => null);
  if (!reply?.ok) throw new Error(now?.message ?? `${one.name} can’t be read, so nothing was changed.`);
  return { server_name: "", description: "", globs: [], own_include: "", ...now };
}

function setMode(one, include) {
  if (one.type === "tool") {
    const named = { server_name: one.server_name, name: one.name };
    return change(
      [["SetToolMode", { ...named, include }]],
      ([{ tools }]) => `${one.name} is ${titles[tools[0]?.include ?? include]} now.`,
      () => [["SetToolMode", { ...named, include: one.own_include || "default" }]],
    );
  }
  return put(one, { include });
}

// Change only `fields`; everything else keeps the value that the daemon has now.
async function put(drawn, fields) {
  let one;
  try {
    one = await whole(drawn);
  } catch (error) {
    return say(error.message, { bad: true });
  }
  const level = fields.priority_level ?? one.priority_level;
  const { priority_level, ...now } = draft({ ...one, ...fields });
  const kept = one.put || level !== one.priority_level ? { priority_level: level } : {};
  return change(
    [["PutItem", { item: { ...now, ...kept } }]],
    ([{ item: changed }]) => `${one.name} is ${titles[changed.include]} now.`,
    () => one.put ? [["PutItem", { item: draft(one) }]] : [["DeleteItem", key(one)]],
  );
}

// The mode of a server.
document.addEventListener("change", async (event) => {
  const select = event.target.closest("select[data-server]");
  if (!select) return;
  const server_name = select.dataset.server;
  const former = select.dataset.former;
  const isDone = await change(
    [["SetToolMode", { server_name, include: select.value }]],
    ([{ tools }]) => `${server_name} is ${titles[select.value]} now: ${tools.filter((one) => one.include === select.value).length} of ${tools.length} tools.`,
    () => [["SetToolMode", { server_name, include: former }]],
  );
  if (!isDone) select.value = former;
  for (const option of select.options) option.defaultSelected = option.selected; // from now on it is as it is drawn
});

document.addEventListener("click", (event) => {
  const suggestion = event.target.closest("[data-suggests]");
  if (suggestion) setMode(JSON.parse(suggestion.dataset.item), suggestion.dataset.suggests);
  const button = event.target.closest("[data-changes]");
  if (button) open(JSON.parse(button.dataset.item));
});

function open(one) {
  item = one;
  const isTool = item.type === "tool";
  parts.title.textContent = item.server_name ? `${item.server_name} › ${item.name}` : item.name;
  parts.server.textContent = `Its server’s mode: ${titles[item.server_include] ?? ""}.`;
  for (const choice of dialog.querySelectorAll("[data-choice]")) {
    choice.hidden = choice.dataset.choice === (isTool ? "glob" : "default");
  }
  form.elements.include.value = isTool ? item.own_include || "default" : item.include;
  form.elements.globs.value = item.globs.join("\n");
  form.elements.priority_level.value = item.priority_level;
  parts.level.hidden = isTool;
  parts.forget.hidden = !item.put;
  tellResult();
  dialog.showModal();
}

function tellResult() {
  const chosen = form.elements.include.value;
  const globs = chosen === "glob";
  parts.globs.hidden = !globs;
  form.elements.globs.required = globs;
  const result = chosen === "default" ? item.server_include : chosen;
  parts.result.textContent = item.type === "tool" ? `So it is: ${titles[result]}.` : "";
}

form.addEventListener("change", tellResult);
dialog.querySelector("[data-closes]").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

form.addEventListener("submit", () => {
  const { include, globs, priority_level } = Object.fromEntries(new FormData(form));
  if (item.type === "tool") {
    if (include !== (item.own_include || "default")) setMode(item, include);
    return;
  }
  const patterns = globs.split("\n").map((line) => line.trim()).filter(Boolean);
  const level = Number(priority_level || item.priority_level);
  const isNew = include !== item.include || (include === "glob" && patterns.join("\n") !== item.globs.join("\n"));
  const fields = { ...(isNew && { include, globs: include === "glob" ? patterns : [] }), ...(level !== item.priority_level && { priority_level: level }) };
  if (Object.keys(fields).length) put(item, fields);
});

// Delete what was put: an item from a file is again as in the file, any other item is gone.
parts.forget.addEventListener("click", async () => {
  dialog.close();
  const one = item;
  const whole = await fetch(`/items/one?${new URLSearchParams({ project: cwd, ...key(one) })}`).then((reply) => reply.ok ? reply.json() : null, () => null);
  if (!whole) return say(`${one.name} can’t be read, so nothing was changed.`, { bad: true });
  change(
    [["DeleteItem", key(one)]],
    ([{ item: own }]) => own ? `${one.name} is as its source has it: ${titles[own.include]}.` : `${one.name} is deleted.`,
    ([{ item: own }]) => [["PutItem", { item: own ? draft(one) : { ...draft(one), text: whole.text } }]],
  );
});
