"""A complete agent server for Bellhop: python3 server.py (PORT, AGENT_PASSWORD)."""
import json, os, secrets, time, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

SESSIONS = {}  # stream token -> body of /session

def post(session, event):
    """Sends an event to the broker, and again while the broker cannot take it."""
    body = json.dumps({**event, "sessionId": session["sessionId"], "timestamp": time.time_ns() // 1_000_000}).encode()
    for wait in (0.5, 1, 2, 4, 8):
        try:
            request = urllib.request.Request(session["webhookUrl"], body, {"content-type": "application/json"})
            return urllib.request.urlopen(request, timeout=10).close()
        except OSError as error:
            if getattr(error, "code", 503) < 500 and error.code != 429:
                return print("refused:", error.read().decode())
            time.sleep(wait)

class Server(BaseHTTPRequestHandler):
    def start(self, status, body=b"", kind="application/json"):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("access-control-allow-origin", "*")
        self.send_header("access-control-allow-headers", "content-type")
        self.end_headers()
        self.wfile.write(body)

    def do_OPTIONS(self):
        self.start(200)

    def do_POST(self):
        url, body = urlparse(self.path), json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        token = parse_qs(url.query).get("token", [secrets.token_urlsafe()])[0]
        if url.path == "/session" and self.headers.get("authorization") == f"Bearer {os.environ['AGENT_PASSWORD']}":
            SESSIONS[token] = body
            return self.start(200, json.dumps({"token": token}).encode())
        if token not in SESSIONS or url.path != f"/stream/{SESSIONS[token]['sessionId']}":
            return self.start(401, b'{"error":"Wrong password or token"}')
        self.start(200, kind="text/event-stream")
        self.answer(SESSIONS[token], body["prompt"])

    def answer(self, session, prompt):
        show = lambda **part: self.wfile.write(f"data: {json.dumps(part)}\n\n".encode())
        text, ident, reason = "", secrets.token_hex(8), "stop"
        try:
            show(type="text-start", id=ident)
            for piece in f"You said: {prompt}".split(" "):  # your agent goes here
                time.sleep(0.02)
                show(type="text-delta", id=ident, text=piece + " ")
                text += piece + " "
        except OSError:  # the reader left: stop the agent
            reason = "other"
        post(session, {"type": "text", "id": ident, "text": text})
        post(session, {"type": "finish", "finishReason": reason})  # ends the turn, even if no frontend reads the stream
        if reason == "stop":
            show(type="text-end", id=ident)
            show(type="finish", finishReason=reason)

ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Server).serve_forever()
