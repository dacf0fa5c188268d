// A client of `clitape serve` for vitest, jest and other test runners on Node. Copy this file beside your tests:
//
//     const clitape = start({ subject: "my-gateway" });
//     afterAll(() => clitape.close());
//     const chat = await clitape.play("three-tools");
//
// The program is CLITAPE_BIN, or else `clitape` on PATH. docs/test-runners.md of clitape has all fields of `chat`.
"use strict";
const { spawn } = require("node:child_process");
const { createInterface } = require("node:readline");

/** The version of the protocol that this file speaks. */
const PROTOCOL = 1;
/** The characters of the program's stderr that an error shows. */
const WORDS = 2000;

/** An error of clitape; `kind` is `request`, `recording`, `subject`, `stopped` or `program`. */
class ClitapeError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = "ClitapeError";
    this.kind = kind;
  }
}

class Clitape {
  #child;
  #program;
  #words = "";
  #waiting = new Map();
  #last = 0;
  #failure = null;
  #greeting = null;
  #closed;
  #isClosing = false;
  #kill = () => this.#child.kill();

  constructor({ subject, root = process.cwd(), program = process.env.CLITAPE_BIN || "clitape", args = [] }) {
    if (!subject) throw new ClitapeError("program", "start({ subject }) needs the name of a subject of clitape.toml");
    this.#program = program;
    // A test is code of this project, so that whoever runs it has agreed to the subject: `--yes`.
    this.#child = spawn(program, ["--quiet", "serve", "--json", "--yes", subject, ...args], { cwd: root });
    this.#child.stderr.on("data", (data) => (this.#words = (this.#words + data).slice(-WORDS)));
    this.#child.stdin.on("error", () => {}); // the end of the program says more
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#read(line));
    this.#closed = new Promise((done) => {
      this.#child.on("error", (error) => done(this.#fail(this.#missing(error))));
      this.#child.on("close", (code, signal) => done(this.#fail(`${program} ended (${signal ?? `exit code ${code}`})`)));
    });
    process.once("exit", this.#kill);
    this.#hold();
  }

  /**
   * Plays a recording, NAME or NAME/VERSION, and resolves with what a person saw: `messages`, `final_text`, `calls`,
   * `findings` and more. The options are those of the protocol: `version`, `pace`, `seed`, `chat_faults` and others.
   */
  play(scenario, options = {}) {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(this.#failure);
      const id = ++this.#last;
      this.#waiting.set(id, { resolve, reject });
      this.#hold();
      this.#child.stdin.write(`${JSON.stringify({ ...options, id, play: scenario })}\n`);
    });
  }

  /** Ends the program and all that it has started; resolves when it has ended. */
  close() {
    this.#isClosing = true;
    this.#hold();
    this.#child.stdin.end();
    if (this.#waiting.size > 0) this.#child.kill();
    return this.#closed;
  }

  #read(line) {
    let answer;
    try {
      answer = JSON.parse(line);
    } catch {
      return this.#end(`${this.#program} printed a line that is no JSON: ${line.slice(0, 200)}`);
    }
    if (!this.#greeting) {
      this.#greeting = answer;
      if (answer.protocol === PROTOCOL) return undefined;
      return this.#end(`${this.#program} speaks protocol ${answer.protocol}, and this client ${PROTOCOL}: take both from one version of clitape`);
    }
    const waiting = this.#waiting.get(answer.id);
    if (!waiting) return answer.error && this.#end(answer.error.message);
    this.#waiting.delete(answer.id);
    this.#hold();
    return answer.error ? waiting.reject(new ClitapeError(answer.error.kind, answer.error.message)) : waiting.resolve(answer);
  }

  /** Keeps Node running while an answer or the end is awaited, and no longer. */
  #hold() {
    const hold = this.#waiting.size > 0 || this.#isClosing ? "ref" : "unref";
    for (const handle of [this.#child, this.#child.stdin, this.#child.stdout, this.#child.stderr]) handle?.[hold]?.();
  }

  #missing(error) {
    if (error.code !== "ENOENT") return `${this.#program} can't be started: ${error.message}`;
    return `there is no program ${this.#program}; install clitape, or set CLITAPE_BIN to its path`;
  }

  #end(message) {
    this.#fail(message);
    this.#child.kill();
  }

  /** Rejects all requests that wait, and those to come. */
  #fail(message) {
    const words = this.#words.trim();
    this.#failure ??= new ClitapeError("program", words ? `${message}:\n${words}` : message);
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
    process.removeListener("exit", this.#kill);
  }
}

/**
 * Starts `clitape serve` for a subject of clitape.toml. `root` is a folder of the workspace or below it, `program` the
 * program, and `args` are further options of `clitape serve`.
 */
const start = (options) => new Clitape(options);

module.exports = { start, Clitape, ClitapeError };
