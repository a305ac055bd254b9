"""The Python client as a program: it reads calls from stdin, one JSON object a line, and writes their results to stdout.

The cases are those of internal/e2e/clients_test.go, which runs them with the other clients too.
"""

import json
import sys
from typing import Any, Dict, List, Optional

from bellhop import Bellhop, BellhopError, NetworkError, Part, Turn

Call = Dict[str, Any]


class Driver:
    def __init__(self) -> None:
        self.client = Bellhop("http://127.0.0.1:1")
        self.relay = False
        self.turn: Optional[Turn] = None

    def open(self, call: Call) -> None:
        self.client = Bellhop(call["url"], call["token"])
        self.relay = call.get("relay", False)

    def request(self, call: Call) -> Any:
        return self.client.call(call["method"], call["path"], body=call.get("body"))

    def create(self, call: Call) -> Any:
        return self.client.create_task(title=call["title"], agent="demo", host_id=call["hostId"])

    def messages(self, call: Call) -> Any:
        return self.client.list_messages(call["taskId"], turn=call["turnId"], wait="30s")

    def prompt(self, call: Call) -> Any:
        self.turn = self.client.prompt(
            call["taskId"], call["message"], message_id=call.get("messageId"), relay=self.relay
        )
        return {"turnId": self.turn.turn_id}

    def resume(self, call: Call) -> Any:
        self.turn = self.client.resume(call["taskId"], relay=self.relay)
        return self.turn and {"turnId": self.turn.turn_id}

    def read(self, call: Call) -> Any:
        """Reads the turn to its end, or to a text; answers what it asks."""
        turn = self.turn
        assert turn is not None
        parts: List[Part] = []
        stopped = False
        for part in turn:
            parts.append(part)
            if part["type"] == "tool-approval-request":
                answer = self.client.allow if call["approve"] else self.client.deny
                answer(part["approvalId"])
            elif part["type"] == "data-ask":
                self.client.respond_to(part["id"], text=call["text"])
            elif part["type"] == "text-delta":
                if call.get("leave"):
                    break
                if call.get("interrupt") and not stopped:
                    stopped = True
                    turn.interrupt()
        return {"parts": parts, "reconnects": turn.reconnects}

    def answer(self, call: Call) -> Any:
        return self.client.respond_to(call["id"], approved=call["approved"])


def run(driver: Driver, call: Call) -> Call:
    try:
        return {"ok": getattr(driver, call["do"])(call)}
    except BellhopError as refused:
        return {"error": {"status": refused.status, "code": refused.code, "hint": refused.hint, "message": refused.message}}
    except NetworkError as lost:
        return {"error": {"network": str(lost)}}


def main() -> None:
    driver = Driver()
    for line in sys.stdin:
        print(json.dumps(run(driver, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
