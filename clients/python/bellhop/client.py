"""Clients of a broker and of an agent host."""

from __future__ import annotations

import json
import os
import ssl
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, TypeVar

from . import broker, host
from ._http import SILENCE, BellhopError, NetworkError, Response, Server, element, send
from ._stream import Backoff, Source, Turn, read_frames

T = TypeVar("T")

# How often a request is repeated that a person waits for.
RETRIES = 4


def new_id() -> str:
    """A random id of 128 bits."""
    return os.urandom(16).hex()


class Bellhop(broker.Routes):
    """A client of the broker, for one user.

    Sign in with an API token (`Bellhop(url, token)`) or with `sign_in_with`. Beside the methods below it has one for each
    route, such as `list_tasks` or `get_task`; each raises BellhopError if the broker refuses, and NetworkError if it
    cannot be reached.
    """

    def __init__(
        self,
        url: str,
        token: Optional[str] = None,
        *,
        timeout: float = SILENCE,
        context: Optional[ssl.SSLContext] = None,
        backoff: Callable[[], Backoff] = Backoff,
    ) -> None:
        super().__init__(url, token, timeout=timeout, context=context)
        self.backoff = backoff

    @classmethod
    def from_dev(cls, directory: str = ".bellhop") -> "Bellhop":
        """A client of the broker that `bellhop dev` runs with this data directory."""
        with open(os.path.join(directory, "dev.json"), encoding="utf-8") as file:
            config = json.load(file)
        return cls(config["brokerUrl"], config["apiToken"])

    def sign_in_with(self, email: str, password: str, code: Optional[str] = None) -> "broker.User":
        """Signs in. The session's cookie is in memory only; `sign_out` ends it."""
        self.token = None
        return self.sign_in(email=email, password=password, code=code or "")["user"]

    def prompt(
        self,
        task_id: str,
        message: str,
        *,
        message_id: Optional[str] = None,
        artifacts: Optional[List["broker.ArtifactInput"]] = None,
        attachments: Optional[List["broker.Attachment"]] = None,
        when_busy: Optional[str] = None,
        permission_mode: Optional["broker.PermissionMode"] = None,
        relay: bool = False,
        on_reconnect: Optional[Callable[[Exception], None]] = None,
    ) -> Turn:
        """Sends a message. The turn starts when its parts are read.

        A lost answer is asked for again under the same message id, so the message is stored once.
        """
        body: Dict[str, Any] = {"taskId": task_id, "message": message, "messageId": message_id or new_id()}
        for name, value in (("artifacts", artifacts), ("permissionMode", permission_mode), ("reach", relay and "relay")):
            if value:
                body[name] = value
        opening: Dict[str, Any] = {"prompt": message}
        for name, value in (("attachments", attachments), ("whenBusy", when_busy)):
            if value:
                opening[name] = value
        granted = self.repeat(lambda: self.call("POST", "/api/agent", body=body))
        source = _BrokerSource(self, task_id, granted, body, opening)
        return Turn(source, backoff=self.backoff(), on_reconnect=on_reconnect)

    def resume(self, task_id: str, *, relay: bool = False) -> Optional[Turn]:
        """The task's open turn from its start; None if there is none."""
        body = {"taskId": task_id, **({"reach": "relay"} if relay else {})}
        granted = self.repeat(lambda: self.call("POST", "/api/agent/attach", body=body))
        if granted.get("streamCursor") is None:
            return None
        granted["turnId"] = self.get_task(task_id).get("openTurn") or ""
        return Turn(_BrokerSource(self, task_id, granted, body, None), cursor=granted["streamCursor"], backoff=self.backoff())

    def allow(self, interaction_id: str, *, remember: bool = False) -> "broker.Interaction":
        """Allows what a `tool-approval-request` part asks for; its approvalId is the interaction."""
        return self.respond_to(interaction_id, approved=True, **({"remember": "session"} if remember else {}))

    def deny(self, interaction_id: str, reason: str = "") -> "broker.Interaction":
        """Denies what a `tool-approval-request` part asks for."""
        return self.respond_to(interaction_id, approved=False, **({"reason": reason} if reason else {}))

    def respond_to(self, interaction_id: str, **answer: Any) -> "broker.Interaction":
        """Answers a question. The stream may show it before the broker knows it, so a 404 is repeated."""
        path = "/api/interactions/" + element(interaction_id)
        found: broker.Interaction = self.repeat(lambda: self.call("POST", path, body=answer), also=(404,))
        return found

    def follow_task_events(self, task_id: str) -> Iterator["tuple[str, Any]"]:
        """Yields (event, data) for each change of a task, without end. After `reset`, read the task again."""
        return self._follow("/api/tasks/" + element(task_id) + "/events")

    def follow_events(self) -> Iterator["tuple[str, Any]"]:
        """Yields (event, data) for changes of all tasks of the user, without end."""
        return self._follow("/api/events")

    def _follow(self, path: str) -> Iterator["tuple[str, Any]"]:
        last: Optional[str] = None
        backoff = self.backoff()
        while True:
            failure: Exception = NetworkError("The feed ended")
            try:
                with self.open("GET", path, headers={"Last-Event-ID": last} if last else None) as answer:
                    for frame in read_frames(answer.readline):
                        last = frame.id or last
                        backoff.failures = 0
                        yield frame.event, json.loads(frame.data)
            except BellhopError as refused:
                if refused.is_final:
                    raise
                failure = refused
            except NetworkError as lost:
                failure = lost
            backoff.wait(failure)

    def repeat(self, call: Callable[[], T], also: "tuple[int, ...]" = ()) -> T:
        """Repeats a call that can be repeated while the broker cannot be reached, or asks for it."""
        backoff = Backoff(RETRIES)
        while True:
            try:
                return call()
            except BellhopError as refused:
                # A 502 with a code is from the broker: the agent host failed, and the user should see that at once.
                if refused.status not in also and (refused.is_final or refused.status == 502 and refused.code):
                    raise
                backoff.wait(refused)
            except NetworkError as lost:
                backoff.wait(lost)


