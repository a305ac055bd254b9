"""Requests with the standard library: one connection for each request, errors with the server's code and hint."""

from __future__ import annotations

import http.client
import http.cookies
import json
import os
import ssl
from typing import Any, Callable, Dict, Mapping, Optional
from urllib.parse import quote, urlencode, urlsplit

# A stream sends a comment every 10 seconds; silence for three times as long is a lost connection.
SILENCE = 30.0


class BellhopError(Exception):
    """A server refused a request. Programs read `code` and `status`, people `message` and `hint`."""

    def __init__(self, status: int, body: Any, retry_after: Optional[float] = None) -> None:
        members: Mapping[str, Any] = body if isinstance(body, dict) else {}
        self.status = status
        self.code: str = str(members.get("code", ""))
        self.message: str = str(members.get("error", "")) or "The server answered %d" % status
        self.hint: str = str(members.get("hint", ""))
        self.body = members
        self.retry_after = retry_after
        super().__init__(self.message + (" " + self.hint if self.hint else ""))

    @property
    def is_final(self) -> bool:
        """Whether the same request would be refused again."""
        return 400 <= self.status < 500 and self.status not in (408, 429)


class NetworkError(OSError):
    """A server could not be reached, or the connection broke."""


class ForeignAnswer(NetworkError):
    """Something in between, such as a gateway, answered instead of the server. The request may have arrived."""

    def __init__(self, status: int, retry_after: Optional[float] = None) -> None:
        self.status = status
        self.retry_after = retry_after
        super().__init__("something other than Bellhop answered, with status %d" % status)


class Response:
    """An answer whose body is read by its user. Close it, or use it as a context manager."""

    def __init__(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._answer = answer
        self.status: int = answer.status
        self.headers = answer.headers

    def read(self) -> bytes:
        """Reads the whole body."""
        try:
            return self._answer.read()
        except (OSError, http.client.HTTPException) as failure:
            raise NetworkError(str(failure) or type(failure).__name__) from failure

    def readline(self) -> bytes:
        """Reads a line with its end, or b"" at the end of the body."""
        try:
            return self._answer.readline()
        except (OSError, http.client.HTTPException, ValueError) as failure:
            raise NetworkError(str(failure) or type(failure).__name__) from failure

    def close(self) -> None:
        """Closes the connection, also while the body is incomplete."""
        self._answer.close()
        self._connection.close()

    def __enter__(self) -> "Response":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Server:
    """Sends requests to one server. Methods of clients are generated on top of it."""

    def __init__(
        self, url: str, token: Optional[str] = None, *, timeout: float = SILENCE, context: Optional[ssl.SSLContext] = None
    ) -> None:
        self.url = url.rstrip("/")
        self.token = token
        self.timeout = timeout
        self.context = context
        self.headers: Dict[str, str] = {}
        self.cookies: Dict[str, str] = {}
        self.names_itself = False  # an answer had a broker's name, and so have all
        _address(self.url)

    def __repr__(self) -> str:
        return "%s(%r)" % (type(self).__name__, self.url)  # without the token

    def call(
        self, method: str, path: str, *, query: Optional[Mapping[str, Any]] = None, body: Any = None, text: bool = False
    ) -> Any:
        """Sends a request and returns its answer: decoded JSON, None for an empty body, or a str if `text`."""
        with self.open(method, path, query=query, body=body) as answer:
            raw = answer.read()
        if text:
            return raw.decode()
        return json.loads(raw) if raw else None

    def open(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        body: Any = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Response:
        """Sends a request and returns its answer, whose body is not read yet. Raises BellhopError for a refusal."""
        always = dict(self.headers)
        if self.token:
            always["Authorization"] = "Bearer " + self.token
        if self.cookies:
            always["Cookie"] = "; ".join("%s=%s" % pair for pair in self.cookies.items())
        always.update(headers or {})
        answer = send(method, self.url + path + _query(query), body, always, self.timeout, self.context, self.is_own)
        self._keep_cookies(answer)
        return answer

    def is_own(self, answer: Response, repeats: bool) -> bool:
        """Whether an answer is the broker's own to its request, whose name it `repeats` or not."""
        named = bool(answer.headers.get("Bellhop-Broker"))
        self.names_itself = self.names_itself or named
        return not self.names_itself or named and repeats

    def _keep_cookies(self, answer: Response) -> None:
        for line in answer.headers.get_all("Set-Cookie") or []:
            jar: http.cookies.SimpleCookie = http.cookies.SimpleCookie(line)
            for name, morsel in jar.items():
                if morsel.value and morsel["max-age"] != "0":
                    self.cookies[name] = morsel.value
                else:
                    self.cookies.pop(name, None)


def send(
    method: str,
    url: str,
    body: Any,
    headers: Mapping[str, str],
    timeout: float,
    context: Optional[ssl.SSLContext],
    is_own: Callable[[Response, bool], bool],
) -> Response:
    """Sends a request. It follows no redirect: no route of the servers has one.

    `is_own` is asked about the answer, and whether that repeats the request's name (docs/protocol.md, "Whose answer it is").
    """
    scheme, host, port, target = _address(url)
    data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
    name = os.urandom(16).hex()
    all_headers = {"Accept": "*/*", **headers, "Bellhop-Request": name}
    if data is not None:
        all_headers["Content-Type"] = "application/json"
    connection: http.client.HTTPConnection
    if scheme == "https":
        connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        connection.request(method, target, data, all_headers)
        answer = Response(connection, connection.getresponse())
    except (OSError, http.client.HTTPException) as failure:
        connection.close()
        raise NetworkError("%s://%s:%s cannot be reached: %s" % (scheme, host, port, failure)) from failure
    if not is_own(answer, answer.headers.get("Bellhop-Request") == name):
        with answer:
            raise ForeignAnswer(answer.status, _retry_after(answer))
    if answer.status >= 300:
        with answer:
            raise refusal(answer)
    return answer


def refusal(answer: Response) -> BellhopError:
    """The error that an answer stands for. A proxy's page is no JSON."""
    try:
        body = json.loads(answer.read())
    except (ValueError, NetworkError):
        body = None
    return BellhopError(answer.status, body, _retry_after(answer))


def _retry_after(answer: Response) -> Optional[float]:
    wait = answer.headers.get("Retry-After", "")
    return float(wait) if wait.isdigit() else None


def _address(url: str) -> "tuple[str, str, int, str]":
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("The URL must be http://… or https://…")  # without the URL, which may have a token
    target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80), target


def _query(query: Optional[Mapping[str, Any]]) -> str:
    pairs = [(name, _word(value)) for name, value in (query or {}).items() if value is not None]
    return "?" + urlencode(pairs) if pairs else ""


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def element(value: Any) -> str:
    """Writes a value as one element of a path."""
    return quote(str(value), safe="")


def members(values: Mapping[str, Any]) -> Dict[str, Any]:
    """The members of a body: those that are not None."""
    return {name: value for name, value in values.items() if value is not None}
