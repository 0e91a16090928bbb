// Short messages at the edge of the page. Errors stay until they are closed. The others disappear after a time;
// the timer stops while the pointer or the focus is on them.
const SHOWN_MS = 8000;
const OFFERED_MS = 30000; // for a message with a button, such as Undo
const KEPT = 4; // maximum messages at once, besides errors

const shown = () => document.getElementById("messages");

export function say(text, options) {
  const { bad = false, label = "", run = null } = options ?? {};
  const message = document.createElement("div");
  message.className = bad ? "message bad" : "message";
  if (bad) message.setAttribute("role", "alert");
  const words = document.createElement("span");
  words.textContent = text;
  const close = (then) => () => {
    clear(message);
    then?.();
  };
  message.append(words);
  if (label) message.append(button(label, close(run)));
  if (bad || label) message.append(button("Close", close()));
  shown().append(message);
  if (!bad) passing(message, label ? OFFERED_MS : SHOWN_MS);
  for (const old of [...shown().querySelectorAll(".message:not(.bad)")].slice(0, -KEPT)) clear(old);
  return message;
}

// Focus the latest message with a button. When the message is closed, the focus returns to where it was.
export function lookAtMessage() {
  [...shown().querySelectorAll(".message button:first-of-type")].at(-1)?.focus();
}

// Return the message of an error page, or of the page that asks for a login.
export function troubleOf(page, status) {
  const places = ["#content .notice:not([hidden])", ".refused main p", "#content h1"];
  const said = places.map((place) => page.querySelector(place)?.textContent.trim()).find(Boolean);
  return said ?? `It was refused (${status}).`;
}

function button(label, act) {
  const one = document.createElement("button");
  one.type = "button";
  one.textContent = label;
  one.addEventListener("click", act);
  return one;
}

function passing(message, time) {
  let timer = 0;
  const go = () => {
    clearTimeout(timer);
    timer = setTimeout(() => clear(message), time);
  };
  const wait = () => clearTimeout(timer);
  message.addEventListener("pointerenter", wait);
  message.addEventListener("pointerleave", () => message.contains(document.activeElement) || go());
  message.addEventListener("focusin", wait);
  message.addEventListener("focusout", go);
  go();
}

let before = null; // the element that had the focus before a message got it

document.addEventListener("focusin", ({ target, relatedTarget }) => {
  if (target.closest(".message") && !relatedTarget?.closest(".message")) before = relatedTarget;
});

function clear(message) {
  const focused = message.contains(document.activeElement);
  message.remove();
  if (focused) (before?.isConnected ? before : document.getElementById("content")).focus({ preventScroll: true });
}
