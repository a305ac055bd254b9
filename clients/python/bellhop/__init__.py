"""Client of Bellhop, a session broker for remote coding agents. It needs only Python's standard library.

`Bellhop` is a client of the broker, `Host` of an agent host without a broker. Their methods, and the types in
`bellhop.broker` and `bellhop.host`, are generated from the OpenAPI documents.
"""

from ._http import BellhopError, ForeignAnswer, NetworkError, Response
from ._stream import Backoff, Frame, Part, StreamLost, Turn, read_frames, text_of
from .client import Bellhop, Host

__all__ = [
    "Backoff",
    "Bellhop",
    "BellhopError",
    "ForeignAnswer",
    "Frame",
    "Host",
    "NetworkError",
    "Part",
    "Response",
    "StreamLost",
    "Turn",
    "read_frames",
    "text_of",
]
