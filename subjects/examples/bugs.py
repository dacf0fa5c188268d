"""The classic faults of gateways, each put into the right gateway of telegram.py by `--bug NAME`.

A fault replaces one or two functions of the module. tests/commands/examples_of_gateways.rs names the rule that convicts each,
tests/commands/subjects.rs that of `one-for-all`, `per-read`, `give-up`, `late-answer`, `forgets-turns`, `drops-pending`, `no-offset`,
`drops-second`, `forgets-sessions`, `first-session`, `one-session`, `last-of-burst`, `early-stop`, `no-captions`, `each-photo`,
`edits-crash` and `quotes-only`.
"""
import html, json, os, subprocess, threading, time, types, urllib.request

def silent_tools(gateway):
    """Tool calls are read from a field that this CLI does not have: none is ever shown."""
    gateway.Turn.tool = lambda turn, block: None

def args_empty(gateway):
    """A tool is shown with the input of its first event, which is always `{}`."""
    tool = gateway.Turn.tool
    def first(turn, block):
        tool(turn, block)
        turn.parts[block["id"]] = f"🔧 {block['name']} {{}}"
    gateway.Turn.tool = first

def late_edit(gateway):
    """The throttle's last draft goes out after the final message and overwrites it."""
    finish = gateway.Turn.finish
    def late(turn, code):
        draft, message = turn.draft()[:200], turn.message
        finish(turn, code)
        time.sleep(1.5)
        turn.message = message
        if message: turn.write(draft)
    gateway.Turn.finish = late

def answer_twice(gateway):
    """The answer is a new message, and a reply that takes long is taken for a lost message, which is sent again."""
    finish, write = gateway.Turn.finish, gateway.Turn.write
    def impatient(turn, text):
        body = {"chat_id": turn.chat, "text": html.escape(text), "parse_mode": "HTML"}
        data = json.dumps(body).encode()
        request = urllib.request.Request(gateway.API + "sendMessage", data, {"Content-Type": "application/json"})
        try: urllib.request.urlopen(request, timeout=0.01).close()
        except OSError: gateway.call("sendMessage", **body)
    def again(turn, code):
        draft, turn.write = turn.message, types.MethodType(impatient, turn)
        finish(turn, code)
        if draft: gateway.call("deleteMessage", chat_id=turn.chat, message_id=draft)
    gateway.Turn.finish = again

def blank(gateway):
    """The draft is deleted some seconds before the final message is sent."""
    finish = gateway.Turn.finish
    def delete_first(turn, code):
        if turn.message: gateway.call("deleteMessage", chat_id=turn.chat, message_id=turn.message)
        turn.message = time.sleep(4)
        finish(turn, code)
    gateway.Turn.finish = delete_first

def glued(gateway):
    """The texts of several messages are joined as they come."""
    draft = gateway.Turn.draft
    gateway.Turn.draft = lambda turn, tools=False: draft(turn, tools=False, between="")

def no_escape(gateway):
    """Text is sent as HTML without escaping."""
    gateway.html = types.SimpleNamespace(escape=lambda text: text)

def too_long(gateway):
    """A long answer is sent in one message."""
    gateway.pages = lambda text: [text]

def ignore_429(gateway):
    """A call that the server put off is made again at once."""
    sleep = time.sleep
    gateway.time = types.SimpleNamespace(sleep=lambda seconds: sleep(min(seconds, 0.4)))

def running_left(gateway):
    """The lines of tools that were never told to be done stay in the final message."""
    draft = gateway.Turn.draft
    def never_done(turn, tools=True):
        turn.open = {key for key in turn.parts if isinstance(key, str)}
        return draft(turn)
    gateway.Turn.draft = never_done

def draft_left(gateway):
    """The answer is a new message, and nobody deletes the draft."""
    finish = gateway.Turn.finish
    def new_message(turn, code):
        turn.message = None
        finish(turn, code)
    gateway.Turn.finish = new_message

def typing_left(gateway):
    """The loop of the typing signal does not end with the turn."""
    finish = gateway.Turn.finish
    def type_on(turn, code):
        finish(turn, code)
        while True: gateway.call("sendChatAction", chat_id=turn.chat, action="typing"), time.sleep(2)
    gateway.Turn.finish = type_on

def hang_after_kill(gateway):
    """The gateway waits for a result that never comes if claude is killed."""
    finish = gateway.Turn.finish
    gateway.Turn.finish = lambda turn, code: finish(turn, code) if turn.results else threading.Event().wait()

def crash(gateway):
    """An unknown record ends the gateway."""
    read = gateway.Turn.read
    def fragile(turn, record):
        read(turn, record)
        if record.get("type") == "result": os._exit(1)
    gateway.Turn.read = fragile

def one_for_all(gateway):
    """The parts of a turn are a variable of the module, so that all chats share them."""
    begin, parts = gateway.Turn.__init__, {}
    def share(turn, chat):
        begin(turn, chat)
        turn.parts = parts
    gateway.Turn.__init__ = share

