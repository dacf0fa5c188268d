"""A bot that calls the Bot API with httpx."""
import httpx
from claude import TOKEN, poll

def call(method, **parameters):
    url = f"https://api.telegram.org/bot{TOKEN}/{method}"
    return httpx.post(url, json=parameters, timeout=60).json()

poll(call)
