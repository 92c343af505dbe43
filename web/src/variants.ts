/** Drawings of one panel in several ways, such as a swizzle on and off: one is shown at a time. */

/** Choose one.  chosen: the name from the address bar; tell: what to do with a choice. */
export function variants(panel: HTMLElement, chosen: string | null, tell: (name: string) => void): void {
  const drawings = [...panel.querySelectorAll<HTMLElement>("[data-variant]")];
  if (drawings.length < 2) return;
  const names = [...new Set(drawings.map((drawing) => drawing.dataset["variant"]!))];
  const show = (name: string) => drawings.forEach((drawing) => (drawing.hidden = drawing.dataset["variant"] !== name));
  const set = document.createElement("fieldset");
  set.className = "variants";
  set.append(Object.assign(document.createElement("legend"), { textContent: "Drawn" }));
  const first = chosen !== null && names.includes(chosen) ? chosen : names[0]!;
  for (const name of names) {
    const input = Object.assign(document.createElement("input"), { type: "radio", name: `${panel.id}-drawn`, checked: name === first });
    input.addEventListener("change", () => {
      show(name);
      tell(name);
    });
    const label = document.createElement("label");
    label.append(input, ` ${name}`);
    set.append(label);
  }
  panel.querySelector(".columns")!.before(set);
  show(first);
}
