// Changes: a form with `data-method` calls that method of the daemon with its `data-fields` and its inputs.
// An input's `data-type` (list, number, json, flag) says what its text becomes; an empty one is left out.
import { refresh } from "./live.js";
import { say } from "./messages.js";

export async function call(method, params) {
  return send("POST", `/actions/${encodeURIComponent(method)}`, params);
}

export async function send(verb, address, body) {
  let reply;
  try {
    reply = await fetch(address, {
      method: verb,
      headers: { "Content-Type": "application/json", "X-Foveal-Csrf": document.body.dataset.csrf },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Error("The daemon can’t be reached; nothing was changed. See: foveal status");
  }
  const value = await reply.json().catch(() => null);
  if (!reply.ok) throw new Error(value?.message ?? `Refused (${reply.status}).`);
  return value;
}

export function watchActions() {
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form[data-method]");
    if (!form) return;
    event.preventDefault();
    if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) return;
    const buttons = [...form.querySelectorAll("button")];
    for (const button of buttons) button.disabled = true;
    try {
      const params = parameters(form);
      const result = await call(form.dataset.method, params);
      told(form, params, result);
      form.dispatchEvent(new CustomEvent("foveal:done", { bubbles: true, detail: result }));
      if (form.dataset.resets !== undefined) form.reset();
      if (document.activeElement && form.contains(document.activeElement) && form.dataset.resets === undefined) {
        document.activeElement.blur(); // a region isn't exchanged under somebody who writes in it
      }
      refresh();
    } catch (error) {
      say(error.message, { bad: true });
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  });
}

function told(form, params, result) {
  const text = form.dataset.done || result?.text || "Done.";
  if (!form.dataset.undo) return say(text);
  return say(text, {
    label: "Undo",
    run: async () => {
      try {
        await call(form.dataset.undo, params);
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
    if (!input.name || input.disabled) continue;
    if (["checkbox", "radio"].includes(input.type) && !input.checked && input.dataset.type !== "flag") continue;
    const value = typed(input);
    if (value === undefined) continue;
    params[input.name] = input.dataset.gathers !== undefined ? [...(params[input.name] ?? []), value] : value;
  }
  return params;
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
