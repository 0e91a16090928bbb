// The palette: pages, projects, links of this page, and a search for what was typed.
import { showKeys } from "./keys.js";

const SHOWN = 12;

export function watchPalette() {
  const dialog = document.getElementById("palette");
  const input = dialog.querySelector("input");
  const list = dialog.querySelector("ul");
  const open = () => {
    if (dialog.open) return;
    input.value = "";
    draw();
    dialog.showModal();
    input.focus();
  };
  document.querySelector('[data-opens="palette"]')?.addEventListener("click", open);
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open();
    }
  });
  input.addEventListener("input", draw);
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      choose((chosen() + step + list.children.length) % list.children.length);
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      list.children[chosen()]?.click();
    }
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

  function chosen() {
    return [...list.children].findIndex((one) => one.getAttribute("aria-selected") === "true");
  }

  function choose(at) {
    [...list.children].forEach((one, position) => one.setAttribute("aria-selected", String(position === at)));
    const one = list.children[at];
    if (!one) return;
    input.setAttribute("aria-activedescendant", one.id);
    one.scrollIntoView({ block: "nearest" });
  }

  function draw() {
    const words = input.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const found = places().filter((place) => words.every((word) => `${place.label} ${place.more} ${place.also ?? ""}`.toLowerCase().includes(word)));
    const shown = found.slice(0, SHOWN);
    if (words.length) shown.push({ label: `Search for “${input.value.trim()}”`, more: "", address: searchFor(input.value.trim()) });
    list.replaceChildren(...shown.map(entry));
    choose(0);
  }

  function entry(place, position) {
    const one = document.createElement("li");
    one.id = `palette-${position}`;
    one.setAttribute("role", "option");
    const label = document.createElement("span");
    label.textContent = place.label;
    const more = document.createElement("span");
    more.className = "path";
    more.textContent = place.more;
    one.append(label, more);
    one.addEventListener("click", () => {
      dialog.close();
      if (place.run) place.run();
      else location.href = place.address;
    });
    return one;
  }
}

function places() {
  const links = (selector, kind) => [...document.querySelectorAll(selector)].map((link) => ({
    label: (link.querySelector("strong") ?? link).textContent.trim(),
    more: link.querySelector(".path")?.textContent.trim() ?? kind,
    also: link.dataset.also,
    address: new URL(link.getAttribute("href"), location).href, // that of a link in a drawing is an object
  }));
  const seen = new Set();
  const found = [...links(".pages a", "page"), ...links(".picker .menu a", "project"), ...links("main a[data-stop]", "on this page")]
    .filter((place) => place.label && !seen.has(place.address) && seen.add(place.address));
  return [...found, { label: "Keys", more: "what they do; switch those of one letter off", run: showKeys }];
}

function searchFor(text) {
  const address = new URL(document.querySelector(".find").action);
  const project = document.querySelector('.find input[name="project"]')?.value;
  if (project) address.searchParams.set("project", project);
  address.searchParams.set("q", text);
  return address.href;
}
