// Draws each `[data-chart]` from the table in it, with uPlot. A range is brushed with the pointer, or zoomed with the
// keys + and -; it is kept in the address (`since`, `until`), so that the server gives finer figures for it.
import { refresh } from "./live.js";

const HEIGHT = 190;
const DAY_S = 86400;
const BRUSHED_PX = 6; // less is a click
const HUES = 8;
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const second = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });
const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

const TICKS = {
  number: (value) => short.format(value).toLowerCase(),
  share: (value) => `${Math.round(value * 100)} %`,
  ms: (value) => (value >= 1000 ? `${plain.format(value / 1000)} s` : `${plain.format(value)} ms`),
  bytes: (value) => (value >= 1e9 ? `${plain.format(value / 1e9)} GB` : `${plain.format(value / 1e6)} MB`),
};

const drawn = [];

// The page is painted first.
requestAnimationFrame(() => setTimeout(() => {
  for (const figure of document.querySelectorAll("[data-chart]")) drawn.push(chart(figure));
}));
document.addEventListener("foveal:drawn", ({ detail }) => drawn.find((one) => one.figure.contains(detail))?.draw());
addEventListener("popstate", () => refresh());
const redrawAll = () => drawn.forEach((one) => one.plot?.redraw(false, false));
new MutationObserver(redrawAll).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function chart(figure) {
  const place = figure.querySelector(".plot");
  const unit = figure.dataset.chart;
  const isDays = figure.dataset.form === "days";
  const one = { figure, plot: null, draw };
  let rows = [];

  function draw() {
    rows = [...figure.querySelectorAll("tbody tr")].map((row) => ({ row, at: momentOf(row), values: valuesOf(row) })).sort((a, b) => a.at - b.at);
    const data = [rows.map((row) => row.at), ...columns(rows)];
    place.hidden = rows.length < (isDays ? 1 : 2) || !rows.some(({ values }) => values.some((value) => value !== null));
    figure.querySelector(".too-few").hidden = !place.hidden;
    if (place.hidden) return;
    if (!one.plot) {
      one.plot = new window.uPlot(options(data.length - 1), data, place);
      new ResizeObserver(() => place.clientWidth && one.plot.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place);
    } else one.plot.setData(data, false);
    const half = isDays ? DAY_S / 2 : 0; // room for the first and the last bar
    one.plot.setScale("x", { min: data[0][0] - half, max: data[0].at(-1) + half });
    tell(null);
  }

  function options(lines) {
    const text = () => colour("--soft");
    const grid = { stroke: () => colour("--line"), width: 1 };
    const font = getComputedStyle(place).font;
    const axis = { stroke: text, grid, ticks: { ...grid, size: 4 }, font };
    return {
      width: place.clientWidth || 300,
      height: HEIGHT,
      legend: { show: false },
      padding: [10, 12, 0, 0],
      cursor: { y: false, sync: { key: isDays ? "days" : "moments" }, drag: { x: true, y: false, setScale: false }, points: { size: 7 } },
      scales: { x: { time: true }, y: { range: (_, low, high) => (unit === "share" ? [0, 1] : [0, Math.max(high, unit === "number" ? 4 : 1) * 1.08]) } },
      axes: [
        { ...axis, space: (_, __, low, high) => (high - low < 900 ? 84 : 60), size: 30, values: (_, splits, __, ___, step) => splits.map((at) => moment(at, step)), ...(isDays && { incrs: [1, 2, 4, 7, 14, 28].map((days) => days * DAY_S) }) },
        { ...axis, space: 32, size: 62, values: (_, splits) => splits.map(TICKS[unit]) },
      ],
      series: [{}, ...Array.from({ length: lines }, (_, at) => line(at))],
      hooks: { setCursor: [(plot) => tell(plot.cursor.idx)], setSelect: [brushed] },
    };
  }

  function line(at) {
    const hue = `--hue-${(at % HUES) + 1}`;
    const stroke = () => colour(hue);
    if (isDays) return { stroke, fill: stroke, width: 0, points: { show: false }, paths: window.uPlot.paths.bars({ size: [0.7, 48] }) };
    // A value without neighbours has no line, so it is marked.
    return { stroke, width: 1.5, gaps: breaks, points: { show: (plot, series) => alone(plot, series).length > 0, filter: alone, size: 5, fill: stroke } };
  }

  // The values at a moment stand beside the names of their lines; without a moment the latest ones.
  function tell(at) {
    const pointed = rows[at ?? -1];
    figure.querySelectorAll(".legend b").forEach((output, line) => {
      const told = pointed ?? rows.findLast(({ values }) => values[line] !== null) ?? rows.at(-1);
      output.textContent = told?.row.cells[line + 1].textContent.trim() ?? "";
    });
    const moments = isDays ? [day] : [day, second];
    figure.querySelector(".when").textContent = pointed ? moments.map((format) => format.format(pointed.at * 1000)).join(" ") : "";
  }

  function brushed(plot) {
    const { left, width } = plot.select;
    if (width < BRUSHED_PX) return;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    zoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"), isDays);
  }

  place.addEventListener("keydown", (event) => {
    const { plot } = one;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const sign = { "+": 0.25, "=": 0.25, "-": -0.5 }[event.key];
    if (!plot || event.ctrlKey || event.metaKey || event.altKey || (!step && !sign && event.key !== "Escape")) return;
    event.preventDefault();
    if (step) {
      const next = Math.min(Math.max((plot.cursor.idx ?? (step > 0 ? -1 : rows.length)) + step, 0), rows.length - 1);
      plot.setCursor({ left: plot.valToPos(rows[next].at, "x"), top: 10 });
    } else if (sign) {
      const { min, max } = plot.scales.x;
      zoom(min + (max - min) * sign, max - (max - min) * sign, isDays);
    } else zoom(null, null, isDays);
  });
  place.addEventListener("dblclick", () => zoom(null, null, isDays));
  draw();
  return one;
}

