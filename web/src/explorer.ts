/** The page's state and all that follows it: the point, what lights up, ladders, animations, the address bar. */

import { hashOf, stateOf } from "./address";
import { Field } from "./field";
import { Follower } from "./follow";
import { Stepper } from "./frames";
import { Cursor } from "./keys";
import { Ladder } from "./ladder";
import { Lights } from "./lights";
import { pointOf, textOf, tokens, type Point, type Value } from "./point";
import { studiesOf, type Study } from "./study";
import { variants } from "./variants";

/** One study's column. */
class Column {
  readonly follower: Follower;
  readonly #lights: Lights;
  readonly #ladders: readonly Ladder[];
  readonly #told: Element | null;

  constructor(page: ParentNode, number: number, study: Study, keep: (point: Point) => void) {
    const parts = [...page.querySelectorAll<HTMLElement>(`[data-study="${number}"]`)];
    const within = (selector: string) => parts.flatMap((part) => [...part.querySelectorAll<HTMLElement>(selector)]);
    this.follower = new Follower(study);
    this.#lights = new Lights(parts);
    this.#ladders = within(".ladder").map((element) => new Ladder(element, this.follower, keep));
    this.#told = page.querySelector(`[data-told="${number}"]`);
  }

  show(given: Point): Point {
    const { point, near } = this.follower.completed(given);
    this.#lights.show(point, near);
    for (const ladder of this.#ladders) ladder.show(point);
    if (this.#told) this.#told.textContent = told(point) + (near.length ? `; ${near.length} places around it` : "");
    return point;
  }
}

export class Explorer {
  readonly #page: HTMLElement;
  readonly #columns: readonly Column[];
  readonly #steppers: readonly Stepper[];
  readonly #variants: Map<string, string>;
  readonly #ends = new AbortController();
  #kept: Map<string, Value>;
  #hovered: Point | undefined;
  #isByKey = false;
  #pointer = "";

  constructor(page: HTMLElement) {
    this.#page = page;
    const studies = studiesOf(page);
    const state = stateOf(location.hash);
    this.#kept = state.at;
    this.#variants = state.variants;
    this.#columns = studies.map((study, number) => new Column(page, number, study, (point) => this.keep(point)));
    this.#steppers = [...page.querySelectorAll<HTMLElement>("[data-frames]")].flatMap((place) => {
      const frames = studies[Number(place.dataset["of"])]?.panels.find((panel) => panel.name === place.dataset["frames"]);
      return frames?.frames ? [new Stepper(place, frames.frames, (axis, value) => this.#step(axis, value))] : [];
    });
    for (const panel of page.querySelectorAll<HTMLElement>("[data-panel]")) {
      const name = panel.dataset["panel"]!;
      variants(panel, this.#variants.get(name) ?? null, (chosen) => {
        this.#variants.set(name, chosen);
        this.#remember();
      });
    }
    this.#listen();
    this.show();
  }

  /** Take the listeners away: the page's contents have been replaced. */
  end(): void {
    this.#ends.abort();
    for (const stepper of this.#steppers) stepper.stop();
  }

  get kept(): Point {
    return this.#kept;
  }

  /** The values of all axes at a point, in one study. */
  completed(given: Point, study = 0): Point {
    return this.#columns[study]!.follower.completed(given).point;
  }

  /** A map's values at coordinates of its first rung. */
  values(map: string, upper: readonly number[], study = 0) {
    return this.#columns[study]!.follower.maps.get(map)!.values(upper);
  }

  keep(point: Point): void {
    this.#kept = new Map(point);
    this.#hovered = undefined;
    this.#remember();
    this.show();
  }

  show(): void {
    const given = this.#hovered ?? this.#kept;
    const points = this.#columns.map((column) => column.show(given));
    for (const stepper of this.#steppers) {
      const [value, stepped] = [points[0]?.get(stepper.axis), this.#kept.get(stepper.axis)];
      stepper.show(typeof value === "number" ? value : undefined, typeof stepped === "number" ? stepped : undefined);
    }
  }

  /** A frame stays with what was kept, unless that says something else of the frame's axis. */
  #step(axis: string, value: number): void {
    const rest = new Map(this.#kept);
    rest.delete(axis);
    const says = this.#columns.some((column) => column.follower.completed(rest).point.has(axis));
    this.keep(new Map([...(says ? [] : rest), [axis, value]]));
  }

  /** What a pointer or a key points at.  Frames stay. */
  #hover(point: Point | undefined): void {
    if (point === this.#hovered || (point && this.#hovered && textOf(point) === textOf(this.#hovered))) return;
    this.#hovered = point;
    this.show();
  }

  /** Where a key has pointed, a page that scrolls below a pointer at rest points at nothing else. */
  #hasMoved(event: MouseEvent): boolean {
    const now = `${event.clientX} ${event.clientY}`;
    if (this.#isByKey && now === this.#pointer) return false;
    this.#pointer = now;
    this.#isByKey = false;
    return true;
  }

  #remember(): void {
    const wanted = hashOf(this.#kept, this.#variants);
    if (wanted !== location.hash) history.replaceState(null, "", wanted || location.pathname + location.search);
  }

  #pointed(event: MouseEvent): Map<string, Value> | undefined {
    const part = (event.target as Element).closest("[data-is], .field");
    if (!part) return undefined;
    if (part.matches(".field")) return new Field(part as SVGRectElement).at(event.clientX, event.clientY);
    return pointOf(tokens(part.getAttribute("data-is")!));
  }

  #listen(): void {
    const listen = { signal: this.#ends.signal };
    const withFrames = (point: Point | undefined) => {
      const first = this.#columns[0]?.follower;
      if (!point || !first) return point;
      const placed = first.placed(point, this.#kept);
      const { point: known } = first.completed(placed);
      const steps = this.#steppers.map((stepper) => stepper.axis).filter((axis) => this.#kept.has(axis) && !known.has(axis));
      return new Map([...steps.map((axis) => [axis, this.#kept.get(axis)!] as const), ...placed]);
    };
    this.#page.addEventListener("pointermove", (event) => {
      if (!this.#hasMoved(event)) return;
      this.#hover(withFrames(this.#pointed(event)));
    }, listen);
    this.#page.addEventListener("pointerleave", () => this.#hover(undefined), listen);
    this.#page.addEventListener("click", (event) => {
      const point = withFrames(this.#pointed(event));
      if (point) this.keep(point);
    }, listen);
    for (const drawing of this.#page.querySelectorAll<HTMLElement>(".drawing")) {
      const cursor = new Cursor(drawing);
      drawing.addEventListener("keydown", (event) => {
        const now = this.#hovered ?? this.#kept;
        const to = event.key === "Enter" ? new Map(now) : cursor.moved(event.key, now);
        if (!to) return;
        event.preventDefault();
        if (event.key === "Enter") this.keep(to);
        else {
          this.#isByKey = true;
          this.#hover(withFrames(to));
        }
      }, listen);
      drawing.addEventListener("blur", () => this.#hover(undefined), listen);
    }
    for (const link of this.#page.querySelectorAll<HTMLAnchorElement>("nav a")) {
      link.addEventListener("click", (event) => {
        event.preventDefault(); // the hash holds the state
        document.querySelector(link.hash)?.scrollIntoView();
      }, listen);
    }
    window.addEventListener("hashchange", () => {
      this.#kept = stateOf(location.hash).at;
      this.show();
    }, listen);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.keep(new Map());
    }, listen);
  }
}

/** A point for people. */
function told(point: Point): string {
  return [...point].map(([axis, value]) => `${axis} ${value}`).join(", ") || "nothing is pointed at";
}