def per_read(gateway):
    """Each read of the pipe is taken for whole lines; what is no JSON then is dropped."""
    def popen(*command, encoding, errors, **options):
        process = subprocess.Popen(*command, **options)
        reads = iter(lambda: os.read(process.stdout.fileno(), 1 << 16), b"")
        lines = (line for read in reads for line in read.decode(encoding, errors).splitlines())
        return types.SimpleNamespace(stdout=lines, wait=process.wait)
    gateway.subprocess = types.SimpleNamespace(Popen=popen, DEVNULL=subprocess.DEVNULL, PIPE=subprocess.PIPE)

def give_up(gateway):
    """An error of the Bot API is swallowed, a 429 too: the text is never sent."""
    def once(method, **params):
        request = urllib.request.Request(gateway.API + method, json.dumps(params).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=90) as answer: return json.load(answer)["result"]
        except OSError: return {"message_id": params.get("message_id")}
    gateway.call = once

def failed_anyway(gateway):
    """Every answer is told as a failure."""
    draft = gateway.Turn.draft
    gateway.Turn.draft = lambda turn, tools=True, **form: ("" if tools else "❌ The run failed:\n\n") + draft(turn, tools, **form)

def thoughts(gateway):
    """Reasoning is taken for text."""
    read = gateway.Turn.read
    def all_deltas(turn, record):
        delta = (record.get("event") or {}).get("delta") or {}
        if delta.get("type") == "thinking_delta": delta.update(type="text_delta", text=delta["thinking"])
        read(turn, record)
    gateway.Turn.read = all_deltas

def subagents(gateway):
    """Nobody looks at `parent_tool_use_id`: what a subagent says is in the answer."""
    read = gateway.Turn.read
    def everybody(turn, record):
        if record.get("type") != "user": record = {**record, "parent_tool_use_id": None}
        read(turn, record)
    gateway.Turn.read = everybody

def trimmed(gateway):
    """Each delta is trimmed."""
    read = gateway.Turn.read
    def strip(turn, record):
        delta = (record.get("event") or {}).get("delta") or {}
        if delta.get("type") == "text_delta": delta["text"] = delta["text"].strip()
        read(turn, record)
    gateway.Turn.read = strip

def raw_records(gateway):
    """Where no result came, the last line of stdout is the answer."""
    read = gateway.Turn.read
    def keep(turn, record):
        read(turn, record)
        turn.last = json.dumps(record, separators=(",", ":"))
    finish = gateway.Turn.finish
    def raw(turn, code):
        if not turn.results: turn.parts[(0, "raw")] = turn.last
        finish(turn, code)
    gateway.Turn.read, gateway.Turn.finish = keep, raw

def all_done(gateway):
    """A call that has a result gets the sign of success, whatever the result says."""
    draft = gateway.Turn.draft
    gateway.Turn.draft = lambda turn, *args, **form: draft(turn, *args, **form).replace("🔧", "✅" if not turn.open else "🔧")

def forgets_turns(gateway):
    """What was under way when it was killed is forgotten."""
    gateway.tell_restarts = lambda: None

def drops_pending(gateway):
    """Updates that came while it was down are thrown away at the start."""
    for update in gateway.call("getUpdates", offset=-1): gateway.call("getUpdates", offset=update["update_id"] + 1)

def no_offset(gateway):
    """Updates are never acknowledged; which ones are done is known in memory alone."""
    call, seen = gateway.call, set()
    def fresh(method, **params):
        if method != "getUpdates": return call(method, **params)
        updates = [update for update in call(method, offset=0, timeout=1) if update["update_id"] not in seen]
        seen.update(update["update_id"] for update in updates)
        time.sleep(0.2)
        return updates
    gateway.call = fresh

def drops_second(gateway):
    """A message that comes during a turn is dropped without a word."""
    class Busy(gateway.concurrent.futures.ThreadPoolExecutor):
        def submit(self, *work):
            if not getattr(self, "last", None) or self.last.done(): self.last = super().submit(*work)
    gateway.concurrent.futures.ThreadPoolExecutor = Busy

def forgets_sessions(gateway):
    """Each message begins a new session."""
    stored = gateway.stored
    gateway.stored = lambda: {**stored(), "sessions": {}}

def first_session(gateway):
    """Each message goes on with a fork of the first session of the chat."""
    def fork(command, **options): return subprocess.Popen(command + ["--fork-session"] * ("--resume" in command), **options)
    gateway.subprocess = types.SimpleNamespace(Popen=fork, DEVNULL=subprocess.DEVNULL, PIPE=subprocess.PIPE)
    store = gateway.store
    def first(part, chat, value):
        if part != "sessions" or not gateway.stored()[part].get(str(chat)): store(part, chat, value)
    gateway.store = first

def one_session(gateway):
    """The session is a variable of the module, so that all chats share it."""
    stored, store = gateway.stored, gateway.store
    class Shared(dict):
        def get(self, chat): return super().get("0")
    gateway.stored = lambda: {**stored(), "sessions": Shared(stored()["sessions"])}
    gateway.store = lambda part, chat, value: store(part, 0 if part == "sessions" else chat, value)

