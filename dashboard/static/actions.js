// Changes: a form with `data-method` calls that method of the daemon with its `data-fields` and its inputs.
// An input's `data-type` (list, number, json, flag) says what its text becomes; an empty one is left out.
// A form with `data-changed` sends only the fields that the reader changed, because others may change the same ones.
import { refresh } from "./live.js";
import { say } from "./messages.js";

const LATE = "The daemon didn’t answer in time; whether it was changed isn’t known: load the page again.";

export async function call(method, params, options) {
  return send("POST", `/actions/${encodeURIComponent(method)}`, params, options);
}

export async function send(verb, address, body, options) {
  const ask = () => fetch(address, {
    method: verb,
    headers: { "Content-Type": "application/json", "X-Foveal-Csrf": document.body.dataset.csrf },
    body: JSON.stringify(body),
    ...options,
  });
  let reply;
  try {
    reply = await ask();
    if (reply.status === 403 && await isSignedInAnew(options?.signal)) reply = await ask();
  } catch (error) {
    throw new Error(error.name === "TimeoutError" ? LATE : "The daemon can’t be reached; nothing was changed. See: foveal status");
  }
  const value = await reply.json().catch(() => null);
  if (!reply.ok) throw new Error(value?.message ?? `Refused (${reply.status}).`);
  return value;
}

// If the browser was signed in again since this page was loaded, the page's token is that of the former login.
async function isSignedInAnew(signal) {
  const reply = await fetch("/diagnostics", { headers: { Accept: "text/html" }, cache: "no-store", signal });
  if (!reply.ok) return false;
  const { csrf } = new DOMParser().parseFromString(await reply.text(), "text/html").body.dataset;
  const isAnew = csrf !== document.body.dataset.csrf;
  document.body.dataset.csrf = csrf;
  return isAnew;
}

const sending = new WeakSet(); // forms; their buttons aren't disabled, since that takes the focus away

export function watchActions() {
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form[data-method]");
    if (!form) return;
    event.preventDefault();
    if (sending.has(form)) return;
    if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) return;
    sending.add(form);
    try {
      if (form.dataset.changed !== undefined && !changedIn(form).length) return say("Nothing was changed.");
      const params = parameters(form);
      const result = await call(form.dataset.method, params);
      if (form.dataset.resumes === undefined) told(form, params, result); // its page says it
      if (form.dataset.changed !== undefined) for (const input of changedIn(form)) input.defaultValue = input.value;
      if (form.dataset.goes) return location.assign(form.dataset.goes); // to what can be seen from now on
      form.dispatchEvent(new CustomEvent("foveal:done", { bubbles: true, detail: result }));
      if (form.dataset.resets !== undefined) form.reset();
      refresh();
    } catch (error) {
      say(error.message, { bad: true });
    } finally {
      sending.delete(form);
    }
  });
}

function told(form, params, result) {
  const text = form.dataset.done || result?.text || "Done.";
  const { undo, undoFields } = form.dataset; // as they are now: the form may be another one when it is undone
  if (!undo) return say(text);
  return say(text, {
    label: "Undo",
    run: async () => {
      try {
        await call(undo, { ...params, ...JSON.parse(undoFields ?? "{}") });
        say("Taken back.");
        refresh();
      } catch (error) {
        say(error.message, { bad: true });
      }
    },
  });
}

function parameters(form) {
  const params = JSON.parse(form.dataset.fields || "{}");
  for (const input of form.elements) {
    if (!input.name || input.disabled || (form.dataset.changed !== undefined && !isChanged(input))) continue;
    if (["checkbox", "radio"].includes(input.type) && !input.checked && input.dataset.type !== "flag") continue;
    const value = typed(input);
    if (value === undefined) continue;
    params[input.name] = input.dataset.gathers !== undefined ? [...(params[input.name] ?? []), value] : value;
  }
  return params;
}

function changedIn(form) {
  return [...form.elements].filter((input) => input.name && isChanged(input));
}

function isChanged(input) {
  return input.value !== input.defaultValue;
}

function typed(input) {
  const text = input.value.trim();
  switch (input.dataset.type) {
    case "flag": return input.checked;
    case "number": return text === "" ? undefined : Number(text);
    case "list": return text === "" && input.dataset.empty === undefined ? undefined : text.split("\n").map((line) => line.trim()).filter(Boolean);
    case "json": return text === "" ? undefined : JSON.parse(text);
    default: return text === "" && input.dataset.empty === undefined ? undefined : input.value;
  }
}
