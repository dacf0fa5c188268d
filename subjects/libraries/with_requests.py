"""A bot that calls the Bot API with requests."""
import requests
from claude import TOKEN, poll

def call(method, **parameters):
    url = f"https://api.telegram.org/bot{TOKEN}/{method}"
    return requests.post(url, json=parameters, timeout=60).json()

poll(call)
