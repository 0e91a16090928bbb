// Keys: `/` searches, `g` and a letter go to a page, arrows move in lists (`data-list`), `?` shows the keys.
const PAGES = { o: "/", s: "/search", c: "/contexts", n: "/sessions", i: "/items", e: "/experiences", m: "/performance", l: "/live" };
const SEQUENCE_MS = 1200;

let pressed = 0;

export function watchKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const writing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "Escape" && writing) return writing.blur();
    if (move(event, writing) || writing) return;
    if (event.key === "/") {
      event.preventDefault();
      const boxes = [...document.querySelectorAll('[data-key="/"]')];
      boxes[boxes.length - 1].focus(); // that of the page itself, if it has one
      boxes[boxes.length - 1].select();
    } else if (event.key === "?") {
      document.getElementById("keys").showModal();
    } else if (event.key === "g") {
      pressed = event.timeStamp;
    } else if (pressed && event.timeStamp - pressed < SEQUENCE_MS && PAGES[event.key]) {
      const link = [...document.querySelectorAll(".pages a")].find((one) => new URL(one.href).pathname === PAGES[event.key]);
      (link ?? document.querySelector(".brand")).click();
    }
  });
}

// Up and down go from one entry of a list to the next: an entry's first link or button.
function move(event, writing) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return false;
  const lists = [...document.querySelectorAll("[data-list]")];
  const list = event.target.closest("[data-list]") ?? (writing && !writing.dataset.moves ? null : lists[0]);
  if (!list) return false;
  const stops = [...list.querySelectorAll("[data-stop]")].filter((one) => one.offsetParent !== null);
  const at = stops.findIndex((one) => one.contains(document.activeElement));
  const next = stops[at < 0 ? (step > 0 ? 0 : stops.length - 1) : at + step];
  if (!next) return false;
  event.preventDefault();
  next.focus();
  return true;
}
