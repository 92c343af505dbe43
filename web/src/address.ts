/** The state that the URL's hash keeps, so that a link shows what its sender saw. */

import { pointOf, textOf, tokens, type Point, type Value } from "./point";

/** at: what was kept; variants: the drawing that each panel shows, by its name. */
export interface State {
  readonly at: Map<string, Value>;
  readonly variants: Map<string, string>;
}

const AT = "at";

export function stateOf(hash: string): State {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const at = pointOf(tokens(found.get(AT) ?? ""));
  found.delete(AT);
  return { at, variants: new Map([...found].filter(([, name]) => name)) };
}

export function hashOf(at: Point, variants: ReadonlyMap<string, string>): string {
  const told = new URLSearchParams(at.size ? { [AT]: textOf(at) } : {});
  for (const [panel, name] of variants) told.set(panel, name);
  return told.size ? `#${told}` : "";
}
