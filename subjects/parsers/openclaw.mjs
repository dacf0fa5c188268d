// The parser of the published OpenClaw over files of stream-json: `node openclaw.mjs DIST FILE…`, with the folder `dist` of an
// installed OpenClaw. It is called as OpenClaw's runner of command lines calls it (`src/agents/cli-runner/execute.ts`).
// Prints lifecycle entries, and an empty line after those of each file.

import { createReadStream, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { pathToFileURL } from "node:url";

const [dist, ...files] = process.argv.slice(2);

/** Imports the function with this name from the module of `dist` that defines it; a bundler gives its export a short name. */
async function published(name) {
  const defines = new RegExp(`^(?:async )?(?:function|const) ${name}\\b`, "m");
  const exports = new RegExp(`^export .*\\b${name} as (\\w+)`, "m");
  for (const file of readdirSync(dist).filter((file) => file.endsWith(".mjs"))) {
    const text = readFileSync(join(dist, file), "utf8");
    const short = defines.test(text) && exports.exec(text);
    if (short) return (await import(pathToFileURL(join(dist, file))))[short[1]];
  }
  throw new Error(`${dist} exports no ${name}`);
}

const createParser = await published("createCliJsonlStreamingParser");
const parseJsonlEvent = await published("parseClaudeCliJsonlEvent");
const parseJsonlLifecycleEvent = await published("parseClaudeCliJsonlLifecycleEvent");

function entry(kind, data) {
  console.log(JSON.stringify({ at: 0, lane: "lifecycle", kind, data }));
}

/** Reads a file in the pieces that a pipe gives, and prints what the parser found in it. */
async function read(file) {
  const ignored = () => {};
  const parser = createParser({
    backend: { jsonlDialect: "claude-stream-json" },
    providerId: "claude-cli",
    parseJsonlEvent,
    parseJsonlLifecycleEvent,
    onAssistantDelta: ({ delta }) => entry("text", { delta }),
    onToolUseStart: ({ toolCallId, name, args }) => entry("tool_start", { id: toolCallId, name, args }),
    onCompletedReply: ignored,
    onThinkingDelta: ignored,
    onThinkingProgress: ignored,
    onCompaction: ignored,
    onToolResult: ignored,
    onDisplayToolUseStart: ignored,
    onDisplayToolResult: ignored,
    onSessionId: ignored,
    onNativeTools: ignored,
    onAssistantMessage: ignored,
    onUsage: ignored,
  });
  const decoder = new StringDecoder("utf8");
  for await (const piece of createReadStream(file)) parser.push(decoder.write(piece));
  parser.finish();
  const output = parser.getOutput();
  if (output) entry("outcome", { status: output.errorText ? "error" : "ok", text: output.text ?? "" });
}

for (const file of files) {
  try {
    await read(file);
  } catch (error) {
    entry("diagnostic", { kind: error.name, detail: String(error.message).slice(0, 200) });
  }
  console.log();
}
// The modules of a gateway may leave timers behind.
process.exit(0);
