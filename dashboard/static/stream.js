// The daemon's events, for all pages of a browser by one connection, since a browser opens at most six to a host.
// The page that has the lock holds the stream and passes on what it hears; when it goes, the next in line takes
// over. A hidden page takes no part. Knows no region and no notice.
export const TOPICS = [
  "scope.created", "scope.changed", "scope.released", "context.built", "context.changed", "context.resumed",
  "session.changed", "items.changed",
  "index.progress", "project.changed", "experience.grafted", "experience.changed",
];
const NAME = "foveal-events"; // of the lock and of the channel
const SILENT_MS = 25000; // the server beats each 10 s: after this the connection is taken for lost
// A page that holds the stream but passes nothing on for this time, in a dialog or a debugger, is replaced.
const STUCK_MS = 35000;
const ASKED_MS = 3000;
const PAUSES_MS = [500, 1000, 2000, 4000, 8000];

let hear = null; // { event(detail), state(state, missed) }, where the state is open, lost or out (signed out)
let joined = false;
let channel = null; // between pages; null where the browser has no locks, and each page its own stream
let turn = null; // gives up waiting for the lock
let release = null; // gives up the lock; null while another page holds the stream
let source = null;
let state = ""; // nothing was heard yet
let missed = true; // also what happened between a page's drawing and its joining
let failures = 0;
let silence = 0;
let retry = 0;

// `heard.state` gets `missed` if this page may have missed events, so that it must load its regions again.
export function followStream(heard) {
  hear = heard;
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : join()));
  window.addEventListener("pagehide", leave);
  window.addEventListener("pageshow", (event) => event.persisted && !document.hidden && join());
  if (!document.hidden) join();
}

function join() {
  if (joined) return;
  joined = true;
  if (!navigator.locks || !window.BroadcastChannel) return hold();
  channel = new BroadcastChannel(NAME);
  // A page that was replaced may not know it yet.
  channel.onmessage = ({ data }) => (data.kind === "ask" ? answer() : release || take(data));
  channel.postMessage({ kind: "ask" });
  listen();
  wait();
}

function leave() {
  joined = false;
  missed = true;
  drop();
  turn?.abort();
  release?.();
  channel?.close();
  turn = release = channel = null;
}

function wait() {
  const mine = new AbortController();
  turn = mine;
  navigator.locks
    .request(NAME, { signal: mine.signal }, () => (mine.signal.aborted ? null : hold()))
    .catch(() => mine.signal.aborted || relieved());
}

function hold() {
  if (!joined) return null;
  const held = new Promise((done) => { release = done; });
  connect();
  return held;
}

function relieve() {
  turn?.abort();
  navigator.locks.request(NAME, { steal: true }, hold).catch(relieved);
}

function relieved() {
  if (!release) return;
  release = null;
  drop();
  wait();
}

function connect() {
  drop();
  source = new EventSource(`/events?topics=${TOPICS.join(",")}`);
  source.onopen = () => {
    failures = 0;
    pass({ kind: "state", state: "open", anew: true });
  };
  source.onerror = fail;
  source.addEventListener("beat", () => pass({ kind: "beat" }));
  for (const topic of [...TOPICS, "lost"]) {
    source.addEventListener(topic, (event) => pass({ kind: "event", event: JSON.parse(event.data) }));
  }
  listen();
}

// An event source doesn't say why it failed.
async function fail() {
  drop();
  const asked = await fetch("/events", { method: "HEAD", signal: AbortSignal.timeout(ASKED_MS) }).catch(() => null);
  if (!release || source) return; // another page holds the stream by now, or it was opened again
  if (asked?.status === 401) return pass({ kind: "state", state: "out" });
  retry = setTimeout(connect, PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)]);
  failures += 1;
  pass({ kind: "state", state: "lost" });
}

function drop() {
  clearTimeout(silence);
  clearTimeout(retry);
  source?.close();
  source = null;
}

function pass(message) {
  channel?.postMessage(message);
  take(message);
}

function take(message) {
  if (message.kind === "state") settle(message);
  if (message.kind === "event") hear.event(message.event);
  if (state === "out") clearTimeout(silence);
  else listen();
}

// A page that was just opened is signed in: then so is this one.
function answer() {
  if (!release) return;
  if (state === "out") connect();
  else if (state) channel.postMessage({ kind: "state", state });
}

function settle({ state: next, anew }) {
  const gap = missed || (anew && state !== "");
  state = next;
  if (state === "open") missed = false;
  hear.state(state, state === "open" && gap);
}

function listen() {
  clearTimeout(silence);
  silence = setTimeout(release ? fail : relieve, release ? SILENT_MS : STUCK_MS);
}
