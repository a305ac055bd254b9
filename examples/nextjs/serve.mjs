// Serves the route handler as Next.js does, to try it without Next.js: node serve.mjs (PORT, BELLHOP_URL,
// BELLHOP_TOKEN_FILE). Route handlers are functions from a Request to a Response, so 20 lines suffice.
import { createServer } from 'node:http';
import { Readable } from 'node:stream';

const handlers = await import('./app/bellhop/[...path]/route.js');

createServer(async (incoming, outgoing) => {
  const handler = handlers[incoming.method];
  if (!handler) return outgoing.writeHead(405).end();
  const body = incoming.method === 'GET' ? undefined : Readable.toWeb(incoming);
  const { method, headers } = incoming;
  const url = new URL(incoming.url, `http://${headers.host}`);
  const answer = await handler(new Request(url, { method, headers, body, duplex: 'half' }));
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
  Readable.fromWeb(answer.body).pipe(outgoing);
}).listen(Number(process.env.PORT), '127.0.0.1');
