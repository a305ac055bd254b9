"""Streams: frames of server-sent events, and turns whose stream continues on another connection when it is cut."""

from __future__ import annotations

import json
import random
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional

from ._http import BellhopError, ForeignAnswer, NetworkError, Response

Part = Dict[str, Any]

ENDS = ("finish", "abort", "error")


class Frame(NamedTuple):
    """One frame of an event stream. `id` is None for a frame without one."""

    event: str
    data: str
    id: Optional[str]


class StreamLost(NetworkError):
    """A stream was cut, and no attempt to continue it made progress."""


class Backoff:
    """Delays between attempts: doubled from one to the next, and partly random."""

    def __init__(
        self, attempts: int = 10, first: float = 0.25, most: float = 30.0, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.attempts = attempts
        self.first = first
        self.most = most
        self.failures = 0
        self._sleep = sleep

    def wait(self, failure: Exception) -> None:
        """Waits before the next attempt. Raises `failure` if no attempt is left."""
        self.failures += 1
        if self.failures >= self.attempts:
            if isinstance(failure, BellhopError):
                raise failure
            raise StreamLost(str(failure)) from failure
        delay = min(self.most, self.first * 2 ** (self.failures - 1)) * random.uniform(0.5, 1)
        if isinstance(failure, BellhopError) and failure.retry_after:
            delay = max(delay, failure.retry_after)
        elif isinstance(failure, ForeignAnswer) and failure.retry_after:
            delay = max(delay, min(self.most, failure.retry_after))
        self._sleep(delay)


def read_frames(lines: Callable[[], bytes]) -> Iterator[Frame]:
    """Yields the frames of a stream. `lines` returns one line with its end, b"" at the end of the stream.

    An incomplete frame at the end is dropped, because a cut stream may have lost its rest.
    """
    event, data, last, has_id = "", [], None, False
    while True:
        raw = lines()
        if not raw or not raw.endswith(b"\n"):
            return
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            if data:
                yield Frame(event or "message", "\n".join(data), last if has_id else None)
            event, data, has_id = "", [], False
            continue
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            data.append(value)
        elif name == "event":
            event = value
        elif name == "id" and "\0" not in value:
            last, has_id = value, True


def text_of(parts: Iterable[Part]) -> str:
    """The text that the agent wrote in parts. A replay after a gap begins again."""
    texts: List[str] = []
    for part in parts:
        if part["type"] == "text-delta":
            texts.append(part["text"])
        elif part["type"] == "data-resume" and part["data"]["verdict"] == "gap":
            texts.clear()
    return "".join(texts)


class Turn:
    """One turn of an agent. Iterate over its parts, once each, to its end: a cut stream is continued.

    After a `data-resume` part with the verdict `gap`, drop the parts so far: the turn is replayed from its start.
    Leaving the iteration detaches, and does not stop the agent; `interrupt` does.
    """

    def __init__(
        self,
        source: "Source",
        *,
        cursor: Optional[str] = None,
        backoff: Optional[Backoff] = None,
        on_reconnect: Optional[Callable[[Exception], None]] = None,
    ) -> None:
        self.source = source
        self.cursor = cursor  # stream id of the newest part
        self.finish_reason: Optional[str] = None  # how the turn ended; None until then
        self.reconnects = 0
        self._backoff = backoff or Backoff()
        self._on_reconnect = on_reconnect
        self._renewed = False

    @property
    def turn_id(self) -> str:
        """The id of the turn; "" until it is known."""
        return self.source.turn_id

    def __iter__(self) -> Iterator[Part]:
        while True:
            try:
                answer = self.source.connect(self.cursor)
                with answer:
                    if answer.status == 204:
                        if self.cursor is None:
                            raise StreamLost("The turn is over, and none of its parts arrived")
                        return
                    yield from self._read(answer)
                if self.finish_reason is not None or self.source.is_over(self.cursor is not None):
                    return
                failure: Exception = NetworkError("The stream ended before its turn")
            except BellhopError as refused:
                if refused.status == 401 and not self._renewed:
                    self._renewed = True
                    self.source.renew(self.cursor)
                    continue
                if refused.is_final or not self.source.can_resume:
                    if self.cursor is None and refused.is_final:
                        self.source.ended("error")  # the turn never began, and a basic host does not report that
                    raise
                failure = refused
            except NetworkError as lost:
                if isinstance(lost, StreamLost) or not self.source.can_resume:
                    raise
                failure = lost
            self._backoff.wait(failure)
            self.reconnects += 1
            if self._on_reconnect:
                self._on_reconnect(failure)

    def _read(self, answer: Response) -> Iterator[Part]:
        for frame in read_frames(answer.readline):
            if frame.event != "message" or not frame.data.startswith("{"):
                continue
            part: Part = json.loads(frame.data)
            self._renewed = False
            if frame.id:
                # Only frames with an id are progress: a host that greets and disconnects each time fails in the end.
                self.cursor, self._backoff.failures = frame.id, 0
            if part["type"] in ENDS:
                self.finish_reason = _reason(part)
                self.source.ended(self.finish_reason)
            yield part
            if self.finish_reason is not None:
                return

    def text(self) -> str:
        """Reads the turn to its end and returns the text that the agent wrote."""
        return text_of(self)

    def interrupt(self) -> None:
        """Stops the turn; returns when the agent has stopped."""
        self.source.interrupt()


def _reason(part: Part) -> str:
    if part["type"] == "finish":
        return str(part.get("finishReason") or "stop")
    return "error" if part["type"] == "error" else "other"


class Source:
    """Where a turn comes from: the connections that `Turn` reads, one after the other."""

    turn_id = ""
    can_resume = True

    def connect(self, cursor: Optional[str]) -> Response:
        """Opens the stream behind a cursor; without one, the turn begins."""
        raise NotImplementedError

    def renew(self, cursor: Optional[str]) -> None:
        """Gets another stream token."""
        raise NotImplementedError

    def is_over(self, has_begun: bool) -> bool:
        """Whether a stream that ended without an end of its turn is over all the same."""
        return False

    def ended(self, finish_reason: str) -> None:
        """The turn has ended."""

    def interrupt(self) -> None:
        """Stops the turn."""
        raise NotImplementedError
