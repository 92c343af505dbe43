/** What lights up: the elements and cells of one study that stand for the point. */

import { has, textOf, tokens, type Point, type Token } from "./point";
import { Field, outlined } from "./field";

const MOST_OUTLINES = 256;

interface Part {
  readonly element: Element;
  readonly tokens: readonly Token[];
}

/** Parts that name the same axes.  exact: by their values, where none of them is a range; one of a list stands at each. */
interface Kind {
  readonly axes: readonly string[];
  readonly exact: Map<string, Element[]>;
  readonly ranged: Part[];
}

export class Lights {
  readonly #kinds = new Map<string, Kind>();
  readonly #fields: readonly Field[];
  #lit = new Set<Element>();
  #near = new Set<Element>();
  #outlines: readonly Element[] = [];
  #shown = "";

  /** parts: the places of the page that are about this study. */
  constructor(parts: readonly Element[]) {
    const within = (selector: string) => parts.flatMap((part) => [...part.querySelectorAll(selector)]);
    this.#fields = within(".field").map((element) => new Field(element as SVGRectElement));
    for (const element of within("[data-is]:not(.field)")) this.#enter(element);
  }

  #enter(element: Element): void {
    const named = tokens(element.getAttribute("data-is")!);
    const axes = named.map((one) => one.axis);
    const key = axes.join(" ");
    let kind = this.#kinds.get(key);
    if (!kind) this.#kinds.set(key, (kind = { axes, exact: new Map(), ranged: [] }));
    if (named.some((one) => one.low !== one.high)) {
      kind.ranged.push({ element, tokens: named });
      return;
    }
    const choices = named.map((one) => [one.low, ...one.others]);
    const each = choices.reduce<string[]>((found, values) => found.flatMap((text) => values.map((value) => `${text} ${value}`)), [""]);
    for (const values of each) {
      const same = kind.exact.get(values);
      if (same) same.push(element);
      else kind.exact.set(values, [element]);
    }
  }

  /** Everything that a point is. */
  #matching(point: Point, found: Set<Element>): void {
    for (const { axes, exact, ranged } of this.#kinds.values()) {
      if (!axes.length || !axes.every((axis) => point.has(axis))) continue;
      for (const element of exact.get(axes.map((axis) => ` ${point.get(axis)}`).join("")) ?? []) found.add(element);
      for (const part of ranged) if (part.tokens.every((one) => has(point, one))) found.add(part.element);
    }
  }

  /** Light up a point; near: places around it. */
  show(point: Point, near: readonly Point[]): void {
    const shown = [point, ...near].map(textOf).join("\n");
    if (shown === this.#shown) return;
    this.#shown = shown;
    const lit = new Set<Element>();
    const around = new Set<Element>();
    this.#matching(point, lit);
    for (const place of near) this.#matching(place, around);
    for (const element of lit) around.delete(element);
    this.#lit = changed("lit", this.#lit, lit);
    this.#near = changed("near", this.#near, around);
    this.#outline([...lit, ...around]);
    for (const field of this.#fields) field.mark(point, near);
  }

  /** Boxes are outlined once more above their neighbours, which would hide half of the edge. */
  #outline(boxes: readonly Element[]): void {
    for (const old of this.#outlines) old.remove();
    this.#outlines = boxes.filter((box) => box instanceof SVGRectElement).slice(0, MOST_OUTLINES).map(outlined);
  }
}

/** Give the class to the elements that have it now, and take it from those that had it. */
function changed(name: string, before: ReadonlySet<Element>, now: Set<Element>): Set<Element> {
  for (const element of before) if (!now.has(element)) element.classList.remove(name);
  for (const element of now) if (!before.has(element)) element.classList.add(name);
  return now;
}
