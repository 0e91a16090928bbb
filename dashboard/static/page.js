// The one script of every page: it makes a page that reads well without it live and quick to use.
import { askLocalDays } from "./days.js";
import { keepTimes, localTimes } from "./times.js";
import { followEvents } from "./live.js";
import { watchActions } from "./actions.js";
import { watchKeys } from "./keys.js";
import { watchPalette } from "./palette.js";
import { watchCopying } from "./copying.js";
import { say } from "./messages.js";

document.documentElement.classList.add("script");
localTimes(document);
keepTimes();
askLocalDays();
followEvents();
watchActions();
watchKeys();
watchPalette();
watchCopying();

// Colours: as the system, light, dark. The server draws the next page with what is kept here.
document.querySelector("[data-theme-switch]")?.addEventListener("click", () => {
  const root = document.documentElement;
  const next = { "": "light", light: "dark", dark: "" }[root.dataset.theme ?? ""];
  if (next) root.dataset.theme = next;
  else delete root.dataset.theme;
  document.cookie = `foveal_theme=${next}; path=/; max-age=${next ? 31536000 : 0}; samesite=strict`;
  say(next ? `Colours: ${next}.` : "Colours: as the system.");
});

// A menu closes when something else is clicked.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details[data-menu][open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
