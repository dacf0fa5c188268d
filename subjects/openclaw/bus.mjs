// Puts the agent events of OpenClaw into the file OPENCLAW_BUS, a JSON line each, as docs/subjects.md describes them.
// Loaded with NODE_OPTIONS=--import; it listens and changes nothing.
import { appendFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isMainThread } from "node:worker_threads";

const { OPENCLAW_BUS: file, OPENCLAW_DIST: dist } = process.env;

/** What of an event of OpenClaw becomes a line; `chats` has the chat of each run. */
function line(event, chats) {
  const chat = /(-?\d+)$/.exec(event.sessionKey ?? "")?.[1] ?? chats.get(event.runId);
  if (chat === undefined) return undefined;
  chats.set(event.runId, chat);
  const { phase, toolCallId: id, name, args } = event.data ?? {};
  const what = event.stream === "tool" ? { phase, id, name, args } : { phase };
  return { chat, at: event.ts, kind: event.stream, ...what };
}

async function listen() {
  const chats = new Map();
  const chunks = readdirSync(dist).filter((name) => /^agent-events-.*\.m?js$/.test(name));
  for (const chunk of chunks) {
    // The names of the exports are mangled; those of the functions are not.
    const functions = Object.values(await import(pathToFileURL(join(dist, chunk))));
    const onAgentEvent = functions.find((value) => value?.name === "onAgentEvent");
    if (!onAgentEvent) continue;
    onAgentEvent((event) => {
      const told = line(event, chats);
      if (told) appendFileSync(file, `${JSON.stringify(told)}\n`);
    });
    return;
  }
  console.error(`bus.mjs: no chunk of ${dist} has the function onAgentEvent`);
}

// Only the gateway itself has events; its helpers and threads are left alone.
if (file && dist && isMainThread && process.argv.includes("gateway")) await listen();
