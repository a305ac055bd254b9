"""What only this client has, against a real broker and a real host. The rest is in the cases of all clients
(internal/e2e/clients_test.go), beside which TestClientsOfEveryLanguage runs this file.

BELLHOP_TEST_CONFIG names a file with the addresses and credentials. The connections to the host's streams are cut after
1,500 bytes each.
"""

import json
import os
import unittest

from bellhop import Bellhop, BellhopError, Host, NetworkError

with open(os.environ["BELLHOP_TEST_CONFIG"], encoding="utf-8") as file:
    CONFIG = json.load(file)


def counted(upto: int) -> str:
    return " ".join(str(n) for n in range(1, upto + 1))


class Broker(unittest.TestCase):
    def setUp(self) -> None:
        self.bellhop = Bellhop(CONFIG["brokerUrl"], CONFIG["apiToken"])

    def task(self, title: str) -> str:
        return self.bellhop.create_task(title=title, agent="demo", host_id=CONFIG["hostId"])["id"]

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

    def test_servers_that_are_none(self) -> None:
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
        turn = streams.prompt(session["session_id"], session["token"], "slow 40")
        self.assertIn(counted(40), turn.text())
        self.assertGreater(turn.reconnects, 0)
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
