// The page last open in a session: a page with `?session=ID` in its address is stored there while it is visible. A
// view is stored for the session in its address, even if it is sent late. It contains the time when it was seen,
// since two requests may arrive in the wrong order.
import { send as post } from "./actions.js";
import { say } from "./messages.js";

const SETTLE_MS = 900; // so that only the last form of a search that is being typed is stored

const session = () => new URLSearchParams(location.search).get("session");

let waiting = null; // the view that is to be sent: its session, its address, when it was seen
let timer = 0;
let kept = ""; // what was sent last, so that it isn't sent again

export function keepLastOpen() {
  if (!session()) return;
  tellSession();
  note();
  for (const name of ["pushState", "replaceState"]) {
    const original = history[name];
    history[name] = function changed(...parts) {
      original.apply(this, parts);
      note();
    };
  }
  addEventListener("popstate", note);
  addEventListener("pagehide", send); // also a page that is left at once was seen
  // Links and forms of the page stay in the session; the navigation leads out of it.
  document.addEventListener("click", (event) => stay(event.target.closest("main a[href]")), true);
  document.addEventListener("formdata", (event) => {
    const isSearch = event.target.method === "get" && event.target.closest("main");
    if (isSearch && session() && !event.formData.has("session")) event.formData.set("session", session());
  });
}

function note() {
  const id = session();
  if (!id) return;
  const parameters = new URLSearchParams(location.search);
  parameters.delete("session");
  const address = `${location.pathname}?${parameters}`;
  if (waiting && waiting.id !== id) send();
  clearTimeout(timer);
  waiting = { id, address, seen_at: Date.now() };
  timer = setTimeout(send, SETTLE_MS);
}

async function send() {
  clearTimeout(timer);
  const view = waiting;
  waiting = null;
  if (!view || `${view.id} ${view.address}` === kept) return;
  kept = `${view.id} ${view.address}`;
  const address = `/sessions/${encodeURIComponent(view.id)}/last-open`;
  try {
    await post("POST", address, { address: view.address, seen_at: view.seen_at }, { keepalive: true }); // also when the page goes meanwhile
  } catch (error) {
    say(`Not kept as last open: ${error.message}`);
  }
}

function stay(link) {
  const id = session();
  if (!id || !link || link.origin !== location.origin || link.getAttribute("href").startsWith("#")) return;
  if (link.closest("[data-leaves-session]") || link.pathname.startsWith("/sessions")) return;
  const address = new URL(link.href);
  // A page that can be filtered by session says in its own links whether it still is.
  if (address.pathname === location.pathname || address.searchParams.has("session")) return;
  address.searchParams.set("session", id);
  link.href = address.href;
}

function tellSession() {
  const line = document.createElement("p");
  line.className = "in-session small";
  line.dataset.leavesSession = "";
  const link = document.createElement("a");
  link.href = `/sessions/${encodeURIComponent(session())}`;
  link.textContent = session();
  const leave = document.createElement("a");
  const outside = new URL(location.href);
  outside.searchParams.delete("session");
  leave.href = outside.href;
  leave.textContent = "Leave it";
  line.append("Looking around in session ", link, ", which keeps this page as its last open one. ", leave);
  document.getElementById("content").prepend(line);
}
