// Keys: `/` searches, `g` and a letter go to a page, `u` to the last message, arrows move in lists (`data-list`),
// `?` shows the keys. Keys of one character can be switched off, because speech input types them by accident.
import { lookAtMessage } from "./messages.js";

const PAGES = { h: "/", s: "/sessions", c: "/scopes", k: "/knowledge", e: "/explore", u: "/usage", p: "/project", d: "/diagnostics" };
const SEQUENCE_MS = 1200;
const KEPT_AS = "foveal_keys"; // in this browser: `off`, or nothing
const WRITING = "input, textarea, select, [contenteditable]";

let pressed = 0;

export function watchKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
    // A box of a dialog that was just closed has the focus until the next frame.
    const writing = event.target.getClientRects().length ? event.target.closest(WRITING) : null;
    if (event.key === "Escape" && writing) return writing.blur();
    if (move(event, writing) || writing || areOff()) return;
    const began = pressed;
    pressed = 0;
    if (event.key === "/") {
      event.preventDefault();
      const boxes = [...document.querySelectorAll('[data-key="/"]')];
      boxes.at(-1).focus(); // that of the page itself, if it has one
      boxes.at(-1).select();
    } else if (event.key === "?") showKeys();
    else if (event.key === "u") lookAtMessage();
    else if (event.key === "g") pressed = event.timeStamp;
    else if (began && event.timeStamp - began < SEQUENCE_MS && PAGES[event.key]) {
      const link = [...document.querySelectorAll(".pages a")].find((one) => new URL(one.href).pathname === PAGES[event.key]);
      (link ?? document.querySelector(".brand")).click();
    }
  });
  watchSwitch();
}

export function showKeys() {
  document.getElementById("keys").showModal();
}

// The switch is the browser's, for all its pages.
function watchSwitch() {
  const box = document.getElementById("keys-switch");
  const tell = () => {
    box.checked = !areOff();
    for (const hint of document.querySelectorAll(".find kbd")) hint.hidden = areOff();
  };
  box.addEventListener("change", () => {
    if (box.checked) localStorage.removeItem(KEPT_AS);
    else localStorage.setItem(KEPT_AS, "off");
    tell();
  });
  addEventListener("storage", tell);
  tell();
}

function areOff() {
  return localStorage.getItem(KEPT_AS) === "off";
}

// Up and down go from one entry of a list to the next: to its first link or button (`data-stop`).
function move(event, writing) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || (writing && writing.dataset.moves === undefined) || scrolls(event.target)) return false;
  const list = event.target.closest("[data-list]") ?? document.querySelector("[data-list]");
  if (!list) return false;
  const stops = [...list.querySelectorAll("[data-stop]")].filter((one) => one.offsetParent !== null);
  const at = stops.findIndex((one) => (one.closest("li, tr, article") ?? one).contains(document.activeElement));
  const next = stops[at < 0 ? (step > 0 ? 0 : stops.length - 1) : at + step];
  if (!next) return false;
  event.preventDefault();
  next.focus();
  return true;
}

// A box with a focus of its own that is higher inside is scrolled by the arrows.
function scrolls(element) {
  return element.matches("[tabindex]:not([data-stop], main)") && element.scrollHeight > element.clientHeight + 1;
}
