#!/usr/bin/env node
// Starts the program for this machine, which npm has installed as a package of its own beside this one.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Returns the path of the program; ends with a sentence where there is none. */
function program() {
  if (process.platform === "win32") {
    end("it runs on Linux and macOS; on Windows, install it inside WSL2");
  }
  const name = `@clitape/${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${name}/clitape`);
  } catch {
    end(
      `the package ${name} is not installed; install clitape again without --no-optional and --omit=optional, ` +
        "or build it with cargo if this machine is another one than linux or darwin, x64 or arm64",
    );
  }
}

function end(why) {
  console.error(`error: clitape can't start: ${why}`);
  process.exit(2);
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });
// A signal for this process is meant for the program, which cleans up and ends by itself.
for (const signal of SIGNALS) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => end(error.message));
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
