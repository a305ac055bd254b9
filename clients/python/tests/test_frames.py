"""The reader of event streams, without a server."""

import io
import unittest

from bellhop import Backoff, BellhopError, Frame, NetworkError, StreamLost, read_frames, text_of


def frames(text: str):
    return list(read_frames(io.BytesIO(text.encode()).readline))


class Frames(unittest.TestCase):
    def test_a_frame_has_an_event_data_and_an_id(self) -> None:
        self.assertEqual(frames("id: 1-2\nevent: message\ndata: {}\n\n"), [Frame("message", "{}", "1-2")])

    def test_comments_and_unknown_fields_are_ignored(self) -> None:
        self.assertEqual(frames(": ping\n\nretry: 5\ndata:x\n\n"), [Frame("message", "x", None)])

    def test_lines_of_data_are_joined(self) -> None:
        self.assertEqual(frames("data: a\r\ndata: b\r\n\r\n"), [Frame("message", "a\nb", None)])

    def test_an_id_belongs_to_its_frame_only(self) -> None:
        self.assertEqual(frames("id: 1\ndata: a\n\ndata: b\n\n"), [Frame("message", "a", "1"), Frame("message", "b", None)])

    def test_an_incomplete_frame_is_dropped(self) -> None:
        self.assertEqual(frames("data: a\n\nid: 2\ndata: b\n"), [Frame("message", "a", None)])
        self.assertEqual(frames("data: a\n\ndata: b"), [Frame("message", "a", None)])

    def test_an_id_with_nul_is_ignored(self) -> None:
        self.assertEqual(frames("id: a\0b\ndata: x\n\n"), [Frame("message", "x", None)])


class Texts(unittest.TestCase):
    def test_a_gap_drops_the_parts_so_far(self) -> None:
        parts = [
            {"type": "text-delta", "text": "lost"},
            {"type": "data-resume", "data": {"verdict": "gap"}},
            {"type": "text-delta", "text": "whole"},
            {"type": "data-resume", "data": {"verdict": "ok"}},
            {"type": "text-delta", "text": " text"},
        ]
        self.assertEqual(text_of(parts), "whole text")


class Delays(unittest.TestCase):
    def test_delays_grow_to_a_limit_and_end(self) -> None:
        slept = []
        backoff = Backoff(attempts=12, first=1, most=8, sleep=slept.append)
        for _ in range(11):
            backoff.wait(NetworkError("gone"))
        with self.assertRaises(StreamLost):
            backoff.wait(NetworkError("gone"))
        self.assertEqual(len(slept), 11)
        for i, delay in enumerate(slept):
            longest = min(8, 2**i)
            self.assertTrue(longest / 2 <= delay <= longest, (i, delay))

    def test_a_server_may_ask_for_a_longer_delay(self) -> None:
        slept = []
        backoff = Backoff(sleep=slept.append)
        backoff.wait(BellhopError(503, {"error": "full", "code": "unavailable"}, retry_after=7))
        self.assertEqual(slept, [7])


if __name__ == "__main__":
    unittest.main()
