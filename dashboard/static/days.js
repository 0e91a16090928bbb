// Lists by day: the server knows UTC only, so a `data-days` list is grouped again by the days of the reader's time
// zone. Times and date filters use that zone too. Entries keep their order; `data-at` of each is its time.
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
  let last = "";
  for (const heading of root.querySelectorAll("[data-day]")) { // above the first entry of each day of a timeline
    const name = day.format(new Date(heading.dataset.day));
    heading.hidden = name === last;
    heading.textContent = last = name;
  }
}

// Days in a filter are the reader's too: each is sent as the time at which it begins in the reader's zone. That text
// begins with the day, so that the server can write it back into the field.
export function askLocalDays() {
  document.addEventListener("formdata", ({ target, formData }) => {
    for (const input of target.querySelectorAll('input[type="date"][name]')) {
      if (input.value) formData.set(input.name, `${input.value}T00:00:00${zoneAt(new Date(`${input.value}T00:00:00`))}`);
    }
  });
}

function zoneAt(moment) {
  const east = -moment.getTimezoneOffset();
  const [hours, minutes] = [Math.floor(Math.abs(east) / 60), Math.abs(east) % 60].map((one) => String(one).padStart(2, "0"));
  return `${east < 0 ? "-" : "+"}${hours}:${minutes}`;
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
