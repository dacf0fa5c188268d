"""The official Python SDK as a parser: stream-json on stdin or in files, lifecycle entries on stdout.

Needs `pip install claude-agent-sdk`. The bytes go through the SDK's own framer and parser of messages.
"""

import codecs
import json
import os
import sys

from claude_agent_sdk import CLIJSONDecodeError
from claude_agent_sdk import types as sdk
from claude_agent_sdk._internal.message_parser import parse_message
from claude_agent_sdk._internal.transport.subprocess_cli import _LineFramer, _parse_stdout_line


def entry(kind, /, **data):
    print(json.dumps({"at": 0, "lane": "lifecycle", "kind": kind, "data": data}))


def tell(message):
    """Prints what the SDK's message says, in the words of the lifecycle lane."""
    if isinstance(message, sdk.SystemMessage) and message.subtype == "init":
        entry("session", session_id=message.data.get("session_id"))
    elif isinstance(message, sdk.StreamEvent):
        delta = message.event.get("delta", {})
        if delta.get("type") == "text_delta" and message.parent_tool_use_id is None:
            entry("text", delta=delta["text"])
    elif isinstance(message, (sdk.AssistantMessage, sdk.UserMessage)):
        for block in message.content if isinstance(message.content, list) else []:
            if isinstance(block, (sdk.ToolUseBlock, sdk.ServerToolUseBlock)):
                entry("tool_start", id=block.id, name=block.name, args=block.input)
            elif isinstance(block, sdk.ToolResultBlock):
                entry("tool_result", id=block.tool_use_id, is_error=bool(block.is_error))
            elif isinstance(block, sdk.TextBlock) and isinstance(message, sdk.AssistantMessage) and message.parent_tool_use_id:
                entry("text", delta=block.text)  # a subagent's messages come whole
    elif isinstance(message, sdk.ResultMessage):
        entry("outcome", status="error" if message.is_error else "ok", text=message.result)


def read(line):
    """Reads a line as the SDK does; true if it is the end of a recording."""
    data = _parse_stdout_line(line)
    kind = "control_" if data is None else data.get("type", "")
    if kind == "clitape_end":
        return True
    if not kind.startswith("control_"):  # the SDK's client answers these; its parser never sees them
        tell(parse_message(data))
    return False


def failed(error):
    entry("diagnostic", kind=type(error).__name__, detail=str(error)[:200])


def read_stdin():
    """Reads one recording after the other, and goes on after a line that ends the SDK's own stream."""
    framer = _LineFramer()
    while chunk := os.read(sys.stdin.fileno(), 65536):
        for line in framer.push(decoder.decode(chunk)):
            try:
                if read(line):
                    print()  # all of this recording was read
            except Exception as error:
                failed(error)
        sys.stdout.flush()
    try:
        read(framer.flush())
    except Exception as error:
        failed(error)


def read_file(path):
    """Reads a file as the SDK reads a process: the first error ends it, and half a record at the end is left out."""
    framer = _LineFramer()
    decoder.reset()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(65536):
                for line in framer.push(decoder.decode(chunk)):
                    read(line)
        tail = framer.flush()
        try:
            read(tail)
        except CLIJSONDecodeError:
            pass
    except Exception as error:
        failed(error)
    print()


decoder = codecs.getincrementaldecoder("utf-8")("strict")  # as the SDK's text stream decodes
for path in sys.argv[1:]:
    read_file(path)
if not sys.argv[1:]:
    read_stdin()
