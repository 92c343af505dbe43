/** A field: a rectangle of cells that have no elements, whose rows and columns are two axes. */

import { has, token, tokens, type Point, type Token, type Value } from "./point";

const SVG = "http://www.w3.org/2000/svg";

interface Side {
  readonly axis: string;
  readonly low: number;
  readonly count: number;
}

export class Field {
  readonly #rect: SVGRectElement;
  readonly #rows: Side | undefined;
  readonly #columns: Side | undefined;
  readonly #fixed: readonly Token[];
  #marks: SVGRectElement[] = [];

  constructor(rect: SVGRectElement) {
    this.#rect = rect;
    this.#rows = side(rect.dataset["rows"]);
    this.#columns = side(rect.dataset["columns"]);
    this.#fixed = tokens(rect.dataset["is"] ?? "");
  }

  /** The point of the cell at a place of the window. */
  at(x: number, y: number): Map<string, Value> {
    const box = this.#rect.getBoundingClientRect();
    const found = new Map<string, Value>(this.#fixed.map((one) => [one.axis, one.low]));
    if (this.#rows) found.set(this.#rows.axis, part(this.#rows, y - box.top, box.height));
    if (this.#columns) found.set(this.#columns.axis, part(this.#columns, x - box.left, box.width));
    return found;
  }

  /** The cell some rows and columns away from a point, none where the point is not in this field. */
  beside(point: Point, down: number, right: number): Map<string, Value> | undefined {
    const found = new Map<string, Value>(this.#fixed.map((one) => [one.axis, one.low]));
    for (const [along, by] of [[this.#rows, down], [this.#columns, right]] as const) {
      if (!along) continue;
      const value = point.get(along.axis);
      const now = typeof value === "number" ? value + by : along.low;
      found.set(along.axis, Math.min(Math.max(now, along.low), along.low + along.count - 1));
    }
    return found;
  }

  /** Draw a marker at each cell that a point is; `near` ones around it. */
  mark(point: Point, near: readonly Point[]): void {
    const marks = [this.#mark(point, "here"), ...near.map((place) => this.#mark(place, "here near"))];
    const now = marks.filter((mark) => mark !== undefined);
    for (const old of this.#marks) old.remove();
    this.#rect.after(...now);
    this.#marks = now;
  }

  #mark(point: Point, kind: string): SVGRectElement | undefined {
    const [row, column] = [place(this.#rows, point), place(this.#columns, point)];
    if (row === undefined || column === undefined || !this.#fixed.every((one) => has(point, one))) return undefined;
    const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(this.#rect.getAttribute(name)));
    const [wide, high] = [width! / (this.#columns?.count ?? 1), height! / (this.#rows?.count ?? 1)];
    const mark = document.createElementNS(SVG, "rect");
    mark.setAttribute("class", kind);
    mark.setAttribute("x", String(x! + column * wide));
    mark.setAttribute("y", String(y! + row * high));
    mark.setAttribute("width", String(wide));
    mark.setAttribute("height", String(high));
    return mark;
  }
}

function side(text: string | undefined): Side | undefined {
  if (!text) return undefined;
  const { axis, low, high } = token(text);
  return { axis, low: Number(low), count: Number(high) - Number(low) + 1 };
}

/** The value of a side at a distance from its begin. */
function part(along: Side, distance: number, length: number): number {
  const cell = Math.floor((distance / length) * along.count);
  return along.low + Math.min(Math.max(cell, 0), along.count - 1);
}

/** How many cells a point is from the begin of a side; undefined where it is not in it. */
function place(along: Side | undefined, point: Point): number | undefined {
  if (!along) return 0;
  const value = point.get(along.axis);
  if (typeof value !== "number") return undefined;
  const cell = value - along.low;
  return 0 <= cell && cell < along.count ? cell : undefined;
}
