// Results as you type: the page is asked for again, and its results are exchanged.
import { troubleOf } from "./messages.js";
import { localTimes } from "./times.js";

const PAUSE_MS = 160; // between two keys most people need less
const form = document.getElementById("search");
let waiting = 0;
let asking = null;
let failed = false;

form?.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(ask, PAUSE_MS);
});
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
document.addEventListener("foveal:connection", ({ detail }) => failed && detail.state === "open" && ask());

async function ask() {
  clearTimeout(waiting);
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  const address = new URL(form.action);
  for (const [name, value] of new FormData(form)) if (value && !(name === "limit" && value === "10")) address.searchParams.set(name, value);
  const results = document.getElementById("results");
  results.setAttribute("aria-busy", "true");
  try {
    const reply = await fetch(address, { headers: { Accept: "text/html" }, signal: mine.signal });
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
    const found = fresh.getElementById("results");
    if (!reply.ok || !found) return fail(results, troubleOf(fresh, reply.status));
    failed = false;
    results.replaceChildren(...found.childNodes);
    localTimes(results);
    document.getElementById("languages").replaceChildren(...fresh.getElementById("languages").childNodes);
    history.replaceState(null, "", address);
    document.title = fresh.title;
  } catch (error) {
    if (error.name !== "AbortError") fail(results, "The daemon can’t be reached. See: foveal status");
  } finally {
    if (asking === mine) results.removeAttribute("aria-busy");
  }
}

// The address stays that of the last question that was answered.
function fail(results, text) {
  failed = true;
  const notice = document.createElement("div");
  notice.className = "notice bad";
  notice.setAttribute("role", "alert");
  notice.textContent = text;
  results.replaceChildren(notice);
}
