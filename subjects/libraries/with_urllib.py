"""A bot that calls the Bot API with the standard library."""
import json, urllib.request
from claude import TOKEN, poll

def call(method, **parameters):
    url = f"https://api.telegram.org/bot{TOKEN}/{method}"
    request = urllib.request.Request(url, json.dumps(parameters).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)

poll(call)
