// Writes the bundle that the wheel carries, or to the path that is given: all of src/ as one classic script.
// Its first line names the sources' hash, by which a test without node sees that they have changed since.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const sources = readdirSync(join(here, "src")).filter((name) => name.endsWith(".ts")).sort();
const hash = createHash("sha256");
for (const name of sources) hash.update(readFileSync(join(here, "src", name)));

await build({
  entryPoints: [join(here, "src", "main.ts")],
  outfile: process.argv[2] ?? join(here, "..", "src", "imbrex", "explore", "page.js"),
  bundle: true,
  format: "iife",
  target: "es2023",
  charset: "utf8",
  banner: { js: `// Made by \`make page\` of web/src, whose sha256 is ${hash.digest("hex")}` },
});
