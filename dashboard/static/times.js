// Moments come in UTC; they are shown in the reader's zone, the exact one on hover.
import { localDays } from "./days.js";

const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
const thisYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", ...CLOCK });
const otherYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", ...CLOCK });
const sameDay = new Intl.DateTimeFormat(undefined, CLOCK);
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

export function localTimes(root) {
  const year = new Date().getFullYear();
  for (const element of root.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.valueOf())) continue;
    const day = element.closest("[data-clock]")?.dataset.clock; // a moment beside it tells the day
    const isTold = day && new Date(day).toDateString() === at.toDateString();
    element.textContent = (isTold ? sameDay : at.getFullYear() === year ? thisYear : otherYear).format(at);
    element.title = `${exact.format(at)} (${element.dateTime})`;
  }
  localDays(root);
}