class _BrokerSource(Source):
    """The stream of a turn that the broker announced."""

    def __init__(
        self,
        client: Bellhop,
        task_id: str,
        granted: Dict[str, Any],
        body: Mapping[str, Any],
        opening: Optional[Mapping[str, Any]],
    ) -> None:
        self.client = client
        self.task_id = task_id
        self.granted = granted
        self.body = body
        self.opening = opening
        self.reported = False

    @property
    def turn_id(self) -> str:  # type: ignore[override]
        return str(self.granted.get("turnId") or "")

    @property
    def is_basic(self) -> bool:
        """Whether the host knows only the basic flow: it takes its token in the query and cannot resume."""
        return not self.granted.get("capabilities")

    @property
    def can_resume(self) -> bool:  # type: ignore[override]
        return not self.is_basic

    def _url(self) -> str:
        if self.granted.get("reach") == "relay":  # at this client's address, which may differ from the public one
            return self.client.url + "/api/agent/stream/" + element(self.task_id)
        return str(self.granted["streamUrl"])

    def connect(self, cursor: Optional[str]) -> Response:
        url, headers = self._url(), {}
        if self.is_basic:
            url += ("&" if "?" in url else "?") + "token=" + element(self.granted["streamToken"])
        else:
            headers["Authorization"] = "Bearer " + str(self.granted["streamToken"])
        if cursor:
            headers["Last-Event-ID"] = cursor
        # A second POST of a turn continues it, so a lost first answer does no harm.
        method, body = ("POST", self.opening) if self.opening is not None else ("GET", None)
        silence = 15 * 60.0 if self.is_basic else self.client.timeout
        return send(method, url, body, headers, silence, self.client.context, self._is_own)

    def _is_own(self, answer: Response, repeats: bool) -> bool:
        if self.granted.get("reach") == "relay":
            return self.client.is_own(answer, repeats)
        return repeats or "named-answers" not in (self.granted.get("capabilities") or ())

    def renew(self, cursor: Optional[str]) -> None:
        if cursor is None and self.opening is not None:
            path, body = "/api/agent", self.body
        else:  # the turn has started: attaching is enough, and cannot prompt
            path, body, self.opening = "/api/agent/attach", {"taskId": self.task_id}, None
            if self.granted.get("reach") == "relay":
                body = {**body, "reach": "relay"}
        self.granted.update(self.client.repeat(lambda: self.client.call("POST", path, body=body)))

    def is_over(self, has_begun: bool) -> bool:
        if self.is_basic:
            self.ended("stop")
        return self.is_basic

    def ended(self, finish_reason: str) -> None:
        if self.is_basic and not self.reported:
            self.reported = True
            try:
                self.client.call("POST", "/api/agent/finish", body={
                    "taskId": self.task_id, "turnId": self.turn_id, "finishReason": finish_reason,
                })
            except (BellhopError, NetworkError):
                pass  # the next check-in ends the turn

    def interrupt(self) -> None:
        self.client.interrupt(task_id=self.task_id)


class Host(host.Routes):
    """A client of an agent host without a broker, with the agent password: for scripts on the host's own network."""

    def __init__(
        self,
        url: str,
        password: Optional[str] = None,
        *,
        timeout: float = SILENCE,
        context: Optional[ssl.SSLContext] = None,
        backoff: Callable[[], Backoff] = Backoff,
    ) -> None:
        super().__init__(url, password, timeout=timeout, context=context)
        self.backoff = backoff

    def prompt(self, session_id: str, token: str, prompt: str, *, when_busy: Optional[str] = None) -> Turn:
        """Starts a turn of a session that `create_session` returned. It starts when its parts are read."""
        opening = {"prompt": prompt, **({"whenBusy": when_busy} if when_busy else {})}
        return Turn(_HostSource(self, session_id, token, opening), backoff=self.backoff())


class _HostSource(Source):
    """The stream of a turn of a session without a broker. Each POST begins a turn, so only a GET continues it."""

    def __init__(self, client: Host, session_id: str, token: str, opening: Mapping[str, Any]) -> None:
        self.client = client
        self.session_id = session_id
        self.token = token
        self.opening: Optional[Mapping[str, Any]] = opening

    def connect(self, cursor: Optional[str]) -> Response:
        headers = {"Authorization": "Bearer " + self.token}
        if cursor:
            headers["Last-Event-ID"] = cursor
        opening, self.opening = self.opening, None
        url = self.client.url + "/stream/" + element(self.session_id)
        method = "GET" if opening is None else "POST"
        return send(method, url, opening, headers, self.client.timeout, self.client.context, self.client.is_own)

    def renew(self, cursor: Optional[str]) -> None:
        self.token = self.client.create_session(session_id=self.session_id)["token"]

    def interrupt(self) -> None:
        self.client.call("POST", "/session/" + element(self.session_id) + "/interrupt")
