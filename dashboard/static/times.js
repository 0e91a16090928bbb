// Moments come in UTC; they are shown in the reader's zone, or as the time since (`data-ago`), the exact one on hover.
import { localDays } from "./days.js";

const CLOCK = { hour: "2-digit", minute: "2-digit", hour12: false }; // the seconds show on hover
const thisYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", ...CLOCK });
const otherYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", ...CLOCK });
const sameDay = new Intl.DateTimeFormat(undefined, CLOCK);
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const dayOfYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long", hour12: false });
const UNITS = [["d", 86400], ["h", 3600], ["min", 60]];
const WEEK_S = 7 * 86400;
const MINUTE_MS = 60000;

export function localTimes(root) {
  const now = new Date();
  for (const element of root.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.valueOf())) continue;
    const clock = element.closest("[data-clock]")?.dataset.clock; // a moment beside it tells the day
    const isTold = clock && new Date(clock).toDateString() === at.toDateString();
    const written = isTold ? sameDay : at.getFullYear() === now.getFullYear() ? thisYear : otherYear;
    element.textContent = "ago" in element.dataset ? since(at, now) : written.format(at);
    element.title = `${exact.format(at)} (${element.dateTime})`;
  }
  localDays(root);
}

// A page may stay open for days.
export function keepTimes() {
  setInterval(() => {
    const now = new Date();
    for (const element of document.querySelectorAll("time[data-ago]")) {
      const text = since(new Date(element.dateTime), now);
      if (element.textContent !== text) element.textContent = text;
    }
  }, MINUTE_MS);
}

function since(at, now) {
  const seconds = (now - at) / 1000;
  if (seconds >= WEEK_S) return (at.getFullYear() === now.getFullYear() ? day : dayOfYear).format(at);
  const [unit, length] = UNITS.find(([, one]) => seconds >= one) ?? [];
  return unit ? `${Math.floor(seconds / length)} ${unit} ago` : "just now";
}
