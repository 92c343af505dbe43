/** The ladder of a Map: each rung's values at the point, the guards that hold or fail, and the address. */

import type { Follower } from "./follow";
import type { Point, Value } from "./point";

export class Ladder {
  readonly #name: string;
  readonly #inputs: readonly HTMLInputElement[];
  readonly #rungs: readonly (readonly Element[])[];
  readonly #guards: readonly HTMLElement[];
  readonly #address: Element;
  readonly #follower: Follower;

  /** keep: what to do with a point that was typed. */
  constructor(element: HTMLElement, follower: Follower, keep: (point: Point) => void) {
    this.#name = element.dataset["map"]!;
    this.#follower = follower;
    this.#inputs = [...element.querySelectorAll<HTMLInputElement>(".rung input")];
    this.#rungs = [...element.querySelectorAll(".rung")].map((rung) => [...rung.querySelectorAll("output")]);
    this.#guards = [...element.querySelectorAll<HTMLElement>("[data-guard]")];
    this.#address = element.querySelector(".address output")!;
    for (const input of this.#inputs) {
      input.disabled = false;
      input.addEventListener("change", () => keep(this.#typed()));
    }
  }

  #typed(): Point {
    const upper = this.#follower.maps.get(this.#name)!.upper;
    return new Map<string, Value>(
      upper.map((dim, i) => {
        const value = Math.trunc(this.#inputs[i]!.valueAsNumber || 0);
        return [this.#follower.axis(this.#name, dim.name), Math.min(Math.max(value, 0), dim.size - 1)];
      }),
    );
  }

  /** What the point does not give is 0, and shown as such. */
  show(point: Point): void {
    const map = this.#follower.maps.get(this.#name)!;
    const given = this.#follower.upper(this.#name, point);
    const values = map.values(given.map((value) => value ?? 0));
    this.#inputs.forEach((input, i) => {
      if (input !== document.activeElement) input.value = String(values.rungs[0]![i]);
      input.classList.toggle("assumed", given[i] === undefined);
    });
    this.#rungs.forEach((outputs, i) => {
      if (i) outputs.forEach((output, j) => (output.textContent = String(values.rungs[i]![j])));
    });
    this.#guards.forEach((guard, i) => {
      const { value, holds } = values.guards[i]!;
      guard.className = holds ? "holds" : "fails";
      guard.querySelector("output")!.textContent = holds ? `${value}: holds` : `${value}: fails`;
    });
    this.#address.textContent = values.exists ? String(values.address) : "nothing: a guard fails";
  }
}
