// A server of the basic flow: the token in the query, frames without ids, one text per step under the same id, no
// finish event. It answers every word of the prompt, one every 20 ms, and stops when its reader disconnects.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const webhooks = new Map();
const password = process.env.AGENT_PASSWORD;
const cors = {
  'access-control-allow-origin': '*',
  // A header with the token is refused, as by servers that do not expect it.
  'access-control-allow-headers': 'content-type',
  'access-control-allow-methods': 'POST',
};

async function body(request) {
  let text = '';
  for await (const bytes of request) text += bytes;
  return JSON.parse(text);
}

async function answer(request, response, { sessionId, webhook }) {
  const { prompt } = await body(request);
  response.writeHead(200, { ...cors, 'content-type': 'text/event-stream' });
  const part = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
  part({ type: 'text-start', id: 'text-1' });
  let text = '';
  for (const word of prompt.split(/(?<= )/)) {
    await sleep(20);
    if (response.destroyed) break;
    part({ type: 'text-delta', id: 'text-1', text: word });
    text += word;
  }
  const event = { sessionId, type: 'text', id: 'text-1', text, timestamp: Math.floor(Date.now() / 1000) };
  await fetch(webhook, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(event),
  });
  part({ type: 'text-end', id: 'text-1' });
  part({ type: 'finish', finishReason: 'stop', totalUsage: {} });
  response.end();
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, 'http://agent');
  if (request.method === 'OPTIONS') return response.writeHead(204, cors).end();
  if (request.method === 'POST' && url.pathname === '/session') {
    if (request.headers.authorization !== `Bearer ${password}`) return response.writeHead(401).end();
    const { sessionId, webhookUrl } = await body(request);
    const token = randomUUID();
    webhooks.set(token, { sessionId, webhook: webhookUrl });
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ token }));
  }
  const session = webhooks.get(url.searchParams.get('token'));
  if (request.method !== 'POST' || url.pathname !== `/stream/${session?.sessionId}`)
    return response.writeHead(session ? 404 : 401, cors).end();
  return answer(request, response, session);
});
server.listen(Number(process.env.PORT), '127.0.0.1');
