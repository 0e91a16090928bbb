// Lists by day: the server knows UTC only, so the days of a `data-days` are made anew in the reader's zone, as
// the times beside them are. Entries keep their order; each has its moment in `data-at`.
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "long", year: "numeric" });

export function localDays(root) {
  for (const days of root.querySelectorAll("[data-days]")) {
    const sections = [];
    for (const entry of days.querySelectorAll("[data-at]")) {
      const name = day.format(new Date(entry.dataset.at));
      if (sections.at(-1)?.name !== name) sections.push({ name, entries: [] });
      sections.at(-1).entries.push(entry);
    }
    if (sections.length) days.replaceChildren(...sections.map(drawn));
  }
}

function drawn({ name, entries }) {
  const section = document.createElement("section");
  section.className = "day";
  const heading = document.createElement("h2");
  heading.textContent = name;
  const list = document.createElement("ol");
  list.className = "timeline";
  list.append(...entries);
  section.append(heading, list);
  return section;
}
