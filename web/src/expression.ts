/**
 * Formulae of Maps, as Python's `imbrex.explore.expression` writes them, made into functions.
 *
 * Law: whatever `Lin.eval` says at a point, the function says, too.  All values are integers below 2**53,
 * those of `^` below 2**31.
 */

export type Tree = number | string | readonly [string, ...Tree[]];
export type Formula = (values: Float64Array) => number;

/** The function of a tree.  slots: where each name's value stands. */
export function formula(tree: Tree, slots: ReadonlyMap<string, number>): Formula {
  if (typeof tree === "number") return () => tree;
  if (typeof tree === "string") {
    const slot = slots.get(tree);
    if (slot === undefined) throw new Error(`a formula mentions '${tree}', which its map does not have`);
    return (values) => values[slot]!;
  }
  const [operator, ...rest] = tree;
  const parts = rest.map((part) => formula(part, slots));
  if (operator === "+") return (values) => parts.reduce((sum, part) => sum + part(values), 0);
  const [a, b, c] = parts;
  if (a === undefined || b === undefined) throw new Error(`'${operator}' has ${parts.length} parts`);
  switch (operator) {
    case "*":
      return (values) => a(values) * b(values);
    case "/":
      return (values) => Math.floor(a(values) / b(values));
    case "%":
      return (values) => remainder(a(values), b(values));
    case "^":
      return (values) => a(values) ^ b(values);
    case "?":
      if (c === undefined) throw new Error("'?' has 2 parts");
      return (values) => (a(values) >= 0 ? b(values) : c(values));
    default:
      throw new Error(`unknown operator '${operator}'`);
  }
}

function remainder(dividend: number, divisor: number): number {
  const found = dividend % divisor;
  return found < 0 ? found + divisor : found + 0;
}
