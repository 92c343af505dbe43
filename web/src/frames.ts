/** An animation that is stepped: an axis that goes through its values, with a sentence for each. */

import { tokens } from "./point";
import type { Frames } from "./study";

const FRAME_MS = 700;

/** A part of the drawing that is there from one frame to another. */
interface Part {
  readonly element: Element;
  readonly first: number;
  readonly last: number;
}

export class Stepper {
  readonly axis: string;
  readonly #frames: Frames;
  readonly #slider = document.createElement("input");
  readonly #said = document.createElement("output");
  readonly #play: HTMLButtonElement;
  readonly #go: (axis: string, value: number) => void;
  readonly #parts: readonly Part[];
  #timer: number | undefined;

  constructor(place: Element, frames: Frames, go: (axis: string, value: number) => void) {
    this.axis = frames.axis;
    this.#frames = frames;
    this.#go = go;
    const drawn = place.closest("[data-study]")!.querySelectorAll("svg :is([data-is], [data-when])");
    this.#parts = [...drawn].flatMap((element) => {
      const said = `${element.getAttribute("data-when") ?? ""} ${element.getAttribute("data-is") ?? ""}`;
      const when = tokens(said).find((one) => one.axis === frames.axis);
      return when ? [{ element, first: Number(when.low), last: Number(when.high) }] : [];
    });
    Object.assign(this.#slider, { type: "range", min: "0", max: String(frames.count - 1), value: "0" });
    this.#slider.setAttribute("aria-label", `${frames.axis}, ${frames.count} steps`);
    this.#slider.addEventListener("input", () => this.#to(this.#slider.valueAsNumber));
    this.#play = button("Play", () => this.toggle());
    place.append(
      button("Back", () => this.step(-1)),
      this.#play,
      button("Step", () => this.step(1)),
      this.#slider,
      this.#said,
    );
    this.#tell(undefined);
  }

  /** The frames away from the one that is shown; the last is the end. */
  step(by: number): void {
    this.stop();
    this.#to(this.#slider.valueAsNumber + by);
  }

  toggle(): void {
    if (this.#timer !== undefined) return this.stop();
    if (this.#slider.valueAsNumber >= this.#frames.count - 1) this.#to(0);
    this.#play.textContent = "Pause";
    this.#timer = window.setInterval(() => {
      this.#to(this.#slider.valueAsNumber + 1);
      if (this.#slider.valueAsNumber >= this.#frames.count - 1) this.stop();
    }, FRAME_MS);
  }

  stop(): void {
    window.clearInterval(this.#timer);
    this.#timer = undefined;
    this.#play.textContent = "Play";
  }

  /** The frame that the point is, and the one that was stepped to, before and after which parts are fainter. */
  show(value: number | undefined, stepped: number | undefined): void {
    if (value !== undefined) this.#slider.value = String(value);
    this.#tell(value);
    for (const { element, first, last } of this.#parts) {
      element.classList.toggle("past", stepped !== undefined && last < stepped);
      element.classList.toggle("later", stepped !== undefined && stepped < first);
    }
  }

  #tell(value: number | undefined): void {
    const said = value === undefined ? "" : (this.#frames.said[value] ?? "");
    this.#said.textContent = value === undefined ? `${this.#frames.count} steps` : `${value}: ${said}`;
  }

  #to(value: number): void {
    this.#go(this.axis, Math.min(Math.max(value, 0), this.#frames.count - 1));
  }
}

function button(text: string, does: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", does);
  return made;
}
