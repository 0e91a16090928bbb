// Results as you type: the page is asked for again, and its results are exchanged.
import { localTimes } from "./times.js";

const PAUSE_MS = 160; // between two keys most people need less
const form = document.getElementById("search");
let waiting = 0;
let asking = null;

form?.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(ask, PAUSE_MS);
});
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});

async function ask() {
  clearTimeout(waiting);
  asking?.abort();
  asking = new AbortController();
  const address = new URL(form.action);
  for (const [name, value] of new FormData(form)) if (value && !(name === "limit" && value === "10")) address.searchParams.set(name, value);
  const results = document.getElementById("results");
  results.setAttribute("aria-busy", "true");
  try {
    const reply = await fetch(address, { signal: asking.signal });
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
    const found = fresh.getElementById("results") ?? fresh.querySelector("#content .notice:not([hidden])");
    if (found) results.replaceChildren(...(found.id ? found.childNodes : [document.importNode(found, true)]));
    localTimes(results);
    history.replaceState(null, "", address);
    document.title = fresh.title;
  } catch (error) {
    if (error.name !== "AbortError") results.textContent = "The daemon can’t be reached. See: foveal status";
  } finally {
    results.removeAttribute("aria-busy");
  }
}
