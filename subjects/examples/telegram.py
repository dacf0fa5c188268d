#!/usr/bin/env python3
"""A Telegram gateway for `claude`: one process a message, a draft of text and tool lines, one answer in pages.
Environment: TELEGRAM_TOKEN, TELEGRAM_API (another base URL), CLAUDE_BIN. `--bug NAME` puts in a classic fault of bugs.py."""
import collections, concurrent.futures, html, http.client, json, os, re, subprocess, sys, threading, time, urllib.error, urllib.request

API = f"{os.environ.get('TELEGRAM_API', 'https://api.telegram.org').rstrip('/')}/bot{os.environ['TELEGRAM_TOKEN']}/"
STORE, lock = os.path.expanduser("~/.telegram-example.json"), threading.RLock()
CLAUDE = [os.environ.get("CLAUDE_BIN", "claude"), "--output-format", "stream-json", "--verbose", "--include-partial-messages"]

def call(method, **params):
    """Calls the Bot API until it is done. A new message whose reply is lost may be there, so it is not sent again."""
    request = urllib.request.Request(API + method, json.dumps(params).encode(), {"Content-Type": "application/json"})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=90) as answer: return json.load(answer)["result"]
        except urllib.error.HTTPError as error:
            problem = json.load(error) if error.code < 500 else {"description": str(error)}
            if "not modified" in problem["description"]: return True
            if error.code < 500 and error.code != 429: raise RuntimeError(problem["description"])
            time.sleep(problem.get("parameters", {}).get("retry_after", 1) + 0.1)
        except (OSError, http.client.HTTPException) as error:
            is_sent = not isinstance(getattr(error, "reason", error), ConnectionRefusedError)
            if method == "sendMessage" and is_sent: raise RuntimeError("the reply is lost")
            time.sleep(0.5)

def stored():
    """Returns what outlives a restart: the session of each chat, and the message of each turn that is open."""
    try:
        with open(STORE) as file: return json.load(file)
    except (OSError, ValueError): return {"sessions": {}, "open": {}}
def store(part, chat, value):
    with lock:
        (known := stored())[part][str(chat)] = value
        with open(STORE + ".new", "w") as file: json.dump(known, file)
        os.replace(STORE + ".new", STORE)
def tell_restarts():
    for chat, message in stored()["open"].items():
        method, edited = ("editMessageText", {"message_id": message}) if message else ("sendMessage", {})
        if message is not None: call(method, chat_id=int(chat), text="⚠️ I was restarted in the middle of this. Please ask again.", **edited)
        store("open", chat, None)

def pages(text, most=4096):  # code points, which Telegram counts
    while len(text) > most:
        page = text[:most]
        cut = page.rfind("\n") + 1 or page.rfind(" ") + 1 or most
        yield page[:cut]
        text = text[cut:]
    yield text
def whole(text): return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")  # halves of characters