// Lines break where the daemon took no samples, and at samples without a value, as without any prompt.
function breaks(plot, series, first, last, missing) {
  return [...missing, ...outages(plot).map((before) => [before, before + 1].map((at) => plot.valToPos(plot.data[0][at], "x", true)))].sort((a, b) => a[0] - b[0]);
}

// The samples after which the daemon took none for a while.
function outages(plot) {
  const moments = plot.data[0];
  const steps = moments.slice(1).map((at, before) => at - moments[before]);
  const usual = [...steps].sort((a, b) => a - b)[steps.length >> 1];
  return steps.flatMap((step, before) => (step > 4 * usual ? [before] : []));
}

function alone(plot, series) {
  const values = plot.data[series];
  const out = new Set(outages(plot));
  const joins = (at) => values[at] != null && values[at + 1] != null && !out.has(at);
  return [...values.keys()].filter((at) => values[at] !== null && !joins(at - 1) && !joins(at));
}

function momentOf(row) {
  const time = row.querySelector("time");
  return (time ? Date.parse(time.dateTime) : Date.parse(`${row.dataset.day}T00:00`)) / 1000;
}

function valuesOf(row) {
  return [...row.cells].slice(1).map((cell) => {
    const known = cell.querySelector("data");
    return known ? Number(known.value) : null;
  });
}

function columns(rows) {
  return (rows[0]?.values ?? []).map((_, at) => rows.map((row) => row.values[at]));
}

function moment(at, step) {
  const date = new Date(at * 1000);
  if (step >= DAY_S || (date.getHours() === 0 && date.getMinutes() === 0 && step >= 60)) return day.format(date);
  return (step < 60 ? second : clock).format(date);
}

function zoom(low, high, isDays) {
  const address = new URL(location.href);
  for (const [name, at] of [["since", low], ["until", high]]) {
    if (at === null) address.searchParams.delete(name);
    else address.searchParams.set(name, isDays ? localDay(at + DAY_S / 2 - (name === "until")) : new Date(at * 1000).toISOString().slice(0, 19) + "Z");
  }
  if (isDays) return location.assign(address);
  history.pushState(null, "", address);
  refresh();
}

function localDay(at) {
  const date = new Date(at * 1000);
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
}
