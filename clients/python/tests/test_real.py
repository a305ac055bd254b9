"""The client against a real broker and a real host. TestThePythonClient of internal/e2e starts them and runs this file.

BELLHOP_TEST_CONFIG names a file with their addresses and credentials. The connections to the host's streams are cut
after 2,500 bytes each.
"""

import json
import os
import unittest

from bellhop import Bellhop, BellhopError, Host, NetworkError, text_of

with open(os.environ["BELLHOP_TEST_CONFIG"], encoding="utf-8") as file:
    CONFIG = json.load(file)


def counted(upto: int) -> str:
    return " ".join(str(n) for n in range(1, upto + 1))


class Broker(unittest.TestCase):
    def setUp(self) -> None:
        self.bellhop = Bellhop(CONFIG["brokerUrl"], CONFIG["apiToken"])

    def task(self, title: str) -> str:
        return self.bellhop.create_task(title=title, agent="demo", host_id=CONFIG["hostId"])["id"]

    def test_a_turn_whose_stream_is_cut_arrives_once_and_whole(self) -> None:
        task = self.task("cut")
        failures = []
        turn = self.bellhop.prompt(task, "slow 80", on_reconnect=failures.append)
        parts = list(turn)
        self.assertGreater(turn.reconnects, 1)
        self.assertEqual(len(failures), turn.reconnects)
        self.assertIn(counted(80), text_of(parts))
        self.assertEqual(turn.finish_reason, "stop")
        self.assertEqual([p["type"] for p in parts if p["type"] == "finish"], ["finish"])
        verdicts = {p["data"]["verdict"] for p in parts if p["type"] == "data-resume"}
        self.assertEqual(verdicts, {"ok"})
        history = self.bellhop.list_messages(task, turn=turn.turn_id, wait="20s")
        events = [p["event"]["id"] for p in parts if p["type"] == "text-end"]
        self.assertEqual([m["eventId"] for m in history["messages"] if m["role"] == "ASSISTANT"], events)
        self.assertEqual(history["messages"][0]["message"], "slow 80")

    def test_a_message_is_stored_once_however_often_it_is_sent(self) -> None:
        task = self.task("repeated")
        first = self.bellhop.prompt(task, "list", message_id="m-1")
        again = self.bellhop.prompt(task, "list", message_id="m-1")
        self.assertEqual(first.turn_id, again.turn_id)
        self.assertEqual(first.text(), again.text())
        with self.assertRaises(BellhopError) as refused:
            self.bellhop.prompt(task, "another", message_id="m-1")
        self.assertEqual((refused.exception.status, refused.exception.code), (409, "conflict"))

    def test_a_permission_is_allowed_and_denied(self) -> None:
        for allow in (True, False):
            task = self.task("permission")
            answered = 0
            turn = self.bellhop.prompt(task, "write a.txt: hi")
            for part in turn:
                if part["type"] == "tool-approval-request":
                    answered += 1
                    answer = self.bellhop.allow if allow else self.bellhop.deny
                    self.assertEqual(answer(part["approvalId"])["state"], "resolved")
            self.assertEqual(answered, 1)
            self.bellhop.list_messages(task, turn=turn.turn_id, wait="20s")
            diff = self.bellhop.create_diff(task_id=task)
            files = [a["content"]["files"] for a in diff["message"]["artifacts"]] if "message" in diff else []
            self.assertEqual([f["path"] for f in sum(files, [])], ["a.txt"] if allow else [])

    def test_another_client_finds_the_open_turn_and_stops_it(self) -> None:
        task = self.task("open")
        other = Bellhop(CONFIG["brokerUrl"], CONFIG["apiToken"])
        self.assertIsNone(other.resume(task))
        turn = self.bellhop.prompt(task, "slow 5000")
        for part in turn:
            if part["type"] == "text-delta":
                break
        found = other.resume(task)
        assert found is not None
        self.assertEqual(found.turn_id, turn.turn_id)
        ended = False
        for part in found:
            if part["type"] == "text-delta" and not ended:
                ended = True
                found.interrupt()
        self.assertTrue(ended)
        self.assertEqual(found.finish_reason, "other")
        self.assertIsNone(other.resume(task))

    def test_the_relay_gives_the_same_parts(self) -> None:
        turn = self.bellhop.prompt(self.task("relayed"), "slow 20", relay=True)
        self.assertIn(counted(20), turn.text())
        self.assertEqual(turn.reconnects, 0)

    def test_feeds_report_changes(self) -> None:
        task = self.task("feed")
        feed = self.bellhop.follow_task_events(task)
        self.assertEqual(next(feed)[0], "hello")
        self.bellhop.prompt(task, "list").text()
        for event, data in feed:
            if event == "message" and data["role"] == "ASSISTANT":
                break
        feed.close()
        own = self.bellhop.follow_events()
        event, data = next(own)
        own.close()
        self.assertEqual(event, "hello")
        self.assertIn(task, [t["taskId"] for t in data["tasks"]])

    def test_sign_in_by_password(self) -> None:
        browser = Bellhop(CONFIG["brokerUrl"])
        with self.assertRaises(BellhopError) as refused:
            browser.sign_in_with(CONFIG["email"], "wrong")
        self.assertEqual((refused.exception.status, refused.exception.code), (401, "unauthorized"))
        user = browser.sign_in_with(CONFIG["email"], CONFIG["password"])
        self.assertEqual(user["email"], CONFIG["email"])
        made = browser.create_token(name="by password", scopes=["tasks:read"], expires_at=soon())
        reader = Bellhop(CONFIG["brokerUrl"], made["token"])
        self.assertEqual(reader.get_me()["user"]["id"], user["id"])
        with self.assertRaises(BellhopError) as refused:
            reader.create_task(title="not allowed")
        self.assertEqual((refused.exception.status, refused.exception.code), (403, "forbidden"))
        self.assertIn("tasks:write", refused.exception.message)
        browser.sign_out()
        with self.assertRaises(BellhopError):
            browser.get_me()
        self.assertNotIn(made["token"], repr(reader))

    def test_errors_have_code_and_hint(self) -> None:
        with self.assertRaises(BellhopError) as refused:
            self.bellhop.get_task("no-such-task")
        self.assertEqual((refused.exception.status, refused.exception.code), (404, "not_found"))
        with self.assertRaises(BellhopError) as refused:
            self.bellhop.prompt(self.task("empty"), "")
        self.assertEqual(refused.exception.hint, "It may be empty only beside an artifact")
        nobody = Bellhop("http://127.0.0.1:1", "bhp_x")
        with self.assertRaises(NetworkError):
            nobody.get_me()
        with self.assertRaises(ValueError):
            Bellhop("ftp://example.com")

    def test_paths_and_queries_are_escaped(self) -> None:
        with self.assertRaises(BellhopError) as refused:
            self.bellhop.get_task("../users?x=1#y/ä")
        self.assertEqual(refused.exception.status, 404)
        self.task("Bärenfell & Söhne = ?")
        found = self.bellhop.list_tasks(q="bärenfell & söhne", limit=5)["tasks"]
        self.assertEqual([t["title"] for t in found], ["Bärenfell & Söhne = ?"])


