/** How one thing leads to another: a point is completed through the Maps. */

import { AffineMap } from "./map";
import type { Point, Value } from "./point";
import type { Follow, Study } from "./study";

/** A point with all that follows from it, and the places that it touches: the taps of a window. */
export interface Completed {
  readonly point: Point;
  readonly near: readonly Point[];
}

const FEW = 1024;
/** Places that light up as near, at most: beyond that nothing could be seen. */

export class Follower {
  readonly maps: ReadonlyMap<string, AffineMap>;
  readonly #follows: readonly Follow[];
  readonly #sizes: ReadonlyMap<string, number>;

  constructor(study: Study) {
    this.maps = new Map(Object.entries(study.maps).map(([name, text]) => [name, new AffineMap(text)]));
    this.#follows = study.follows.filter((follow) => this.maps.has(follow.map));
    this.#sizes = new Map(study.axes.map((axis) => [axis.name, axis.size]));
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

  #near(follow: Follow, point: Point): Map<string, Value>[] {
    const missing = follow.over.filter((axis) => !point.has(axis));
    const count = missing.reduce((product, axis) => product * (this.#sizes.get(axis) ?? 0), 1);
    const wanted = Object.values(follow.from).filter((axis) => !missing.includes(axis));
    if (!missing.length || !count || count > FEW || !wanted.every((axis) => point.has(axis))) return [];
    const found: Map<string, Value>[] = [];
    for (let number = 0; number < count; number++) {
      const tried = new Map(point);
      let rest = number;
      for (const axis of missing) {
        const size = this.#sizes.get(axis)!;
        tried.set(axis, rest % size);
        rest = Math.floor(rest / size);
      }
      const place = this.#place(follow, tried);
      if (place) found.push(new Map([...tried, ...place]));
    }
    return found;
  }
}

function bound(follow: Follow, map: AffineMap, lower: readonly number[]): [string, number][] {
  return map.lower.flatMap((dim, i) => {
    const axis = follow.to[dim];
    return axis === undefined ? [] : [[axis, lower[i]!] as [string, number]];
  });
}
