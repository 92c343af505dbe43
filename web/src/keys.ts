/** Pointing without a pointer: arrows go from part to part of the drawing that has the focus. */

import { Field } from "./field";
import { pointOf, tokens, type Point, type Value } from "./point";

const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};
const ACROSS = 3;
/** How much farther away a part is that lies aside of an arrow's direction. */

/** One drawing's cursor. */
export class Cursor {
  readonly #drawing: Element;
  #at: Element | undefined;

  constructor(drawing: Element) {
    this.#drawing = drawing;
  }

  /** The point that a key leads to from `now`; undefined where it is no key of this. */
  moved(key: string, now: Point): Map<string, Value> | undefined {
    const parts = [...this.#drawing.querySelectorAll("[data-is], .field")].filter((part) => part.getClientRects().length);
    if (!parts.length) return undefined;
    const arrow = ARROWS[key];
    const page = { PageDown: 1, PageUp: -1 }[key];
    if (arrow === undefined && page === undefined) return undefined;
    const at = this.#at && parts.includes(this.#at) ? this.#at : undefined;
    if (!at) this.#at = parts[0]!;
    else if (page !== undefined) this.#at = parts[(parts.indexOf(at) + page + parts.length) % parts.length]!;
    else if (at.matches(".field")) return new Field(at as SVGRectElement).beside(now, ...arrow!);
    else this.#at = nearest(at, parts, arrow!) ?? at;
    this.#at!.scrollIntoView({ block: "nearest", inline: "nearest" });
    return pointed(this.#at!, now);
  }
}

function pointed(part: Element, now: Point): Map<string, Value> {
  if (part.matches(".field")) return new Field(part as SVGRectElement).beside(now, 0, 0)!;
  return pointOf(tokens(part.getAttribute("data-is")!));
}

/** The part whose middle is the next one in a direction. */
function nearest(from: Element, parts: readonly Element[], [down, right]: readonly [number, number]): Element | undefined {
  const [x, y] = middle(from);
  let found: Element | undefined;
  let least = Infinity;
  for (const part of parts) {
    const [px, py] = middle(part);
    const along = (py - y) * down + (px - x) * right;
    const across = Math.abs(py - y) * Math.abs(right) + Math.abs(px - x) * Math.abs(down);
    if (along > 0.5 && along + ACROSS * across < least) [found, least] = [part, along + ACROSS * across];
  }
  return found;
}

function middle(part: Element): [number, number] {
  const box = part.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
}
