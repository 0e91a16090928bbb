// A change of the focus is confirmed by what it changed: the tokens that the scope would be sent before and after.
// A link to a slice opens its box.
import { say } from "./messages.js";

let before = null;

document.addEventListener("foveal:done", (event) => {
  const { method, expands } = event.target.dataset;
  if (expands || ["ExpandFocus", "ContractFocus"].includes(method)) before = tokens();
});

document.addEventListener("foveal:drawn", () => {
  const after = tokens();
  if (before === null || after === null || after === before) return;
  say(`It is shown ${after.toLocaleString()} tokens now, ${before.toLocaleString()} before.`);
  before = null;
});

function tokens() {
  const told = document.getElementById("now-tokens");
  return told && Number(told.dataset.tokens);
}

function unfold() {
  const target = location.hash.startsWith("#slice-") && document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (let fold = target; fold; fold = fold.parentElement?.closest("details")) fold.open = true;
  target.scrollIntoView({ block: "nearest" });
}
window.addEventListener("hashchange", unfold);
unfold();
