/** Points: a value for some axes, in one text for elements, for the address bar and for people. */

export type Value = number | string;
export type Point = ReadonlyMap<string, Value>;

/** `axis:7`, `axis:lo-hi`, `axis:0,8,16` or `axis:word`, taken apart; a single value has low = high.  others: of a list, those behind its first. */
export interface Token {
  readonly axis: string;
  readonly low: Value;
  readonly high: Value;
  readonly others: readonly Value[];
}

/** Tokens of a list that spaces separate. */
export function tokens(text: string): Token[] {
  return text.split(/\s+/).filter(Boolean).map(token);
}

export function token(text: string): Token {
  const colon = text.indexOf(":");
  const [axis, value] = [text.slice(0, colon), text.slice(colon + 1)];
  const range = /^(\d+)-(\d+)$/.exec(value);
  if (range) return { axis, low: Number(range[1]), high: Number(range[2]), others: [] };
  const [single, ...others] = value.split(",").map((one) => (/^\d+$/.test(one) ? Number(one) : one)) as [Value, ...Value[]];
  return { axis, low: single, high: single, others };
}

/** The point that a list of tokens names: a range and a list by the first value. */
export function pointOf(named: readonly Token[]): Map<string, Value> {
  return new Map(named.map((one) => [one.axis, one.low]));
}

export function has(point: Point, wanted: Token): boolean {
  const value = point.get(wanted.axis);
  if (typeof value === "number" && typeof wanted.low === "number" && typeof wanted.high === "number") {
    if (wanted.low <= value && value <= wanted.high) return true;
  }
  return value !== undefined && (value === wanted.low || wanted.others.includes(value));
}

export function textOf(point: Point): string {
  return [...point].map(([axis, value]) => `${axis}:${value}`).join(" ");
}
