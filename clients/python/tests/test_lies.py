"""No answer of something in between is taken for the broker's or the host's (docs/protocol.md, "Whose answer it is").

The gateway at `lyingUrl` stands before a real broker and a real host, and tells the lies of internal/testenv/lies: POST /lie
says which one, to which requests and how often, and answers with its kind and the number of all.
"""

import json
import os
import unittest
import urllib.request
from typing import Any, Dict

from bellhop import Backoff, Bellhop, ForeignAnswer, NetworkError

with open(os.environ["BELLHOP_TEST_CONFIG"], encoding="utf-8") as file:
    CONFIG = json.load(file)


def tell(index: int, path: str, times: int) -> Dict[str, Any]:
    body = json.dumps({"index": index, "path": path, "times": times}).encode()
    with urllib.request.urlopen(CONFIG["lyingUrl"] + "/lie", body) as answer:
        told: Dict[str, Any] = json.load(answer)
    return told


class Lies(unittest.TestCase):
    def setUp(self) -> None:
        self.count: int = tell(0, "", 0)["count"]
        self.assertGreater(self.count, 100)
        self.bellhop = Bellhop(
            CONFIG["lyingUrl"], CONFIG["apiToken"], backoff=lambda: Backoff(first=0.001, most=0.002)
        )
        self.task = self.bellhop.create_task(title="lies", agent="demo", host_id=CONFIG["hostId"])["id"]
        self.bellhop.get_task(self.task)
        self.bellhop.get_me()

    def tearDown(self) -> None:
        tell(0, "", 0)

    def test_no_lie_is_an_answer_of_the_broker(self) -> None:
        calls = {
            "/api/tasks/" + self.task: lambda: self.bellhop.get_task(self.task),
            "/api/auth/me": self.bellhop.get_me,
        }
        for path, call in calls.items():
            for index in range(self.count):
                how = tell(index, path, 1)["how"]
                with self.subTest(path=path, index=index, how=how):
                    with self.assertRaises(NetworkError) as lost:
                        call()
                    if how != "close":
                        self.assertIsInstance(lost.exception, ForeignAnswer)
            call()

    def test_a_call_is_repeated_after_a_lie(self) -> None:
        for index in range(0, self.count, 10):
            tell(index, "/api/agent/attach", 1)
            with self.subTest(index=index):
                self.assertIsNone(self.bellhop.resume(self.task))

    def test_a_turn_goes_on_after_lies_of_its_stream(self) -> None:
        for index in range(0, self.count, 5):
            with self.subTest(index=index):
                turn = self.bellhop.prompt(self.task, "list")
                granted = turn.source.granted  # type: ignore[attr-defined]
                granted["streamUrl"] = CONFIG["lyingUrl"] + "/stream/" + self.task
                tell(index, "/stream/", 2)
                text = turn.text()
                self.assertEqual((turn.finish_reason, turn.reconnects), ("stop", 2), text)
                self.assertTrue(text)

    def test_a_broker_without_a_name_is_believed(self) -> None:
        unnamed = Bellhop(CONFIG["lyingUrl"], CONFIG["apiToken"])
        tell(0, "/api/auth/me", 1)
        with self.assertRaises(Exception) as refused:
            unnamed.get_me()
        self.assertNotIsInstance(refused.exception, ForeignAnswer)


if __name__ == "__main__":
    unittest.main()
