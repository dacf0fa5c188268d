// Parses the runs of a file with the parser that the published OpenClaw has, as its runner of command lines calls it
// (`src/agents/cli-runner/execute.ts`): one parser for each run, which gets the text of each piece of stdout as it comes.
//
//     node parse.mjs DIST RUNS SIZES PIECE TIMES
//
// SIZES is a JSON array with the bytes of each run in RUNS, and PIECE the bytes that the parser gets at a time. A run of more than
// 8 MiB is read by a copy of the parser without the limits that refuse it. The line that it prints is a JSON object: the `seconds` of
// the fastest of TIMES, and what was found.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { pathToFileURL } from "node:url";

const [dist, runs, sizes, ...numbers] = process.argv.slice(2);
const [piece, times] = numbers.map(Number);

const bytes = readFileSync(runs);
const lengths = JSON.parse(readFileSync(sizes, "utf8"));
/** The characters that a run may have. */
const limit = 8 * 1024 * 1024;
/** Where the parser's module states how many characters and lines a run may have. */
const limits = [`CLI_STREAM_JSON_DEFAULT_MAX_TURN_RAW_CHARS = ${limit};`, "maxTurnLines: 2e4"];

/** The module `file` without limits: a copy beside it, because it imports its neighbours. */
function unlimited(file, text) {
  const without = limits.reduce((text, stated) => {
    if (!text.includes(stated)) throw new Error(`${file} has no "${stated}": look there what limits a run, and change parse.mjs`);
    return text.replace(stated, stated.replace(/\w+(?=;?$)/, "Infinity"));
  }, text);
  const copy = `unlimited-${file}`;
  writeFileSync(join(dist, copy), without);
  return copy;
}

/**
 * Imports the function with this name from the module of `dist` that defines it, or from the copy that `changed` makes of the module; a
 * bundler gives its export a short name.
 */
async function published(name, changed = (file) => file) {
  const defines = new RegExp(`^(?:async )?(?:function|const) ${name}\\b`, "m");
  const exports = new RegExp(`^export .*\\b${name} as (\\w+)`, "m");
  const isModule = (file) => file.endsWith(".mjs") && !file.startsWith("unlimited-");
  for (const file of readdirSync(dist).filter(isModule)) {
    const text = readFileSync(join(dist, file), "utf8");
    const short = defines.test(text) && exports.exec(text);
    if (short) return (await import(pathToFileURL(join(dist, changed(file, text)))))[short[1]];
  }
  throw new Error(`${dist} exports no ${name}: look there how this version of OpenClaw parses stdout, and change parse.mjs`);
}

const isLong = lengths.some((length) => length > limit);
const createParser = await published("createCliJsonlStreamingParser", isLong ? unlimited : undefined);
const parseJsonlEvent = await published("parseClaudeCliJsonlEvent");
const parseJsonlLifecycleEvent = await published("parseClaudeCliJsonlLifecycleEvent");

/** Parses every run once, and returns what was found. */
function parseAll() {
  const found = { texts: 0, characters: 0, calls: 0 };
  let from = 0;
  for (const length of lengths) {
    const parser = createParser({
      backend: { jsonlDialect: "claude-stream-json" },
      providerId: "claude-cli",
      parseJsonlEvent,
      parseJsonlLifecycleEvent,
      onAssistantDelta: ({ delta }) => {
        found.texts += 1;
        found.characters += delta.length;
      },
      onCompletedReply: () => {},
      onThinkingDelta: () => {},
      onThinkingProgress: () => {},
      onCompaction: () => {},
      onToolUseStart: () => (found.calls += 1),
      onToolResult: () => {},
      onDisplayToolUseStart: () => {},
      onDisplayToolResult: () => {},
      onSessionId: () => {},
      onNativeTools: () => {},
      onAssistantMessage: () => {},
      onUsage: () => {},
    });
    const decoder = new StringDecoder("utf8");
    for (let at = from; at < from + length; at += piece) {
      parser.push(decoder.write(bytes.subarray(at, Math.min(at + piece, from + length))));
    }
    parser.finish();
    parser.getOutput();
    from += length;
  }
  return found;
}

let seconds = Infinity;
let found;
for (let time = 0; time < times; time += 1) {
  const began = process.hrtime.bigint();
  found = parseAll();
  seconds = Math.min(seconds, Number(process.hrtime.bigint() - began) / 1e9);
}
console.log(JSON.stringify({ seconds, ...found }));
// The modules of a gateway may leave timers behind.
process.exit(0);
