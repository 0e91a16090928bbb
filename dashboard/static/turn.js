// The map: choosing a slice shows what it says beside the drawing, from its row and its part of the text,
// which are on the page once. Also: completes file names, and copies long texts that aren't on the page.
import { call } from "./actions.js";
import { refresh } from "./live.js";
import { say } from "./messages.js";

const SHOWN_CHARACTERS = 20000; // a panel is for looking; the whole text is further down
const QUIET_MS = 120;

let chosen = null;

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-slice]");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && choose(link.dataset.slice)) {
    event.preventDefault();
    history.replaceState(null, "", `#slice-${link.dataset.slice}`);
  }
  if (event.target.closest("[data-unchoose]")) unchoose();
});

// Arrows go from box to box in the drawing, and Enter chooses, being a link.
document.addEventListener("keydown", (event) => {
  const drawing = event.target.closest?.(".bands");
  const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  if (!drawing || !step || event.altKey || event.ctrlKey || event.metaKey) return;
  const cells = [...drawing.querySelectorAll("a.cell")];
  const next = cells[cells.indexOf(event.target.closest("a.cell")) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
  if (chosen !== null && next.dataset.slice) choose(next.dataset.slice);
});

function choose(number) {
  const panel = document.getElementById("chosen");
  const row = document.getElementById(`slice-${number}`); // on another page of the list there is none
  if (!panel || !(row || document.getElementById(`part-${number}`))) return false;
  chosen = number;
  mark(number, row);
  panel.querySelector("[data-idle]").hidden = true;
  panel.querySelector("[data-of]")?.remove();
  panel.append(described(number, row));
  panel.scrollTop = 0;
  const box = panel.getBoundingClientRect();
  if (box.top > window.innerHeight - 120 || box.bottom < 60) panel.scrollIntoView({ block: "nearest" });
  return true;
}

function unchoose() {
  const panel = document.getElementById("chosen");
  panel.querySelector("[data-of]")?.remove();
  panel.querySelector("[data-idle]").hidden = false;
  mark(null, null);
  cellOf(chosen)?.focus();
  chosen = null;
  history.replaceState(null, "", location.pathname + location.search);
}

function mark(number, row) {
  for (const one of document.querySelectorAll("tr.looked, .cell[aria-current]")) {
    one.classList.remove("looked");
    one.removeAttribute("aria-current");
  }
  row?.classList.add("looked");
  cellOf(number)?.setAttribute("aria-current", "true");
}

function cellOf(number) {
  return document.querySelector(`.cell[data-slice="${number}"]`);
}

function described(number, row) {
  const block = document.createElement("div");
  block.dataset.of = number;
  block.className = "stack";
  const head = document.createElement("div");
  head.className = "row between head";
  const title = document.createElement("h2");
  if (!row) title.textContent = cellOf(number)?.title ?? "";
  else {
    const what = row.querySelector(".what").cloneNode(true);
    what.querySelector(".soft")?.remove(); // the facts below it say that
    title.append(...what.childNodes);
  }
  head.append(title, button("Close", { unchoose: "" }, "tiny quiet"));
  const facts = document.createElement("dl");
  facts.className = "facts small";
  for (const cell of row?.querySelectorAll("[data-label]") ?? []) {
    if (cell.textContent.trim() === "–") continue;
    const term = document.createElement("dt");
    term.textContent = cell.dataset.label;
    const value = document.createElement("dd");
    value.append(...cell.cloneNode(true).childNodes);
    facts.append(term, value);
  }
  block.append(head, facts);
  const part = document.getElementById(`part-${number}`);
  if (part) block.append(...shownText(part, number));
  else block.append(elsewhere(number));
  return block;
}

// A text that is too long for the page isn't there: the box leads to where it is.
function elsewhere(number) {
  const link = document.createElement("a");
  link.href = cellOf(number)?.getAttribute("href") ?? `#slice-${number}`;
  link.textContent = "What it says";
  return link;
}

function shownText(part, number) {
  const text = part.textContent;
  const shown = document.createElement("pre");
  shown.className = "wrap";
  shown.tabIndex = 0;
  shown.setAttribute("aria-label", "Text of the slice");
  shown.textContent = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}\n…` : text;
  const links = document.createElement("div");
  links.className = "row small";
  for (const [label, target] of [["In the list", cellOf(number)?.getAttribute("href") ?? `#slice-${number}`], ["In the whole text", `#part-${number}`]]) {
    const link = document.createElement("a");
    link.href = target;
    link.textContent = label;
    links.append(link);
  }
  links.append(button("Copy its text", { copies: part.id }, "tiny"));
  return [links, shown];
}

function button(label, data, kind) {
  const one = document.createElement("button");
  one.type = "button";
  one.className = kind;
  one.textContent = label;
  Object.assign(one.dataset, data);
  return one;
}

// A link to a part of the text opens the fold that it is in.
function unfold() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  const fold = target.closest("details");
  if (fold) fold.open = true;
  if (target.matches("tr[id^=slice-]")) choose(target.id.slice("slice-".length));
  else target.scrollIntoView({ block: "center" });
}
window.addEventListener("hashchange", unfold);
unfold();

// The focus of the scope: what is added is told apart from what isn't known. A preview leads to its own page.
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-expands]");
  if (!form) return;
  event.preventDefault();
  const input = form.elements.node;
  try {
    const node = input.value.trim();
    const result = await call("ExpandFocus", { scope_id: form.dataset.expands, node_ids: [node] });
    if (result.unknown.length) return say(`The project has no ${node}.`, { bad: true });
    say(result.already.length ? `${node} was in focus already.` : `In focus: ${node}`);
    form.dispatchEvent(new CustomEvent("foveal:done", { bubbles: true, detail: result }));
    form.reset();
    refresh();
  } catch (error) {
    say(error.message, { bad: true });
  }
});

document.addEventListener("foveal:done", (event) => {
  if (event.target.dataset.method === "GetContext") location.assign(`/turns/${event.detail.context_id}`);
});

document.addEventListener("click", async (event) => {
  const from = event.target.closest("[data-copies-from]")?.dataset.copiesFrom;
  if (!from) return;
  try {
    const reply = await fetch(from);
    if (!reply.ok) throw new Error(`the daemon answered ${reply.status}`);
    await navigator.clipboard.writeText(await reply.text());
    say("Copied.");
  } catch (error) {
    say(`Not copied: ${error.message}.`, { bad: true });
  }
});

// Options can hold no <time>, so that their moments begin in UTC and are put into the reader's zone here.
const moment = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });
function localOptions(root) {
  for (const option of root.querySelectorAll("option[data-at]")) {
    option.textContent = option.textContent.replace(/^\S+ \S+ UTC/, moment.format(new Date(option.dataset.at)));
  }
}
localOptions(document);
document.addEventListener("foveal:drawn", (event) => localOptions(event.detail));

// Names of files, as they are typed.
let waiting = 0;
document.addEventListener("input", (event) => {
  const input = event.target.closest("[data-completes]");
  if (!input) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => complete(input), QUIET_MS);
});

async function complete(input) {
  const typed = input.value.trim();
  const list = document.getElementById(input.getAttribute("list"));
  if (!typed || [...list.options].some((one) => one.value === typed)) return;
  const address = new URL(input.dataset.completes, location.href);
  address.searchParams.set("q", typed);
  const reply = await fetch(address).catch(() => null);
  if (!reply?.ok || input.value.trim() !== typed) return; // names only help; what is wrong is told elsewhere
  const { files } = await reply.json();
  list.replaceChildren(...files.map((name) => Object.assign(document.createElement("option"), { value: name })));
}
