/** The page of `imbrex explore`: everything that stands in the HTML is there without this; this links it. */

import { edit } from "./edit";
import { Explorer } from "./explorer";

declare global {
  interface Window {
    /** For a browser's console, and for tests. */
    imbrex: Explorer;
  }
}

function theme(): void {
  const choice = document.querySelector<HTMLSelectElement>("#theme");
  choice?.addEventListener("change", () => {
    if (choice.value === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = choice.value;
  });
}

/** Letters go where their panels are, unless something is typed. */
function jumps(): void {
  document.addEventListener("keydown", (event) => {
    if ((event.target as Element).closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { "]": 1, "[": -1 }[event.key];
    if (by === undefined) return;
    const panels = [...document.querySelectorAll("main section[id]")];
    const now = panels.findLastIndex((panel) => panel.getBoundingClientRect().top < 80);
    panels[Math.min(Math.max(now + by, 0), panels.length - 1)]?.scrollIntoView();
  });
}

/** What is folded is printed, too, but for long texts. */
function prints(): void {
  window.addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll<HTMLDetailsElement>("details:not(.text)")) folded.open = true;
  });
}

const page = document.querySelector<HTMLElement>("main")!;
const start = () => {
  window.imbrex?.end();
  window.imbrex = new Explorer(page);
};
document.documentElement.classList.add("linked");
start();
theme();
jumps();
prints();
edit(page, start);
