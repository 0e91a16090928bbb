// Regions with `data-live="topic topic"` and an id are fetched anew when such an event comes.
// `data-live="always"` regions follow every topic that the page hears. Other parts of a page can listen:
// document.addEventListener("foveal:event", (event) => event.detail.topic …).
import { localTimes } from "./times.js";

const TOPICS = [
  "scope.created", "scope.changed", "scope.released", "context.built", "context.changed", "context.resumed",
  "session.changed", "items.changed",
  "index.progress", "project.changed", "experience.grafted", "experience.changed",
];
const QUIET_MS = 150; // events come in bursts
const SILENT_MS = 25000; // the server beats each 10 s: after this the connection is taken for lost
const PAUSES_MS = [500, 1000, 2000, 4000, 8000];

let source = null;
let lost = false;
let failures = 0;
let silence = 0;
let retry = 0;
let waiting = 0;
let running = false;
let again = new Set();

export function followEvents() {
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open(true)));
  window.addEventListener("pagehide", close); // a browser opens six connections to a host at most
  window.addEventListener("pageshow", (event) => event.persisted && open(true));
  if (!document.hidden) open(false);
}

function open(missed) {
  if (source) return;
  clearTimeout(retry);
  source = new EventSource(`/events?topics=${TOPICS.join(",")}`);
  source.onopen = () => {
    const back = lost || missed;
    tell(false);
    failures = 0;
    listen();
    if (back) refresh(new Set(["always", ...TOPICS])); // what was missed is unknown
  };
  source.onerror = () => {
    close();
    tell(true);
    retry = setTimeout(() => open(false), PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)]);
    failures += 1;
  };
  source.addEventListener("beat", listen);
  for (const topic of [...TOPICS, "lost"]) {
    source.addEventListener(topic, (event) => {
      listen();
      document.dispatchEvent(new CustomEvent("foveal:event", { detail: JSON.parse(event.data) }));
      refresh(topic === "lost" ? new Set(["always", ...TOPICS]) : new Set(["always", topic]));
    });
  }
}

function close() {
  clearTimeout(silence);
  clearTimeout(retry);
  source?.close();
  source = null;
}

function listen() {
  clearTimeout(silence);
  silence = setTimeout(() => source?.onerror(), SILENT_MS);
}

function tell(isLost) {
  lost = isLost;
  document.getElementById("connection").hidden = !isLost;
  document.dispatchEvent(new CustomEvent("foveal:connection", { detail: { lost } }));
}

export function refresh(topics = new Set(["always", ...TOPICS])) {
  for (const topic of topics) again.add(topic);
  if (!waiting && !running) waiting = setTimeout(exchange, QUIET_MS);
}

function regions(root) {
  return [...root.querySelectorAll("[data-live][id]")];
}

async function exchange() {
  waiting = 0;
  const topics = again;
  again = new Set();
  const wanted = regions(document).filter((one) => one.dataset.live.split(" ").some((name) => topics.has(name)));
  if (!wanted.length) return;
  running = true;
  try {
    const reply = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (!reply.ok) return;
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
    document.body.dataset.csrf = fresh.body.dataset.csrf;
    for (const old of wanted) {
      const region = fresh.getElementById(old.id);
      if (region && old.isConnected) replace(old, region);
    }
  } catch {
    // The stream of events notices a daemon that is gone, and says so.
  } finally {
    running = false;
    if (again.size) waiting = setTimeout(exchange, QUIET_MS);
  }
}

function replace(old, region) {
  localTimes(region);
  const before = old.getAttribute("data-drawn");
  const drawn = region.innerHTML;
  if (before === drawn) return;
  if (before === null && old.innerHTML === drawn) return;
  if (old.querySelector("input:focus, textarea:focus, select:focus, dialog[open]")) return; // somebody writes
  const opened = new Set([...old.querySelectorAll("details[id]")].map((one) => `${one.id} ${one.open}`));
  const focused = old.contains(document.activeElement) ? handle(document.activeElement) : "";
  const scrolled = [...old.querySelectorAll("[id]")].filter((one) => one.scrollTop || one.scrollLeft);
  old.replaceChildren(...document.importNode(region, true).childNodes);
  old.setAttribute("data-drawn", drawn);
  for (const state of opened) {
    const [id, isOpen] = state.split(" ");
    const details = document.getElementById(id);
    if (details) details.open = isOpen === "true";
  }
  for (const one of scrolled) {
    document.getElementById(one.id)?.scrollTo(one.scrollLeft, one.scrollTop);
  }
  if (focused) [...old.querySelectorAll("a, button, [tabindex]")].find((one) => handle(one) === focused)?.focus();
  document.dispatchEvent(new CustomEvent("foveal:drawn", { detail: old }));
}

function handle(element) {
  return element.id || element.getAttribute("href") || element.closest("form")?.dataset.fields || element.textContent;
}