def late_answer(gateway):
    """The draft has the tools alone, and the answer waits for the end of the process."""
    read, finish, draft = gateway.Turn.read, gateway.Turn.finish, gateway.Turn.draft
    def hold(turn, record):
        read(turn, record)
        turn.held, turn.results = getattr(turn, "held", []) + turn.results, []
    def last(turn, code):
        turn.results = turn.held
        finish(turn, code)
    gateway.Turn.read, gateway.Turn.finish = hold, last
    def tools_only(turn): return "\n".join(text for key, text in list(turn.parts.items()) if isinstance(key, str))
    gateway.Turn.draft = lambda turn, tools=True, **form: tools_only(turn) if tools else draft(turn, tools, **form)

def early_stop(gateway):
    """It looks something up before it starts claude, and a stop that comes meanwhile is forgotten."""
    answer = gateway.answer
    def later(*work): time.sleep(0.5), answer(*work)
    def stop(turn):
        if turn.process: turn.process.terminate()
    gateway.answer, gateway.Turn.stop = later, stop

def with_messages(gateway, change):
    """Changes each message of an update before the gateway reads it."""
    call = gateway.call
    def changed(method, **params):
        result = call(method, **params)
        for update in result if method == "getUpdates" else []: change(update)
        return result
    gateway.call = changed

def no_captions(gateway):
    """The words of a photo are not read."""
    with_messages(gateway, lambda update: [update.get("message", {}).pop(key, None) for key in ("caption", "photo")])

def each_photo(gateway):
    """Each photo of an album is a prompt."""
    def change(update):
        if "photo" in (message := update.get("message", {})): message["text"] = message.get("caption", "Look at this photo.")
    with_messages(gateway, change)

def edits_crash(gateway):
    """Every update is taken for a message."""
    with_messages(gateway, lambda update: update["message"]["chat"])

def quotes_only(gateway):
    """Of a reply, the message that it answers becomes the prompt."""
    def change(update):
        message = update.get("message", {})
        if answered := message.get("reply_to_message"): message["text"] = answered["text"]
    with_messages(gateway, change)

def last_of_burst(gateway):
    """Of messages that come within half a second, the last one alone is the prompt."""
    class Debounced(gateway.concurrent.futures.ThreadPoolExecutor):
        def submit(self, *work):
            self.newest = work
            def later():
                time.sleep(0.5)
                if self.newest is work: super(Debounced, self).submit(*work)
            threading.Thread(target=later, daemon=True).start()
    gateway.concurrent.futures.ThreadPoolExecutor = Debounced

def done_anyway(gateway):
    """The end of stdout counts as success, with a result or without."""
    finish = gateway.Turn.finish
    def done(turn, code):
        turn.results = turn.results or [{"result": "✅ Done"}]
        finish(turn, code)
    gateway.Turn.finish = done

def errors_dropped(gateway):
    """Nobody looks at `is_error`: what has streamed is the answer."""
    finish = gateway.Turn.finish
    def drop(turn, code):
        turn.results = [{"result": result.get("result", "")} for result in turn.results]
        finish(turn, code)
    gateway.Turn.finish = drop

def status_left(gateway):
    """The status at the start is a message of its own, and nobody deletes it."""
    begin = gateway.Turn.__init__
    def say(turn, chat):
        begin(turn, chat)
        gateway.call("sendMessage", chat_id=chat, text="<i>Running Claude...</i>", parse_mode="HTML")
    gateway.Turn.__init__ = say

def open_draft(gateway):
    """Progress comes by `sendMessageDraft`, in which secrets are not masked."""
    write, finish = gateway.Turn.write, gateway.Turn.finish
    def tool(turn, block): turn.parts[block["id"]] = f"🔧 {block['name']} " + next(map(str, block["input"].values()), "")
    def draft(turn, text): gateway.call("sendMessageDraft", chat_id=turn.chat, draft_id=1, text=text)
    def last(turn, code):
        turn.write = types.MethodType(write, turn)
        finish(turn, code)
    gateway.Turn.tool, gateway.Turn.write, gateway.Turn.finish = tool, draft, last

def one_input(gateway):
    """The line of a tool is kept by the name of the tool, so that the next call has the first one's."""
    tool, lines = gateway.Turn.tool, {}
    def kept(turn, block):
        tool(turn, block)
        turn.parts[block["id"]] = lines.setdefault(block["name"], turn.parts[block["id"]])
    gateway.Turn.tool = kept

def first_delta(gateway):
    """The line of a tool stays at what the first delta of its input had."""
    tool = gateway.Turn.tool
    def first(turn, block):
        tool(turn, block)
        turn.parts[block["id"]] = f"🔧 {block['name']} " + json.dumps(block["input"])[:11]
    gateway.Turn.tool = first

def collapsed(gateway):
    """Runs of white space become a blank."""
    pages = gateway.pages
    gateway.pages = lambda text: pages(" ".join(text.split()))

def put_in(name, gateway):
    globals()[name.replace("-", "_")](gateway)
