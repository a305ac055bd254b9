import corpus from '../../../../internal/testenv/lies/lies.json' with { type: 'json' };

/** An answer of something that is no peer: internal/testenv/lies has them for Go and TypeScript. */
export interface Lie {
  name: string;
  status: number;
  type: string;
  body: string;
  headers?: Record<string, string>;
  how?: 'cut' | 'short' | 'slow' | 'gzip' | 'gzip-cut' | 'close' | 'stale' | 'swapped';
}

export const lies = corpus as Lie[];

/** Returns what a browser makes of a lie. `own` is the server's answer, which is given to another request than its own. */
export async function tell(lie: Lie, own: () => Promise<Response> | Response): Promise<Response> {
  const { how } = lie;
  if (how === 'close') throw new TypeError('Failed to fetch');
  if (how === 'stale' || how === 'swapped') {
    const answer = await own();
    const headers = new Headers(answer.headers);
    headers.set('bellhop-request', 'of-another-request');
    return new Response(answer.body, { status: answer.status, headers });
  }
  const headers = new Headers({ 'content-type': lie.type, ...lie.headers });
  const damaged = how === 'cut' || how === 'gzip-cut' || headers.has('content-encoding');
  if ([204, 205, 304].includes(lie.status)) return new Response(null, { status: lie.status, headers });
  const body = how === 'short' ? lie.body.slice(0, -9) : lie.body;
  if (!damaged) return new Response(body, { status: lie.status, headers });
  const part = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(body.slice(0, body.length / 2))),
    pull: (controller) => controller.error(new TypeError('Failed to fetch')),
  });
  return new Response(part, { status: lie.status, headers });
}
