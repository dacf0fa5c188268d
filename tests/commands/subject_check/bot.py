"""A gateway that does one thing wrong, or nothing, as its variables say."""

import json
import os
import subprocess
import sys
import time
import urllib.request

TOKEN = os.environ["TELEGRAM_TOKEN"]
API = os.environ.get("TELEGRAM_API", "http://127.0.0.1:9")
CLAUDE = os.environ.get("CLAUDE_BIN", "claude")
ALLOWED = os.environ.get("ALLOWED", "")
MODE = os.environ.get("MODE", "")


def call(method, **fields):
    body = json.dumps(fields).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{API}/bot{TOKEN}/{method}", body, headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["result"]


def send(chat, text, **more):
    call("sendMessage", chat_id=chat, text=text, **more)


def ask_claude(prompt):
    command = [CLAUDE, "-p", prompt, "--output-format", "stream-json", "--verbose"]
    if MODE == "no verbose":
        command.remove("--verbose")
    if MODE == "writes nothing":
        command[2:3] = ["--input-format", "stream-json"]
        subprocess.Popen(command, stdin=subprocess.PIPE).wait()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    results = [record["result"] for record in records if record["type"] == "result"]
    return results[-1] if results else f"Error: {done.stderr}"


def answer(chat, text, sessions):
    if ALLOWED and str(chat) not in ALLOWED.split(","):
        if MODE != "ignores":
            send(chat, f"Unauthorized. Your chat ID is: {chat} &amp; no other", parse_mode="HTML")
    elif MODE == "session" and text.startswith("/new "):
        sessions.add(chat)
        send(chat, "It is ready.")
    elif MODE == "session" and chat not in sessions:
        send(chat, "No active session. Use /new <name> first.")
    elif MODE == "echo":
        send(chat, "You said something.")
    elif MODE == "ends":
        sys.exit("the database is locked")
    else:
        sessions.add(chat)
        try:
            said = ask_claude("Hello." if MODE == "own prompt" else text)
            is_tired = MODE == "tired" or MODE == "tires" and len(sessions) > 1
            send(chat, "I am tired." if is_tired else said)
        except OSError as error:
            send(chat, f"Something is wrong: {error}")


def main():
    if MODE == "prompts":
        print("config.json not found\nFix this now? (y/n):", end=" ", flush=True)
        while sys.stdin.readline() != "y":
            pass
    if MODE == "slow":
        begin = time.monotonic()
        while time.monotonic() < begin + 12:
            pass
    offset, sessions = 0, set()
    while True:
        try:
            updates = call("getUpdates", offset=offset, timeout=20)
        except OSError as error:
            if MODE == "gives up":
                sys.exit(f"no updates: {error}")
            print("again:", error, TOKEN, flush=True)
            time.sleep(1)
            continue
        for update in updates:
            offset = update["update_id"] + 1
            message = update["message"]
            answer(message["chat"]["id"], message["text"], sessions)


main()
