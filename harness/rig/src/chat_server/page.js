"use strict";
const part = (id) => document.getElementById(id);
let revision = 0;
// The chat that the address names after `#`, or the one that the server shows first.
let chosen = Number(location.hash.slice(1)) || null;
let typing = null;
let leaving = [];

// An element with classes and a text. Whatever a bot writes is text.
function made(tag, classes, text) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  if (text !== undefined && text !== null) element.textContent = String(text);
  return element;
}

async function post(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const said = await answer.json();
  part("problem").hidden = answer.ok;
  part("problem").textContent = answer.ok ? "" : said.error;
  return answer.ok;
}

function spans(message) {
  const text = made("div", "text");
  for (const span of message.spans) {
    const run = made("span", span.kinds, span.text);
    if (span.link) run.title = span.link;
    text.append(run);
  }
  return text;
}

// A draft goes by itself, so that it needs no further state.
function draft(shown, chat) {
  const element = made("div", "bubble bot draft");
  const topic = shown.topic === null ? "" : " · topic " + shown.topic;
  element.append(spans(shown), made("span", "meta", "draft" + topic));
  if (shown.can_stop) {
    const row = made("div", "row");
    const button = made("button", "", "Stop");
    button.addEventListener("click", () => post("/person/stop", { chat, topic: shown.topic }));
    row.append(button);
    element.append(row);
  }
  leaving.push(setTimeout(() => element.remove(), shown.left_ms));
  return element;
}

function bubble(message, all, chat) {
  const element = made("div", "bubble " + message.from);
  const answered = all.find((other) => other.message_id === message.reply_to);
  if (answered) element.append(made("span", "quote", answered.text || answered.file));
  if (message.file) element.append(made("div", "", "📎 " + message.file));
  element.append(spans(message));
  const marks = ["#" + message.number];
  if (message.topic) marks.push("topic " + message.topic);
  if (message.album) marks.push("album of #" + message.album);
  if (message.edited) marks.push("edited");
  if (message.reactions.length) marks.push(message.reactions.join(" "));
  element.append(made("span", "meta", marks.join(" · ")));
  for (const labels of message.buttons) {
    const row = made("div", "row");
    for (const label of labels) {
      const button = made("button", "", label);
      button.addEventListener("click", () =>
        post("/person/press", { chat, message_id: message.message_id, label }));
      row.append(button);
    }
    element.append(row);
  }
  return element;
}

function call(entry) {
  const item = made("li");
  item.append(made("span", "at", (entry.at / 1000).toFixed(2) + " s"));
  item.append(made("span", "kind", entry.kind));
  if (entry.message_id) item.append(" #" + entry.message_id);
  if (entry.took_ms !== null) item.append(made("span", "took", " " + entry.took_ms + " ms"));
  if (entry.text) item.append(made("span", "said", " " + entry.text.slice(0, 80)));
  if (entry.problem) item.append(made("div", "problem", entry.problem));
  return item;
}

function draw(state) {
  const words = state.ready ? "the bot is connected" : "no bot has asked for updates yet";
  part("status").textContent = words;
  part("chats").replaceChildren(...state.chats.map((chat) => {
    const button = made("button", "", chat.title + " (" + chat.messages + ")");
    if (state.chat && state.chat.chat === chat.id) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => {
      chosen = chat.id;
      location.hash = chat.id;
      revision = 0;
      ask();
    });
    return button;
  }));
  const shown = state.chat;
  if (!shown) return;
  chosen = chosen ?? shown.chat;
  const list = part("messages");
  const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  const bubbles = shown.messages.map((message) => bubble(message, shown.messages, shown.chat));
  leaving.forEach(clearTimeout);
  leaving = [];
  bubbles.push(...shown.drafts.map((one) => draft(one, shown.chat)));
  list.replaceChildren(...bubbles);
  if (isAtEnd) list.scrollTop = list.scrollHeight;
  part("typing").hidden = !shown.typing;
  clearTimeout(typing);
  if (shown.typing) typing = setTimeout(() => { part("typing").hidden = true; }, shown.typing_ms);
  part("calls").replaceChildren(...shown.calls.map(call));
}

// One request is under way at a time; one that was replaced is not drawn.
let asked = 0;
async function ask() {
  const number = ++asked;
  while (number === asked) {
    try {
      const chat = chosen === null ? "" : "&chat=" + chosen;
      const answer = await fetch("/person/state?since=" + revision + chat);
      const state = await answer.json();
      if (number !== asked) return;
      revision = state.revision;
      draw(state);
    } catch {
      part("status").textContent = "the server does not answer";
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
}

part("say").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = part("text").value;
  if (await post("/person/say", { chat: chosen ?? 1000, text })) part("text").value = "";
});
const first = JSON.parse(document.body.dataset.state);
if (chosen === null || (first.chat && first.chat.chat === chosen)) {
  revision = first.revision;
  draw(first);
}
ask();
