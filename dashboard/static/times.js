// Moments come in UTC; they are shown in the reader's zone, the exact one on hover.
import { localDays } from "./days.js";

const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

export function localTimes(root) {
  const today = day.format(new Date());
  for (const element of root.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.valueOf())) continue;
    const date = day.format(at);
    element.textContent = date === today ? clock.format(at) : `${date} ${clock.format(at)}`;
    element.title = `${exact.format(at)} (${element.dateTime})`;
  }
  localDays(root);
}
