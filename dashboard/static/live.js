// Regions with `data-live="topic topic"` and an id are fetched anew when such an event comes.
// `data-live="always"` regions follow every topic that the page hears. Other parts of a page can listen:
// document.addEventListener("foveal:event", (event) => event.detail.topic …), and "foveal:connection" for its state.
import { troubleOf } from "./messages.js";
import { redraw } from "./redraw.js";
import { followStream, TOPICS } from "./stream.js";
import { localTimes } from "./times.js";

const QUIET_MS = 150; // events come in bursts
const REPLY_MS = 30000;
const LOST = "The connection to the daemon is lost. What you see is from before; the page tries again by itself.";
const SIGNED_OUT = "You are signed out; what you see is from before. To go on, run in a terminal: foveal dashboard";

const drawn = new Map(); // regions by id, as the server rendered them last, since scripts change the page
let state = "";
let trouble = ""; // why the page can't be had anew
let waiting = 0;
let running = false;
let again = new Set();

export function followEvents() {
  for (const region of regions(document)) drawn.set(region.id, region.innerHTML);
  followStream({
    event(detail) {
      document.dispatchEvent(new CustomEvent("foveal:event", { detail }));
      refresh(detail.topic === "lost" || trouble ? undefined : new Set(["always", detail.topic]));
    },
    state(now, missed) {
      state = now;
      tell();
      document.body.dataset.stream = state;
      document.dispatchEvent(new CustomEvent("foveal:connection", { detail: { state, missed } }));
      if (missed) refresh();
    },
  });
}

function tell() {
  const text = { "": trouble, open: trouble, lost: LOST, out: SIGNED_OUT }[state];
  const notice = document.getElementById("connection");
  notice.hidden = !text;
  if (notice.textContent !== text) notice.textContent = text;
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
    const signal = AbortSignal.timeout(REPLY_MS);
    const reply = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store", signal });
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
    trouble = reply.ok ? "" : `What you see is from before: ${troubleOf(fresh, reply.status)}`;
    tell();
    if (!reply.ok) return;
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
  if (drawn.get(old.id) === region.innerHTML) return;
  drawn.set(old.id, region.innerHTML);
  redraw(old, region);
  document.dispatchEvent(new CustomEvent("foveal:drawn", { detail: old }));
}
