// Updates a region to a fresh one by changing only what differs, so that the reader keeps the focus, typed text,
// selections, open folds and scroll positions. Entries of lists are matched by their subject.
const UNFOLDED = new Set(["DETAILS", "DIALOG"]); // the reader opens and closes them
const ENTRIES = new Set(["LI", "TR", "ARTICLE"]);
const NAMED = "[id], [href], [data-fields], [aria-label]";

export function redraw(old, fresh) {
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const stop = focused ? stopsOf(old).findIndex((one) => entryOf(one).contains(focused)) : -1;
  const reading = readingAt();
  const top = reading?.getBoundingClientRect().top;
  children(old, fresh);
  if (reading?.isConnected) window.scrollBy({ top: reading.getBoundingClientRect().top - top, behavior: "instant" });
  if (focused && document.activeElement !== focused) refocus(old, focused, stop);
}

function children(old, fresh) {
  const nodes = [...fresh.childNodes].map((node) => [keyOf(node), node]);
  const wanted = new Set(nodes.map(([key]) => key));
  const known = new Map(); // nodes that may stay, by their keys, in their order
  for (const node of [...old.childNodes]) {
    const key = keyOf(node);
    if (!wanted.has(key)) node.remove();
    else if (known.has(key)) known.get(key).push(node);
    else known.set(key, [node]);
  }
  let at = old.firstChild;
  for (const [key, node] of nodes) {
    const same = known.get(key)?.shift();
    if (!same) old.insertBefore(document.importNode(node, true), at);
    else {
      if (same === at) at = at.nextSibling;
      else old.insertBefore(same, at);
      if (!same.isEqualNode(node)) update(same, node);
    }
  }
  for (const left of [...known.values()].flat()) left.remove();
}

function update(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = fresh.nodeValue;
    return;
  }
  const isKept = (name) => name === "open" && UNFOLDED.has(old.nodeName);
  const given = givenValue(old);
  const value = old.value;
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !isKept(name)) old.removeAttribute(name);
  }
  for (const { namespaceURI, name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !isKept(name)) old.setAttributeNS(namespaceURI, name, value);
  }
  if (old.nodeName === "DATALIST" && !fresh.childNodes.length) return; // a script completes it
  children(old, fresh);
  if (given === undefined) return;
  const kept = value === given ? fresh.value : value; // keep a value that the reader changed
  if (old.value !== kept) old.value = kept;
  if (old.nodeName === "SELECT" && old.selectedIndex < 0) old.value = fresh.value; // what was chosen is gone
}

function givenValue(control) {
  if (control.nodeName === "SELECT") return ([...control.options].find((one) => one.defaultSelected) ?? control.options[0])?.value;
  const isText = control.nodeName === "TEXTAREA" || (control.nodeName === "INPUT" && !["checkbox", "radio", "hidden", "file"].includes(control.type));
  return isText ? control.defaultValue : undefined;
}

// Nodes with the same key are the same one, the first with the first and so on.
function keyOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return node.nodeName;
  return `${node.nodeName} ${node.id || nameOf(node)}`;
}

function nameOf(element) {
  if (element.nodeName === "A") return element.getAttribute("href");
  if (!ENTRIES.has(element.nodeName)) return element.dataset.set ?? element.dataset.server ?? element.getAttribute("name") ?? "";
  const changed = element.querySelector("[data-item]");
  if (changed) {
    const { type, name, server_name } = JSON.parse(changed.dataset.item); // the rest of it changes
    return [type, server_name, name].join(" ");
  }
  const named = element.querySelector(NAMED);
  return named ? named.id || (named.getAttribute("href") ?? named.dataset.fields ?? named.getAttribute("aria-label")) : "";
}

// The element in the middle of the window, which must not move. The browser's own anchoring is switched off in the
// style sheet: it loses its anchor where the entries of a list are moved.
function readingAt() {
  if (!window.scrollY) return null;
  const at = document.elementFromPoint(window.innerWidth / 2, window.innerHeight / 2);
  return at?.closest("li, tr, article, h1, h2, h3, p, dt, dd, pre, form") ?? at;
}

function stopsOf(region) {
  return [...region.querySelectorAll("[data-stop]")];
}

function entryOf(stop) {
  return stop.closest("li, tr, article") ?? stop;
}

// Focus the same element again after a move; if it is gone, the entry in its place, or else the region.
function refocus(region, focused, stop) {
  const stops = stop < 0 ? [] : stopsOf(region);
  const next = focused.isConnected ? focused : stops[Math.min(stop, stops.length - 1)];
  if (!next) region.tabIndex = -1;
  (next ?? region).focus({ preventScroll: true });
}