def soon() -> str:
    import datetime

    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).isoformat()


class AgentHost(unittest.TestCase):
    def setUp(self) -> None:
        self.host = Host(CONFIG["hostUrl"], CONFIG["hostPassword"])

    def test_a_session_without_a_broker(self) -> None:
        session = self.host.create_session(agent="demo")
        streams = Host(CONFIG["streamUrl"], CONFIG["hostPassword"])
        turn = streams.prompt(session["session_id"], session["token"], "slow 80")
        self.assertIn(counted(80), turn.text())
        self.assertGreater(turn.reconnects, 1)
        self.assertEqual(turn.finish_reason, "stop")
        self.assertIn(session["session_id"], [s["session_id"] for s in self.host.list_sessions()["sessions"]])
        lines = self.host.get_history(session["session_id"])["lines"]
        self.assertEqual(lines[0]["type"], "input")
        self.host.end_session(session["session_id"])
        with self.assertRaises(BellhopError) as refused:
            self.host.get_history(session["session_id"])
        self.assertEqual(refused.exception.status, 404)

    def test_the_offer_and_a_wrong_password(self) -> None:
        self.assertIn("demo", [a["id"] for a in self.host.get_offer()["agents"]])
        with self.assertRaises(BellhopError) as refused:
            Host(CONFIG["hostUrl"], "wrong").get_offer()
        self.assertEqual((refused.exception.status, refused.exception.code), (401, "unauthorized"))


if __name__ == "__main__":
    unittest.main()
