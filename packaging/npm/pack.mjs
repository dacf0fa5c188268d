// Packs clitape for npm: `node packaging/npm/pack.mjs OUT PLATFORM=BINARY…`, with a platform such as linux-x64. Writes
// into OUT a tarball for each platform with its program, and clitape-VERSION.tgz, which needs the one of its machine.
// Nothing is downloaded when they are installed, and no script runs.
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];
const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");

const [out, ...programs] = process.argv.slice(2);
const given = new Map(programs.map((word) => word.split(/=(.*)/s)));
if (!out || given.size === 0 || [...given.keys()].some((platform) => !PLATFORMS.includes(platform))) {
  console.error(`usage: node packaging/npm/pack.mjs OUT PLATFORM=BINARY…, with ${PLATFORMS.join(", ")}`);
  process.exit(2);
}

const version = String(execFileSync(join(root, "packaging/version"))).trim();
const { bin, files, ...about } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
// Without an address, the package of a try has none.
const repository = String(spawnSync(join(root, "packaging/repository")).stdout).trim();
if (repository) {
  about.repository = { type: "git", url: `git+${repository}.git` };
}
mkdirSync(out, { recursive: true });

for (const [platform, binary] of given) {
  const [os, cpu] = platform.split("-");
  const name = `@clitape/${platform}`;
  const description = `The program of the package clitape for ${platform}.`;
  pack({ ...about, name, version, description, os: [os], cpu: [cpu], files: ["clitape"] }, (folder) => {
    copyFileSync(resolve(binary), join(folder, "clitape"));
    chmodSync(join(folder, "clitape"), 0o755);
  });
}
const needs = Object.fromEntries(PLATFORMS.map((platform) => [`@clitape/${platform}`, version]));
pack({ ...about, version, bin, files, optionalDependencies: needs }, (folder) => {
  copyFileSync(join(here, "clitape.js"), join(folder, "clitape.js"));
  copyFileSync(join(root, "README.md"), join(folder, "README.md"));
});

/** Packs a package with these facts, whose folder `fill` gets. */
function pack(facts, fill) {
  const folder = mkdtempSync(join(tmpdir(), "clitape-npm-"));
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify(facts, null, 2) + "\n");
    for (const license of ["LICENSE-MIT", "LICENSE-APACHE"]) {
      copyFileSync(join(root, license), join(folder, license));
    }
    fill(folder);
    const told = execFileSync("npm", ["pack", "--silent", "--pack-destination", resolve(out)], { cwd: folder });
    // A path that is not whole would be a repository to `npm install`.
    console.log(resolve(out, String(told).trim()));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
