// Forwards the page's requests to the broker and adds the user's token, which so never reaches the page. The page
// streams directly from the agent host, with the stream token that the check-in returns.
import { readFileSync } from 'node:fs';

// What this page needs. Other calls of the client are 404 until you add them.
const allowed = [
  /^POST \/api\/(tasks|agent|agent\/attach|agent\/interrupt)$/,
  /^GET \/api\/tasks\/[\w-]+(\/messages)?$/,
  /^POST \/api\/interactions\/[\w-]+$/,
];

// Your app knows who asks: look up this user's token, or answer 401. This example has one user.
function tokenOf(request) {
  if (!/(^|; )session=demo(;|$)/.test(request.headers.get('cookie') ?? '')) return null;
  return readFileSync(process.env.BELLHOP_TOKEN_FILE, 'utf8').trim();
}

async function forward(request) {
  const url = new URL(request.url);
  const path = url.pathname.replace(/^\/bellhop/, '');
  if (!allowed.some((route) => route.test(`${request.method} ${path}`))) {
    return Response.json({ error: 'Not found', code: 'not_found' }, { status: 404 });
  }
  // A page of another site can send a request with the cookie, but not with this type without asking first.
  if (request.method !== 'GET' && request.headers.get('content-type') !== 'application/json') {
    return Response.json({ error: 'The content type must be application/json', code: 'invalid' }, { status: 415 });
  }
  const token = tokenOf(request);
  if (!token) return Response.json({ error: 'Sign in first', code: 'unauthorized' }, { status: 401 });
  const answer = await fetch(process.env.BELLHOP_URL + path + url.search, {
    method: request.method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: request.method === 'GET' ? undefined : await request.text(),
  });
  return new Response(answer.body, { status: answer.status, headers: { 'content-type': 'application/json' } });
}

export { forward as GET, forward as POST };