class Turn:
    def __init__(self, chat):
        self.chat, self.message, self.shown, self.over = chat, None, "", threading.Event()
        self.parts, self.open, self.streamed, self.results = {}, set(), [], []
        self.process, self.stopped = None, False
    def stop(self):  # maybe before its claude was started
        self.stopped = True
        if self.process: self.process.terminate()
    def read(self, record):
        """Takes a line of claude's: text from the stream, tools from whole messages. Subagents are left out."""
        event, message = [value if isinstance(value := record.get(key), dict) else {} for key in ("event", "message")]
        if record.get("parent_tool_use_id"): return
        if event.get("type") == "message_start": self.streamed.append(event["message"].get("id"))
        if event.get("delta", {}).get("type") == "text_delta":
            key = (len(self.streamed), event["index"])
            self.parts[key] = self.parts.get(key, "") + event["delta"]["text"]
        for place, block in enumerate(message["content"] if isinstance(message.get("content"), list) else []):
            if block["type"].endswith("tool_use"): self.tool(block)
            if block["type"] == "tool_result": self.open.discard(block["tool_use_id"])
            if record["type"] == "assistant" and block["type"] == "text" and message.get("id") not in self.streamed:
                self.parts[(0, record.get("uuid", len(self.parts)), place)] = block["text"]  # a record may come twice
        if record.get("type") == "result": self.results.append(record)
    def tool(self, block):
        shown = next(map(str, block["input"].values()), "")  # a long word with digits may be a secret
        self.parts[block["id"]] = f"🔧 {block['name']} " + re.sub(r"(?=[^\s/]*\d)(?=[^\s/]*[A-Za-z])[^\s/]{12,}", "***", shown)[:100]
        self.open.add(block["id"])
    def draft(self, tools=True, between="\n\n"):
        parts = {key: whole(text).strip() for key, text in self.parts.items() if text.strip() and (tools or isinstance(key, tuple))}
        return between.join(text + (" (running…)" if key in self.open else "") for key, text in parts.items())
    def write(self, text):
        method, edited = ("editMessageText", {"message_id": self.message}) if self.message else ("sendMessage", {})
        sent = call(method, chat_id=self.chat, text=html.escape(text), parse_mode="HTML", **edited)
        self.message = self.message or sent["message_id"]  # the next page is a new message: nothing is returned
        if not self.over.is_set(): store("open", self.chat, self.message)
    def show(self, second=0):
        """Shows the draft at most once a second, and every four seconds that the bot is typing."""
        while not self.over.is_set():
            if second % 4 == 0: call("sendChatAction", chat_id=self.chat, action="typing")
            second += 1
            if not self.over.wait(1) and (text := self.draft()[-3500:]) != self.shown:
                self.shown = text
                self.write(text)
    def finish(self, code):
        answer = self.draft(tools=False)
        ended = "Stopped." if self.stopped else f"claude ended without an answer (exit code {code})."
        for result in self.results or [{"is_error": True, "result": ended}]:
            mark = "❌ " if result.get("is_error") else ""
            text = whole(result.get("result") or (mark and result["subtype"])).strip()
            if text not in answer: answer += f"\n\n{mark}{text}"
        for page in pages(answer.strip() or "(The agent has nothing to say.)"):
            self.message = self.write(page)

def begin(turn):
    store("open", turn.chat, 0)
    turn.shows = threading.Thread(target=turn.show, daemon=True)
    turn.shows.start()
    return turn
def end(turn, code=0):
    turn.over.set()
    turn.shows.join()
    turn.finish(code)
    store("open", turn.chat, None)

def answer(chat, prompt, turn=None):
    """Asks claude. A result ends a turn, not the process, which may live on and begin another turn of its own."""
    turn, session, known = turn or Turn(chat), stored()["sessions"].get(str(chat)), set()
    resume = ["--resume", session] if session else []
    process = turn.process = subprocess.Popen(CLAUDE + resume + ["-p", prompt], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8", errors="replace")
    begin(turn)
    if turn.stopped: turn.stop()
    for line in process.stdout:
        try: record = json.loads(line)
        except ValueError: continue
        message = (record.get("event") or record).get("message")
        named = message.get("id") if isinstance(message, dict) and not record.get("parent_tool_use_id") else None
        if not turn and named and named not in known: turn = begin(Turn(chat))
        known.add(named)
        if turn: turn.read(record)
        if (named := record.get("session_id") or session) != session: store("sessions", chat, session := named)
        if turn and turn.results: turn = end(turn)
    if turn and process.wait() and resume and not (turn.stopped or turn.streamed):  # the session is gone
        turn.over.set()
        store("sessions", chat, None)
        return answer(chat, prompt)
    if turn: end(turn, process.wait())

if __name__ == "__main__":
    if "--bug" in sys.argv: __import__("bugs").put_in(sys.argv[-1], sys.modules[__name__])
    tell_restarts()
    chats, turns, offset = collections.defaultdict(lambda: concurrent.futures.ThreadPoolExecutor(1)), collections.defaultdict(list), 0
    while True:
        for update in call("getUpdates", offset=offset, timeout=50):
            offset, message = update["update_id"] + 1, update.get("message") or {}
            chat, text = message.get("chat", {}).get("id"), message.get("text") or message.get("caption")
            if "photo" in message and (text or "media_group_id" not in message): call("sendMessage", chat_id=chat, text="I can't see photos, only the words with them.")
            if not text: continue
            turns[chat] = [turn for turn in turns[chat] if not turn.over.is_set()]
            if text == "/stop":
                for turn in turns[chat]: turn.stop()
                if not turns[chat]: call("sendMessage", chat_id=chat, text="Nothing is running.")
                continue
            turns[chat].append(Turn(chat))
            chats[chat].submit(answer, chat, text, turns[chat][-1])
