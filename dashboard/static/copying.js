// Copies the text of an element (`data-copies` names it), not what it looks like. Where the browser doesn't let it,
// the text is selected, so that its reader can.
import { say } from "./messages.js";

export function watchCopying() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copies]");
    if (!button) return;
    const element = document.getElementById(button.dataset.copies);
    try {
      await navigator.clipboard.writeText(element.textContent);
      say("Copied.");
    } catch {
      select(element);
      say("The browser doesn’t let this page copy. The text is selected: press Ctrl C.", { bad: true });
    }
  });
}

function select(element) {
  for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  getSelection().selectAllChildren(element);
  element.scrollIntoView({ block: "nearest" });
}
