// The Knowledge page: items and decisions are created, edited, pinned and deleted here, each change with its undo.
import { call } from "./actions.js";
import { refresh } from "./live.js";
import { say } from "./messages.js";

const NAME_WORDS = 6; // of a text, for a rule that nobody named
const NAME_CHARACTERS = 60;

const cwd = document.querySelector("[data-knowledge]").dataset.knowledge;
const dialog = document.getElementById("change");
const pins = document.getElementById("pin");

// Steps are calls of the daemon in their order; `undo` gives those that take them back.
async function change(steps, said, undo) {
  try {
    const results = [];
    for (const [method, params] of steps) results.push(await call(method, method.includes("SessionItem") ? params : { cwd, ...params }));
    const back = undo(results);
    say(said(results), back && { label: "Undo", run: () => change(back, () => "Undone.", () => null) });
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

// Return an item as the daemon has it now, null if there is none: it is put as a whole, and others may have changed
// it since it was drawn.
async function now(one) {
  const reply = await fetch(`/knowledge/one?${new URLSearchParams({ project: cwd, ...key(one) })}`, { cache: "no-store" }).catch(() => null);
  const found = await reply?.json().catch(() => null);
  if (!reply?.ok) throw new Error(found?.message ?? `${one.name} can’t be read, so nothing was changed.`);
  return found && { server_name: "", description: "", text: "", globs: [], own_include: "", ...found };
}

async function whole(one) {
  const found = await now(one);
  if (!found) throw new Error(`${one.name} is gone, so nothing was changed.`);
  return found;
}

// Run a change that reads first; what fails there is said too.
async function attempt(act) {
  try {
    return await act();
  } catch (error) {
    say(error.message, { bad: true });
    return false;
  }
}

function setMode(one, include) {
  if (one.type === "tool") {
    const named = { server_name: one.server_name, name: one.name };
    return change(
      [["SetToolMode", { ...named, include }]],
      ([{ tools }]) => `${one.name} now has the mode “${titleOf(tools[0]?.include ?? include)}”.`,
      () => [["SetToolMode", { ...named, include: one.own_include || "default" }]],
    );
  }
  return put(one, { include, globs: [] });
}

// Change only `fields`; everything else keeps the value that the daemon has now.
function put(drawn, fields) {
  return attempt(async () => {
    const one = await whole(drawn);
    const level = fields.priority_level ?? one.priority_level;
    const { priority_level, ...next } = draft({ ...one, ...fields });
    const kept = one.put || level !== one.priority_level ? { priority_level: level } : {};
    return change(
      [["PutItem", { item: { ...next, ...kept, ...(fields.text && { text: fields.text }) } }]],
      ([{ item: changed }]) => fields.text ? `${one.name} is saved.` : `${one.name} now has the mode “${titleOf(changed.include)}”.`,
      () => one.put ? [["PutItem", { item: { ...draft(one), ...(fields.text && { text: one.text }) } }]] : [["DeleteItem", key(one)]],
    );
  });
}

// Delete what was put: an item from a file is again as in the file, any other item is gone.
function remove(drawn) {
  return attempt(async () => {
    const one = await whole(drawn);
    return change(
      [["DeleteItem", key(one)]],
      ([{ item: own }]) => own ? `${one.name} is as in its file again, with the mode “${titleOf(own.include)}”.` : `${one.name} is deleted.`,
      ([{ item: own }]) => [["PutItem", { item: own ? draft(one) : { ...draft(one), text: one.text } }]],
    );
  });
}

// Throws what was refused, which the dialog shows: messages are behind it.
async function create(type, fields) {
  const item = { type, ...fields };
  if (await now(item)) throw new Error(`There is a ${type} named ${item.name} already. Give another name.`);
  await call("PutItem", { cwd, item });
  say(`${item.name} is created.`, { label: "Undo", run: () => change([["DeleteItem", key(item)]], () => "Undone.", () => null) });
  refresh();
}

function pinInto(session_id, name, one) {
  const params = { session_id, ...key(one) };
  return change(
    [["AddSessionItem", params]],
    ([{ changed }]) => changed ? `${one.name} is pinned into ${name}.` : `${name} has ${one.name} already.`,
    ([{ changed }]) => changed ? [["RemoveSessionItem", params]] : null,
  );
}

function titleOf(include) {
  return dialog.querySelector(`[data-choice="${include}"] strong`)?.textContent ?? include;
}

document.addEventListener("click", (event) => {
  const pressed = (name) => event.target.closest(`[data-${name}]`);
  const itemOf = (button) => JSON.parse(button.closest(".item").querySelector("[data-item]").dataset.item);
  const suggestion = pressed("suggests");
  if (suggestion) setMode(JSON.parse(suggestion.dataset.item), suggestion.dataset.suggests);
  if (pressed("creates")) edit(null, pressed("creates").dataset.creates);
  if (pressed("changes")) attempt(async () => edit(await whole(itemOf(pressed("changes")))));
  if (pressed("deletes")) remove(itemOf(pressed("deletes")));
  if (pressed("pins")) offerPins(itemOf(pressed("pins")));
  if (pressed("opens-dialog")) document.getElementById(pressed("opens-dialog").dataset.opensDialog).showModal();
  const open = event.target.closest("dialog[open]:not(.palette, .keys)");
  if (open && (pressed("closes") || event.target === open)) open.close();
});

// The mode of a server.
document.addEventListener("change", async (event) => {
  const select = event.target.closest("select[data-server]");
  if (!select) return;
  const server_name = select.dataset.server;
  const former = select.dataset.former;
  const isDone = await change(
    [["SetToolMode", { server_name, include: select.value }]],
    ([{ tools }]) => `${server_name} now has the mode “${titleOf(select.value)}”: ${tools.filter((one) => one.include === select.value).length} of ${tools.length} tools.`,
    () => [["SetToolMode", { server_name, include: former }]],
  );
  if (!isDone) select.value = former;
  for (const option of select.options) option.defaultSelected = option.selected; // from now on it is as it is drawn
});

function offerPins(one) {
  document.getElementById("pin-title").textContent = `Pin ${one.name} into`;
  const everywhere = pins.querySelector("[data-everywhere]");
  const isEverywhere = one.include === "always";
  everywhere.disabled = isEverywhere;
  everywhere.querySelector("span").textContent = isEverywhere ? "It is in all sessions already" : "From their first message on";
  pins.onclick = ({ target }) => {
    const button = target.closest("button");
    if (!button || button.dataset.closes !== undefined) return;
    pins.close();
    if (button === everywhere) setMode(one, "always");
    else pinInto(button.dataset.session, button.querySelector("strong").textContent, one);
  };
  pins.showModal();
}

// The dialog of an item, or of a new one of a type.
function edit(item, type = item.type) {
  const form = dialog.querySelector("form");
  const part = (name) => document.getElementById(`change-${name}`);
  const isTool = type === "tool";
  const isWritten = !item || (item.put && item.source === "PutItem");
  const first = item?.include ?? (type === "rule" ? "always" : "agent");
  part("title").textContent = item ? [item.server_name, item.name].filter(Boolean).join(" › ") : `New ${type}`;
  part("server").textContent = isTool ? `Its server’s mode: ${titleOf(item.server_include)}.` : "";
  part("name").hidden = Boolean(item);
  part("text").hidden = !isWritten || isTool;
  part("file").textContent = isWritten || isTool ? "" : `Its text is in ${item.source}.`;
  part("level").hidden = isTool;
  part("save").textContent = item ? "Save" : "Create";
  for (const choice of dialog.querySelectorAll("[data-choice]")) choice.hidden = choice.dataset.choice === (isTool ? "glob" : "default");
  const { name, text, include, globs, priority_level } = form.elements;
  name.value = "";
  text.value = isWritten ? item?.text ?? "" : "";
  text.required = isWritten && !isTool;
  include.value = isTool ? item.own_include || "default" : first;
  globs.value = (item?.globs ?? []).join("\n");
  priority_level.value = String(item?.priority_level ?? 500).padStart(3, "0");
  form.onchange = () => {
    part("globs").hidden = include.value !== "glob";
    globs.required = include.value === "glob";
    part("result").textContent = isTool ? `Its mode: ${titleOf(include.value === "default" ? item.server_include : include.value)}.` : "";
  };
  form.onchange();
  form.onsubmit = async (event) => {
    event.preventDefault();
    const patterns = globs.value.split("\n").map((line) => line.trim()).filter(Boolean);
    const level = Number(priority_level.value || item?.priority_level || 500);
    const shown = { include: include.value, ...(include.value === "glob" && { globs: patterns }), priority_level: level };
    if (!item) {
      try {
        await create(type, { ...shown, name: name.value.trim() || nameOf(text.value), text: text.value });
        dialog.close();
      } catch (error) {
        part("result").textContent = error.message;
      }
      return;
    }
    dialog.close();
    if (isTool) {
      if (include.value !== (item.own_include || "default")) setMode(item, include.value);
      return;
    }
    const isNew = shown.include !== item.include || (shown.include === "glob" && patterns.join("\n") !== item.globs.join("\n"));
    const fields = {
      ...(isNew && { include: shown.include, globs: shown.globs ?? [] }),
      ...(level !== item.priority_level && { priority_level: level }),
      ...(isWritten && text.value !== item.text && { text: text.value }),
    };
    if (Object.keys(fields).length) put(item, fields);
  };
  dialog.showModal();
  (isWritten && !isTool ? text : include[0]).focus();
}

function nameOf(text) {
  const words = text.trim().split(/\s+/).slice(0, NAME_WORDS).join(" ").slice(0, NAME_CHARACTERS);
  return words.replace(/[^\p{L}\p{N})]+$/u, "").toLowerCase();
}

// A decision that a person leaves.
document.querySelector("form[data-decides]")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const { decision, rationale, files } = Object.fromEntries(new FormData(form));
  const files_touched = files.split("\n").map((line) => line.trim()).filter(Boolean);
  const experience = { decision, rationale, files_touched, agent_id: "dashboard", session_id: "" };
  const isDone = await change(
    [["GraftExperience", { experience }]],
    ([{ grafted }]) => grafted ? "The decision is kept." : "The same decision was kept already.",
    ([{ grafted, experience_ids: ids }]) => grafted ? [["DeleteExperience", { experience_id: ids[0] }]] : null,
  );
  if (!isDone) return;
  form.closest("dialog").close();
  form.reset();
});
