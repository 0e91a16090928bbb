// The list of events; the connection is that of live.js. The server lists the latest contexts, with their prompts.
const KEPT = 500;
const clock = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });

const STATES = {
  "": ["connecting", "badge"],
  open: ["connected", "badge good"],
  lost: ["connection lost, trying again", "badge bad"],
  out: ["signed out", "badge bad"],
};

const list = document.getElementById("events");
const state = document.getElementById("state");
const pause = document.getElementById("pause");
let held = 0;
let wasFollowed = document.body.dataset.stream === "open";

document.addEventListener("foveal:event", ({ detail }) => {
  if (pause.getAttribute("aria-pressed") === "true") {
    held += 1;
    pause.textContent = `Go on (${held} missed)`;
    return;
  }
  list.prepend(entry(detail));
  while (list.children.length > KEPT) list.lastChild.remove();
  document.getElementById("nothing").hidden = true;
});
// An event names no prompt, since everybody who listens gets it; the page has those that its reader may see.
document.addEventListener("foveal:drawn", ({ detail }) => {
  if (detail.id !== "prompts") return;
  for (const link of list.querySelectorAll("a[data-context]")) {
    const known = detail.querySelector(`[data-context="${CSS.escape(link.dataset.context)}"]`)?.textContent;
    if (known) link.textContent = known;
  }
});
document.addEventListener("foveal:connection", ({ detail }) => {
  tell(detail.state);
  if (detail.missed && wasFollowed) list.prepend(gap());
  wasFollowed ||= detail.state === "open";
});
tell(document.body.dataset.stream ?? "");

pause.addEventListener("click", () => {
  const paused = pause.getAttribute("aria-pressed") !== "true";
  pause.setAttribute("aria-pressed", String(paused));
  pause.textContent = paused ? "Go on" : "Pause";
  held = 0;
});
document.getElementById("clear").addEventListener("click", () => {
  list.replaceChildren();
  document.getElementById("nothing").hidden = false;
});
document.querySelector(".topics").addEventListener("change", () => {
  const shown = new Set([...document.querySelectorAll('input[name="topic"]:checked')].map((one) => one.value));
  for (const one of list.children) one.hidden = one.dataset.topic !== "lost" && !shown.has(one.dataset.topic);
});

function tell(name) {
  [state.textContent, state.className] = STATES[name];
}

// Events aren't stored: those from a time without a connection are lost.
function gap() {
  const one = document.createElement("li");
  one.dataset.topic = "lost";
  const name = document.createElement("span");
  name.className = "badge";
  name.textContent = "gap";
  const words = document.createElement("span");
  words.textContent = "What happened while this page was hidden or without a connection isn’t listed.";
  one.append(timeOf(new Date()), name, words);
  return one;
}

function entry({ topic, at, data }) {
  const one = document.createElement("li");
  one.dataset.topic = topic;
  one.hidden = topic !== "lost" && !document.querySelector(`input[name="topic"][value="${CSS.escape(topic)}"]`)?.checked;
  const time = timeOf(new Date(typeof at === "number" ? at * 1000 : at ?? Date.now()));
  const name = document.createElement("span");
  name.className = `badge topic ${topic.split(".")[0]}`;
  name.textContent = topic;
  if (data.context_id) {
    one.append(time, name, turn(data));
    return one;
  }
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  summary.dataset.stop = "";
  summary.textContent = topic === "lost" ? `${data.count} events were too fast for this page` : told(data);
  const text = document.createElement("pre");
  text.className = "wrap";
  text.textContent = JSON.stringify(data, null, 2);
  details.append(summary, text);
  one.append(time, name, details);
  return one;
}

function turn(data) {
  const words = document.createElement("span");
  const link = document.createElement("a");
  link.href = `/turns/${encodeURIComponent(data.context_id)}`;
  link.dataset.stop = "";
  link.dataset.context = data.context_id;
  link.textContent = "without a prompt";
  const more = document.createElement("span");
  more.className = "soft";
  const took = data.elapsed_ms >= 10 ? Math.round(data.elapsed_ms) : Number(data.elapsed_ms).toPrecision(2);
  more.textContent = ` ${[data.agent_name || "no agent named", `${data.tokens.toLocaleString("en")} tokens`, `${took} ms`, data.cached && "from the cache", data.project.split("/").pop()].filter(Boolean).join(" · ")}`;
  words.append(link, more);
  return words;
}

function timeOf(moment) {
  const time = document.createElement("time");
  time.dateTime = moment.toISOString();
  time.title = moment.toString();
  time.textContent = clock.format(moment);
  return time;
}

// The parts of an event that say most, in one line.
function told(data) {
  const parts = [];
  for (const [name, value] of Object.entries(data)) {
    if (value === null || value === "" || typeof value === "object" && !Array.isArray(value)) continue;
    parts.push(`${name} ${Array.isArray(value) ? value.length : name === "project" ? String(value).split("/").pop() : value}`);
  }
  return parts.join(" · ") || "…";
}
