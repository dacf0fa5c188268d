// A Telegram gateway for `claude` on Node: a process of claude for each chat, which lives on, a draft of text and tool
// lines, permission questions with buttons, one answer in pages. Environment: TELEGRAM_API, TELEGRAM_TOKEN, CLAUDE_BIN.
import { spawn } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
const api = `${(process.env.TELEGRAM_API ?? "https://api.telegram.org").replace(/\/$/, "")}/bot${process.env.TELEGRAM_TOKEN}/`;
const flags = "-p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --permission-prompt-tool stdio".split(" ");
const log = (error) => console.error(error.message);
const pages = (text) => text.match(/[^]{1,4095}(?:\s|$)|[^]{1,4096}/gu) ?? []; // of code points, cut at white space where there is any
const masked = (input = "") => (typeof input === "string" ? input : JSON.stringify(input)).replace(/(?=[^\s/]*\d)(?=[^\s/]*[a-z])[^\s/]{12,}/gi, "***"); // it may be a secret
const store = `${homedir()}/.telegram-example.json`; // what outlives a restart: the session of each chat, and the message of each turn that is open
let stored = { sessions: {}, open: {} };
try { stored = JSON.parse(readFileSync(store)); } catch {}
function keep(part, chat, value) {
  if (stored[part][chat] === value) return;
  stored[part][chat] = value;
  writeFileSync(`${store}.new`, JSON.stringify(stored));
  renameSync(`${store}.new`, store);
}
async function call(method, params) { // until it is done; a new message whose reply is lost may be there: it is not sent again
  for (let answer; ; await sleep(answer.parameters.retry_after * 1000 + 100)) {
    answer = { parameters: { retry_after: 1 } };
    try {
      const got = await fetch(api + method, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(params) });
      if (got.status < 500) answer = await got.json();
    } catch (error) { if (method === "sendMessage" && error.cause?.code !== "ECONNREFUSED") throw error; }
    if (answer.ok || /not modified/.test(answer.description)) return answer.result;
    if (!answer.parameters?.retry_after) throw new Error(answer.description);
  }
}
class Chat {
  constructor(id) { Object.assign(this, { id, waiting: [], turn: null, shown: Promise.resolve(), questions: new Map() }); }
  begin(prompt) { // without a prompt it is a turn of claude's own, such as after a command in the background
    const turn = (this.turn = { parts: new Map(), open: new Set(), streamed: [], inputs: {} });
    this.shown = this.shown.then(() => this.show(turn));
    keep("open", this.id, 0);
    if (prompt) this.tell((turn.prompt = { type: "user", message: { role: "user", content: prompt }, parent_tool_use_id: null, session_id: "" }));
  }
  tell(line) {
    if (!this.claude) {
      const session = (this.resumed = stored.sessions[this.id]);
      this.claude = spawn(process.env.CLAUDE_BIN ?? "claude", session ? [...flags, "--resume", session] : flags, { stdio: ["pipe", "pipe", "inherit"] });
      this.claude.stdin.on("error", log).write('{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}\n');
      createInterface({ input: this.claude.stdout }).on("line", (line) => {
        try {
          if (line.startsWith("{")) this.read(JSON.parse(line));
        } catch (error) { log(error); } // a line that is no record, or half of one
      });
      this.claude.on("close", (code) => this.ended(code));
    }
    this.claude.stdin.write(JSON.stringify(line) + "\n");
  }
  ended(code) {
    this.claude = null;
    if (!this.resumed || !this.turn) return this.finish({ is_error: true, result: `claude ended (exit code ${code})` });
    keep("sessions", this.id, undefined); // it is gone: another one begins
    this.tell(this.turn.prompt);
  }
  async hear(text) {
    const [question] = this.questions.keys(), [, yes, no] = /^(?:(yes|ok|allow)|(no|deny))$/i.exec(text) ?? [];
    if (question && (yes || no)) return this.close(question, yes ? "Allow" : "Deny"); // an answer that is written
    if (text !== "/stop") return this.turn ? void this.waiting.push(text) : this.begin(text);
    if (!this.turn) return this.write({}, "Nothing is running.");
    this.waiting = [];
    this.tell({ type: "control_request", request_id: `stop-${Date.now()}`, request: { subtype: "interrupt" } });
  }
  reply(request_id, response) { this.tell({ type: "control_response", response: { subtype: "success", request_id, response } }); }
  read({ type, event = {}, message, request, request_id, parent_tool_use_id, ...record }) {
    if (type === "result" && this.resumed) return;
    if (record.subtype === "init") keep("sessions", this.id, record.session_id), (this.resumed = null);
    if (event.type === "message_start" && !parent_tool_use_id && !this.turn) this.begin();
    const { turn } = this, key = `${turn?.streamed.length}/${event.index}`;
    if (type === "control_cancel_request") this.close(request_id, "Withdrawn").catch(log);
    if (request?.subtype === "can_use_tool") this.ask(request_id, request).catch(log);
    else if (request) this.reply(request_id, {});
    if (parent_tool_use_id || !turn) return;
    if (event.type === "message_start") turn.streamed.push(event.message.id);
    if (event.delta?.type === "text_delta") turn.parts.set(key, (turn.parts.get(key) ?? "") + event.delta.text);
    for (const block of Array.isArray(message?.content) ? message.content : []) {
      if (block.type === "tool_result") turn.open.delete(block.tool_use_id);
      if (block.type.endsWith("tool_use")) turn.open.add(block.id), (turn.inputs[block.id] = block.input), turn.parts.set(block.id, `🔧 ${block.name} ${masked(Object.values(block.input)[0])}`.slice(0, 110));
      if (block.type === "text" && type === "assistant" && !turn.streamed.includes(message.id)) turn.parts.set(`0/${turn.parts.size}`, block.text);
    }
    if (type === "result") this.finish(record);
  }
  text(turn, tools) {
    const parts = [...turn.parts].filter(([key, text]) => text.trim() && (tools || key.includes("/")));
    return parts.map(([key, text]) => text.trim() + (turn.open.has(key) ? " (running…)" : "")).join("\n\n");
  }
  async write(to, text, more = {}) {
    const params = { chat_id: this.id, text: text.toWellFormed().replace(/&/g, "&amp;").replace(/</g, "&lt;"), parse_mode: "HTML", ...more };
    if (to.message) await call("editMessageText", { ...params, message_id: to.message });
    else to.message = (await call("sendMessage", params)).message_id;
    if (to === this.turn) keep("open", this.id, to.message);
  }
  async show(turn) { // the draft at most once a second, and every four seconds that the bot is typing; then the answer
    for (let second = 0, shown = ""; !turn.answer; await sleep(1000), second++) {
      const text = this.text(turn, true).slice(-3500);
      if (second % 4 === 0) await call("sendChatAction", { chat_id: this.id, action: "typing" }).catch(log);
      if (text !== shown && !turn.answer) await this.write(turn, (shown = text)).catch(log);
    }
    for (const page of pages(turn.answer)) await this.write(turn, page).catch(log), (turn.message = null);
    if (!this.turn) keep("open", this.id, undefined);
  }
  finish({ is_error, result, subtype }) {
    if (!this.turn) return;
    const mark = is_error ? "❌ " : "", last = (result || (mark && subtype) || "").trim(), text = this.text(this.turn, false);
    this.turn.answer = (text.includes(last) ? text : `${text}\n\n${mark}${last}`).trim() || "(The agent has nothing to say.)";
    this.turn = null;
    if (this.waiting.length) this.begin(this.waiting.shift());
  }
  async ask(id, { tool_name, input, tool_use_id, permission_suggestions: rules = [] }) { // all of it, in pages; the buttons are below the last one
    const asked = Object.entries({ ...this.turn?.inputs[tool_use_id], ...input }).map(([name, value]) => `${name}: ${masked(value)}`);
    const all = pages(`🔐 May ${tool_name} run?\n${asked.join("\n")}`), question = { input, rules, text: all.pop() };
    for (const page of all) await this.write({}, page);
    const inline_keyboard = [["Allow", ...(rules.length ? ["Always allow"] : []), "Deny"].map((text) => ({ text, callback_data: `${text.split(" ")[0]} ${id}` }))];
    await this.write(this.questions.set(id, question) && question, question.text, { reply_markup: { inline_keyboard } });
  }
  async close(id, how, { message_id, text } = {}) {
    const question = this.questions.get(id);
    if (!this.questions.delete(id)) return message_id && call("editMessageText", { chat_id: this.id, message_id, text: `${text}\n\nToo late: this question is closed.` });
    if (how === "Deny") this.reply(id, { behavior: "deny", message: "The person said no." });
    if (how === "Allow") this.reply(id, { behavior: "allow", updatedInput: question.input });
    if (how === "Always") this.reply(id, { behavior: "allow", updatedInput: question.input, updatedPermissions: question.rules });
    await this.write(question, `${question.text}\n\n${how}`);
  }
}
for (const [id, message] of Object.entries(stored.open)) await new Chat(+id).write({ message }, "⚠️ I was restarted in the middle of this. Please ask again.").then(() => keep("open", id, undefined), log);
for (let chats = {}, offset = 0; ; ) {
  for (const { update_id, message, callback_query: press } of await call("getUpdates", { offset, timeout: 50 })) {
    offset = update_id + 1;
    const id = (message ?? press?.message)?.chat.id, chat = (chats[id] ??= new Chat(id)), [how, question] = press?.data.split(" ") ?? [];
    if (press) Promise.all([chat.close(question, how, press.message), call("answerCallbackQuery", { callback_query_id: press.id })]).catch(log);
    const text = message?.text ?? message?.caption;
    if (message?.photo && (text || !message.media_group_id)) chat.write({}, "I can't see photos, only the words with them.").catch(log);
    if (text) chat.hear(text).catch(log);
  }
}
