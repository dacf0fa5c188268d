"""Runs `claude` for the bots in Python of this folder."""
import json, os, subprocess

TOKEN = os.environ["TELEGRAM_TOKEN"]

def answer(prompt):
    """Returns the answer to a prompt."""
    command = [os.environ.get("CLAUDE_BIN", "claude"), "-p", prompt, "--output-format", "stream-json", "--verbose"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8", errors="replace")
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    results = [record["result"] for record in records if record.get("type") == "result"]
    return results[-1] if results else f"claude ended without an answer (exit code {done.returncode})."

def poll(call):
    """Answers all messages, with calls of the Bot API that a client of HTTP makes."""
    offset = 0
    while True:
        for update in call("getUpdates", offset=offset, timeout=20)["result"]:
            offset, message = update["update_id"] + 1, update.get("message", {})
            if "text" in message:
                call("sendMessage", chat_id=message["chat"]["id"], text=answer(message["text"]))
