// Packs a corpus for npm: `node packaging/corpus/pack.mjs OUT CORPUS`, with a folder that `clitape corpus` wrote. Writes
// OUT/clitape-corpus-VERSION.tgz, and prints its path. The package has data alone: `require("@clitape/corpus")` is
// its index.json, and the other files are at the paths that it names.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [out, corpus] = process.argv.slice(2);
if (!corpus) {
  console.error("usage: node packaging/corpus/pack.mjs OUT CORPUS");
  process.exit(2);
}
const facts = {
  name: "@clitape/corpus",
  version: JSON.parse(readFileSync(join(corpus, "index.json"), "utf8")).clitape,
  description: "What the claude command prints as stream-json, with the expected reading of each recording.",
  keywords: ["claude", "stream-json", "parser", "corpus", "testing"],
  license: "CC0-1.0",
  main: "index.json",
};
const folder = mkdtempSync(join(tmpdir(), "clitape-corpus-"));
try {
  mkdirSync(out, { recursive: true });
  cpSync(corpus, folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify(facts, null, 2) + "\n");
  const told = execFileSync("npm", ["pack", "--silent", "--pack-destination", resolve(out)], { cwd: folder });
  console.log(resolve(out, String(told).trim()));
} finally {
  rmSync(folder, { recursive: true });
}
