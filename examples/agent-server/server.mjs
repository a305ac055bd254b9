// A complete agent server for Bellhop: node server.mjs (PORT, AGENT_PASSWORD).
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const sessions = new Map(); // stream token → { sessionId, webhookUrl }
const cors = { 'access-control-allow-origin': '*', 'access-control-allow-headers': 'content-type' };

// Posts an event to the broker, and again while the broker cannot take it.
async function post({ sessionId, webhookUrl }, event) {
  const body = JSON.stringify({ ...event, sessionId, timestamp: Date.now() });
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  for (let attempt = 0; attempt < 5; attempt++) {
    const reply = await fetch(webhookUrl, request).catch(() => ({ status: 503 }));
    if (reply.status < 500 && reply.status !== 429) return;
    await sleep(500 * 2 ** attempt);
  }
}

async function answer(session, prompt, response) {
  const reader = new AbortController(); // a reader that leaves stops the agent
  response.on('close', () => reader.abort());
  const show = (part) => response.write(`data: ${JSON.stringify(part)}\n\n`);
  const id = randomUUID();
  let [text, finishReason] = ['', 'stop'];
  show({ type: 'text-start', id });
  try {
    for (const piece of `You said: ${prompt}`.split(/(?<= )/)) { // your agent goes here
      await sleep(20, null, { signal: reader.signal });
      text += piece;
      show({ type: 'text-delta', id, text: piece });
    }
  } catch {
    finishReason = reader.signal.aborted ? 'other' : 'error';
  }
  await post(session, { type: 'text', id, text });
  show({ type: 'text-end', id });
  await post(session, { type: 'finish', finishReason }); // ends the turn, even if no frontend reads the stream
  show({ type: 'finish', finishReason });
  response.end();
}

createServer(async (request, response) => {
  const url = new URL(request.url, 'http://agent');
  const token = url.searchParams.get('token') ?? randomUUID();
  const session = sessions.get(token);
  const end = (status, body = {}) => response.writeHead(status, cors).end(JSON.stringify(body));
  if (request.method === 'OPTIONS') return end(200);
  const body = await new Response(request).json().catch(() => ({}));
  if (url.pathname === '/session' && request.method === 'POST') {
    const allowed = request.headers.authorization === `Bearer ${process.env.AGENT_PASSWORD}`;
    if (!allowed) return end(401, { error: 'Wrong password' });
    sessions.set(token, body);
    return end(200, { token });
  }
  if (url.pathname !== `/stream/${session?.sessionId}`) return end(session ? 404 : 401, { error: 'No such stream' });
  response.writeHead(200, { ...cors, 'content-type': 'text/event-stream' });
  return answer(session, String(body.prompt), response);
}).listen(Number(process.env.PORT), '127.0.0.1');
