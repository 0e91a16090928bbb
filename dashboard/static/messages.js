// Short messages at the edge of the page; what went wrong stays until it is closed.
const SHOWN_MS = 8000;

export function say(text, options) {
  const { bad = false, label = "", run = null } = options ?? {};
  const message = document.createElement("div");
  message.className = bad ? "message bad" : "message";
  const words = document.createElement("span");
  words.textContent = text;
  message.append(words);
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = label || "Close";
  button.addEventListener("click", () => {
    message.remove();
    if (run) run();
  });
  if (bad || label) message.append(button);
  document.getElementById("messages").append(message);
  if (!bad) setTimeout(() => message.remove(), SHOWN_MS);
  return message;
}
