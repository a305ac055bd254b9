#!/usr/bin/env python3
"""One turn with Python's standard library: check in, stream from the agent host, answer questions.

    bellhop dev &
    python3 chat.py .bellhop/dev.json 'write hello.txt: hi'

A cut stream is resumed after the last part that arrived.
"""

import contextlib
import http.client
import json
import sys
import time
import urllib.error
import urllib.request

SILENCE = 30  # seconds; a stream sends a comment every 10
ENDS = {"finish", "abort", "error"}


def request(url, token, body=None):
    """Opens a URL: POST with a body, else GET. Raises an error that shows the server's hint."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        return urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=SILENCE)
    except urllib.error.HTTPError as failure:
        with contextlib.suppress(ValueError):  # a proxy's error page is no JSON
            answer = json.load(failure)
            failure.msg = f"{answer.get('error')} {answer.get('hint', '')}"
        raise


def parts(turn, prompt):
    """Yields the parts of a turn. It resumes until the turn has ended."""
    url, token, last = turn["streamUrl"], turn["streamToken"], ""
    while True:
        try:
            opened = request(f"{url}?after={last}", token) if last else request(url, token, {"prompt": prompt})
            with opened as stream:
                for line in stream:
                    name, _, value = line.decode().rstrip("\n").partition(": ")
                    if name == "id":
                        last = value
                    elif name == "data":
                        part = json.loads(value)
                        yield part
                        if part["type"] in ENDS:
                            return
        except urllib.error.HTTPError:
            raise
        except (OSError, http.client.HTTPException):
            pass
        print("\n(the stream was cut; resuming)", file=sys.stderr)
        time.sleep(0.5)


def answer(broker, token, interaction, body):
    """Answers a question. The broker waits for it if the stream was faster than the host's webhook."""
    request(f"{broker}/api/interactions/{interaction}", token, body).close()


def main(file, message):
    with open(file, encoding="utf-8") as dev:
        config = json.load(dev)
    broker, token = config["brokerUrl"], config["apiToken"]
    with request(f"{broker}/api/tasks", token, {"title": message}) as created:
        task = json.load(created)["id"]
    with request(f"{broker}/api/agent", token, {"taskId": task, "message": message}) as opened:
        turn = json.load(opened)
    for part in parts(turn, message):
        kind = part["type"]
        if kind == "text-delta":
            print(part["text"], end="", flush=True)
        elif kind == "tool-call":
            print(f"\n→ {part['toolName']} {json.dumps(part['input'])}")
        elif kind == "tool-approval-request":
            approved = input("Allow it? [y/N] ").strip() == "y"
            answer(broker, token, part["approvalId"], {"approved": approved})
        elif kind == "data-ask":
            answer(broker, token, part["id"], {"text": input(part["data"]["prompt"] + " ")})
        elif kind == "finish":
            print(f"\n({part['finishReason']})")


if __name__ == "__main__":
    main(*(sys.argv[1:] + [".bellhop/dev.json", "help"][len(sys.argv) - 1 :]))
