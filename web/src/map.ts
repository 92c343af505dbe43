/** A Map that can be evaluated: every rung's values, the guards and the address at a point of its first rung. */

import { formula, type Formula } from "./expression";
import type { MapText } from "./study";

/** rungs: the value of each dim; guards: that of each index; address: in elements, where all guards hold. */
export interface Values {
  readonly rungs: readonly (readonly number[])[];
  readonly guards: readonly { readonly value: number; readonly holds: boolean }[];
  readonly address: number;
  readonly exists: boolean;
}

export class AffineMap {
  readonly upper: readonly { readonly name: string; readonly size: number }[];
  readonly lower: readonly string[];
  readonly #rungs: readonly (readonly Formula[])[];
  readonly #guards: readonly { readonly index: Formula; readonly size: number }[];
  readonly #address: Formula;
  readonly #parameters: readonly number[];

  constructor(text: MapText) {
    this.upper = text.rungs[0]!.dims;
    this.lower = text.rungs.at(-1)!.dims.map((dim) => dim.name);
    const names = [...this.upper, ...text.parameters].map((named) => named.name);
    const slots = new Map(names.map((name, slot) => [name, slot]));
    this.#rungs = text.rungs.map((rung) => rung.dims.map((dim) => formula(dim.value, slots)));
    this.#guards = text.guards.map((guard) => ({ index: formula(guard.index, slots), size: guard.size }));
    this.#address = formula(text.address, slots);
    this.#parameters = text.parameters.map((parameter) => parameter.value);
  }

  /** The last rung's values; undefined where a guard fails. */
  place(upper: readonly number[]): readonly number[] | undefined {
    const values = this.#slots(upper);
    const holds = ({ index, size }: { index: Formula; size: number }) => inside(index(values), size);
    return this.#guards.every(holds) ? this.#rungs.at(-1)!.map((value) => value(values)) : undefined;
  }

  values(upper: readonly number[]): Values {
    const values = this.#slots(upper);
    const guards = this.#guards.map(({ index, size }) => {
      const value = index(values);
      return { value, holds: inside(value, size) };
    });
    return {
      rungs: this.#rungs.map((rung) => rung.map((value) => value(values))),
      guards,
      address: this.#address(values),
      exists: guards.every((guard) => guard.holds),
    };
  }

  #slots(upper: readonly number[]): Float64Array {
    return Float64Array.from([...upper, ...this.#parameters]);
  }
}

function inside(value: number, size: number): boolean {
  return 0 <= value && value < size;
}
