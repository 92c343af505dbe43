/** A field: a rectangle of cells that have no elements, whose rows and columns are two axes. */

import { token, tokens, type Point, type Token, type Value } from "./point";

const SVG = "http://www.w3.org/2000/svg";
const LEAST = 5;
/** Units of a marker of a cell that is too small to be seen. */

interface Side {
  readonly axis: string;
  readonly low: number;
  readonly count: number;
}

export class Field {
  readonly #rect: SVGRectElement;
  readonly #rows: Side | undefined;
  readonly #columns: Side | undefined;
  readonly #also: readonly Token[];
  #marks: SVGRectElement[] = [];

  constructor(rect: SVGRectElement) {
    this.#rect = rect;
    this.#rows = side(rect.dataset["rows"]);
    this.#columns = side(rect.dataset["columns"]);
    this.#also = tokens(rect.dataset["also"] ?? "");
  }

  /** The point of the cell at a place of the window. */
  at(x: number, y: number): Map<string, Value> {
    const box = this.#rect.getBoundingClientRect();
    const found = new Map<string, Value>();
    if (this.#rows) found.set(this.#rows.axis, part(this.#rows, y - box.top, box.height));
    if (this.#columns) found.set(this.#columns.axis, part(this.#columns, x - box.left, box.width));
    for (const one of this.#also) found.set(one.axis, one.low);
    return found;
  }

  /** The cell some rows and columns away from a point, none where the point is not in this field. */
  beside(point: Point, down: number, right: number): Map<string, Value> | undefined {
    const found = new Map<string, Value>();
    for (const [along, by] of [[this.#rows, down], [this.#columns, right]] as const) {
      if (!along) continue;
      const value = point.get(along.axis);
      const now = typeof value === "number" ? value + by : along.low;
      found.set(along.axis, Math.min(Math.max(now, along.low), along.low + along.count - 1));
    }
    for (const one of this.#also) found.set(one.axis, one.low);
    return found;
  }

  /** Draw a marker at each cell that a point is; `near` ones around it. */
  mark(point: Point, near: readonly Point[]): void {
    const marks = new Map<string, SVGRectElement>();
    for (const place of [point, ...near]) {
      const mark = this.#mark(place, place === point ? "here" : "here near");
      const corner = mark && `${mark.getAttribute("x")} ${mark.getAttribute("y")}`;
      if (corner !== undefined && !marks.has(corner)) marks.set(corner, mark!);
    }
    const now = [...marks.values()];
    for (const old of this.#marks) old.remove();
    this.#rect.after(...now);
    this.#marks = now;
  }

  #mark(point: Point, kind: string): SVGRectElement | undefined {
    const [row, column] = [place(this.#rows, point), place(this.#columns, point)];
    if (row === undefined || column === undefined) return undefined;
    const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(this.#rect.getAttribute(name)));
    const [wide, high] = [width! / (this.#columns?.count ?? 1), height! / (this.#rows?.count ?? 1)];
    const [seen, tall] = [Math.max(wide, LEAST), Math.max(high, LEAST)];
    const [left, top] = [x! + (column + 0.5) * wide - seen / 2, y! + (row + 0.5) * high - tall / 2];
    return rectangle(kind, left, top, seen, tall);
  }
}

/** The edge of a box, drawn last in its group. */
export function outlined(box: SVGRectElement): SVGRectElement {
  const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(box.getAttribute(name)));
  const kind = box.classList.contains("near") ? "here near" : "here";
  const edge = rectangle(kind, x!, y!, width!, height!);
  box.parentNode!.append(edge);
  return edge;
}

function rectangle(kind: string, x: number, y: number, width: number, height: number): SVGRectElement {
  const made = document.createElementNS(SVG, "rect");
  made.setAttribute("class", kind);
  for (const [name, value] of Object.entries({ x, y, width, height })) made.setAttribute(name, String(value));
  return made;
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
