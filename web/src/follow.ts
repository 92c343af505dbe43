/** How one thing leads to another: a point is completed through the Maps. */

import { AffineMap } from "./map";
import type { Point, Value } from "./point";
import type { Follow, Study } from "./study";

/** A point with all that follows from it, and the places that it touches: the taps of a window. */
export interface Completed {
  readonly point: Point;
  readonly near: readonly Point[];
}

export class Follower {
  readonly maps: ReadonlyMap<string, AffineMap>;
  readonly #follows: readonly Follow[];
  readonly #arrays: readonly (readonly string[])[];
  readonly #filled: readonly (readonly [string, string])[];

  constructor(study: Study) {
    this.maps = new Map(Object.entries(study.maps).map(([name, text]) => [name, new AffineMap(text)]));
    this.#follows = study.follows.filter((follow) => this.maps.has(follow.map));
    this.#arrays = this.#follows.filter((one) => study.maps[one.map]!.array).map((one) => Object.values(one.to));
    this.#filled = Object.entries(study.filled);
  }

  /** The values of a map's first rung that a point gives; undefined for those that it does not. */
  upper(map: string, point: Point): (number | undefined)[] {
    const found = this.#follows.find((follow) => follow.map === map);
    const of = this.maps.get(map);
    return (of?.upper ?? []).map((dim) => {
      const value = point.get(found?.from[dim.name] ?? dim.name);
      return typeof value === "number" && value < dim.size ? value : undefined;
    });
  }

  /** The axis that a dim of a map's first rung is. */
  axis(map: string, dim: string): string {
    return this.#follows.find((follow) => follow.map === map)?.from[dim] ?? dim;
  }

  completed(given: Point): Completed {
    const point = new Map(given);
    for (let known = -1; known < point.size; ) {
      known = point.size;
      for (const follow of this.#follows) {
        const place = this.#place(follow, point);
        for (const [axis, value] of place ?? []) if (!point.has(axis)) point.set(axis, value);
      }
    }
    return { point, near: this.#follows.flatMap((follow) => this.#near(follow, point)) };
  }

  /** Axes that a follow gives; undefined where one that it needs is missing, or nothing is there.  What has one value needs none. */
  #place(follow: Follow, point: Point): [string, number][] | undefined {
    const map = this.maps.get(follow.map)!;
    const upper: number[] = [];
    for (const dim of map.upper) {
      const axis = follow.from[dim.name];
      const value = axis === undefined ? 0 : (point.get(axis) ?? (dim.size === 1 ? 0 : undefined));
      if (typeof value !== "number" || value >= dim.size) return undefined;
      upper.push(value);
    }
    const lower = map.place(upper);
    return lower && bound(follow, map, lower);
  }

  /** Where a point leads for each value of the axes that it lacks. */
  #near(follow: Follow, point: Point): Map<string, Value>[] {
    const missing = Object.entries(follow.over).filter(([axis]) => !point.has(axis));
    if (!missing.length) return [];
    let tried: Map<string, Value>[] = [new Map(point)];
    for (const [axis, values] of missing) {
      tried = tried.flatMap((one) => values.map((value) => new Map(one).set(axis, value)));
    }
    return tried.flatMap((one) => {
      const place = this.#place(follow, one);
      return place ? [new Map([...one, ...place])] : [];
    });
  }

  /** What a part that is pointed at leaves open is as in the kept point, or the first: the plane of an array, the tile, the step. */
  placed(given: Point, kept: Point): Point {
    const known = this.completed(kept).point;
    const point = new Map(given);
    for (const axes of this.#arrays) {
      if (!axes.some((axis) => given.has(axis))) continue;
      for (const axis of axes) if (!point.has(axis)) point.set(axis, known.get(axis) ?? 0);
    }
    const reached = this.completed(point).point;
    for (const [inside, of] of this.#filled) {
      if (reached.has(inside) && !reached.has(of)) point.set(of, known.get(of) ?? 0);
    }
    return point;
  }
}

function bound(follow: Follow, map: AffineMap, lower: readonly number[]): [string, number][] {
  return map.lower.flatMap((dim, i) => {
    const axis = follow.to[dim];
    return axis === undefined ? [] : [[axis, lower[i]!] as [string, number]];
  });
}
