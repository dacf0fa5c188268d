#!/usr/bin/env python3
"""An agent of the Agent Client Protocol for `claude`: one live process a session, whose lines become updates of an editor.
Environment: CLAUDE_BIN. `--bug NAME` puts in a classic fault: answer-twice, end-lost, wrong-stop, runs-unasked, asks-blind, late-text."""
import json, os, subprocess, sys, threading, time, uuid

CLAUDE = [os.environ.get("CLAUDE_BIN", "claude"), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--permission-prompt-tool", "stdio"]
BUG = sys.argv[-1] if "--bug" in sys.argv else ""
OPTIONS = [{"optionId": "allow", "name": "Allow", "kind": "allow_once"}, {"optionId": "deny", "name": "Deny", "kind": "reject_once"}]
lock = threading.Lock()

def send(**message):
    with lock: print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

class Session:
    def __init__(self, folder):
        self.id, self.prompt_id, self.cancelled, self.streamed, self.asked, self.inputs = str(uuid.uuid4()), None, False, set(), {}, {}
        self.claude = subprocess.Popen(CLAUDE + ["--session-id", self.id], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", errors="replace")
        threading.Thread(target=self.read, daemon=True).start()
    def write(self, **record): print(json.dumps(record), file=self.claude.stdin, flush=True)
    def update(self, kind, **data): send(method="session/update", params={"sessionId": self.id, "update": {"sessionUpdate": kind, **data}})
    def say(self, text): self.update("agent_message_chunk", content={"type": "text", "text": text})
    def end(self, call, status): self.update("tool_call_update", toolCallId=call, status=status, **self.inputs.pop(call, {}))
    def prompt(self, prompt_id, blocks):
        self.prompt_id, self.cancelled = prompt_id, False
        text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
        self.write(type="user", session_id=self.id, parent_tool_use_id=None, message={"role": "user", "content": text})
    def cancel(self):
        self.cancelled = True
        self.write(type="control_request", request_id=str(uuid.uuid4()), request={"subtype": "interrupt"})
    def finish(self, **outcome):
        prompt_id, self.prompt_id = self.prompt_id, None
        if prompt_id is not None: send(id=prompt_id, **outcome)
    def read(self):
        for line in self.claude.stdout:
            try: self.take(json.loads(line))
            except ValueError: continue
        self.finish(error={"code": -32603, "message": "claude ended without an answer"})
    def take(self, record):
        event, message = [value if isinstance(value := record.get(key), dict) else {} for key in ("event", "message")]
        if record.get("parent_tool_use_id"): return
        if record["type"] == "control_request" and record["request"]["subtype"] == "can_use_tool": self.ask(record)
        if event.get("type") == "message_start": self.streamed.add(event["message"]["id"])
        if event.get("delta", {}).get("type") == "text_delta": self.say(event["delta"]["text"])
        for block in message["content"] if isinstance(message.get("content"), list) else []:
            if block["type"] == "text" and record["type"] == "assistant" and message["id"] not in self.streamed: self.say(block["text"])
            if block["type"] == "tool_use":
                shown = {"rawInput": block["input"]}
                if BUG == "asks-blind": self.inputs[block["id"]], shown = shown, {}
                self.update("tool_call", toolCallId=block["id"], title=block["name"], status="pending", **shown)
            if block["type"] == "tool_result" and BUG != "end-lost": self.end(block["tool_use_id"], "failed" if block.get("is_error") else "completed")
        if record["type"] == "result":
            failed = record.get("is_error") and not self.cancelled
            if BUG == "answer-twice": self.say(record["result"])
            stop = "cancelled" if self.cancelled and BUG != "wrong-stop" else "end_turn"
            self.finish(**({"error": {"code": -32603, "message": str(record.get("result"))}} if failed else {"result": {"stopReason": stop}}))
            if BUG == "late-text": time.sleep(0.2); self.say("One more word.")
    def ask(self, record):
        request = record["request"]
        self.asked[record["request_id"]] = request
        if BUG == "runs-unasked": self.end(request["tool_use_id"], "in_progress")
        tool = {"toolCallId": request["tool_use_id"], "title": request["tool_name"]} | ({} if BUG == "asks-blind" else {"rawInput": request["input"]})
        send(id=record["request_id"], method="session/request_permission", params={"sessionId": self.id, "toolCall": tool, "options": OPTIONS})
    def answer(self, request_id, outcome):
        request = self.asked.pop(request_id)
        allows = outcome.get("optionId") == "allow"
        answer = {"behavior": "allow", "updatedInput": request["input"]} if allows else {"behavior": "deny", "message": "The person said no."}
        self.write(type="control_response", response={"subtype": "success", "request_id": request_id, "response": {**answer, "toolUseID": request["tool_use_id"]}})

sessions = {}
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if method == "initialize": send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
    elif method == "session/new":
        session = Session(params["cwd"])
        sessions[session.id] = session
        send(id=message["id"], result={"sessionId": session.id})
    elif method == "session/prompt": sessions[params["sessionId"]].prompt(message["id"], params["prompt"])
    elif method == "session/cancel": sessions[params["sessionId"]].cancel()
    elif method is None:
        for session in sessions.values():
            if message["id"] in session.asked: session.answer(message["id"], message["result"]["outcome"])
    elif "id" in message: send(id=message["id"], error={"code": -32601, "message": "no such method"})
