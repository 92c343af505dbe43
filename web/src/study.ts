/** What Python says of one kernel: the part of its JSON that the page needs besides what is in the HTML. */

import type { Tree } from "./expression";

export interface Study {
  readonly axes: readonly Axis[];
  readonly maps: Readonly<Record<string, MapText>>;
  readonly follows: readonly Follow[];
  /** By a place inside of a tile or a step, the axis of which one it is. */
  readonly filled: Readonly<Record<string, string>>;
  readonly panels: readonly PanelText[];
}

/** What can be pointed at.  size: how many values it has; 0 of words. */
export interface Axis {
  readonly name: string;
  readonly size: number;
  readonly said: string;
}

/** A point that has the axes `from` has the axes `to` by a map.  Those of `over` may be missing, and are tried at these values. */
export interface Follow {
  readonly map: string;
  readonly from: Readonly<Record<string, string>>;
  readonly to: Readonly<Record<string, string>>;
  readonly over: Readonly<Record<string, readonly number[]>>;
}

/** array: what the last rung's dims are the coordinates of. */
export interface MapText {
  readonly array: string | null;
  readonly rungs: readonly Rung[];
  readonly address: Tree;
  readonly guards: readonly Guard[];
  readonly parameters: readonly { readonly name: string; readonly value: number }[];
}

export interface Rung {
  readonly dims: readonly { readonly name: string; readonly size: number; readonly value: Tree }[];
}

/** It holds where 0 <= index < size. */
export interface Guard {
  readonly index: Tree;
  readonly size: number;
}

export interface PanelText {
  readonly name: string;
  readonly frames: Frames | null;
}

/** An animation: the axis goes through 0, 1, ..; said: what happens in each frame. */
export interface Frames {
  readonly axis: string;
  readonly count: number;
  readonly said: readonly string[];
}

/** The studies of a page: one, or two side by side; none while the server's form has no right problem. */
export function studiesOf(page: ParentNode): readonly Study[] {
  const text = page.querySelector("#studies")?.textContent;
  return text ? (JSON.parse(text) as readonly Study[]) : [];
}
