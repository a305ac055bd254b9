import { describe, expect, test } from 'vitest';
import { readSse, type SseEvent } from '../../src/sse.js';

async function read(...chunks: (string | Uint8Array)[]): Promise<SseEvent[]> {
  const encoder = new TextEncoder();
  const events: SseEvent[] = [];
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(typeof chunk === 'string' ? encoder.encode(chunk) : chunk);
      controller.close();
    },
  });
  for await (const event of readSse(body, () => undefined)) events.push(event);
  return events;
}

const message = (data: string, id?: string, event = 'message') => ({ event, data, id });

describe('server-sent events', () => {
  test.each<[string, string, unknown[]]>([
    ['id, event and data', 'id: 1-2\nevent: x\ndata: a\n\n', [message('a', '1-2', 'x')]],
    ['CRLF and CR as line ends', 'data: a\r\n\r\ndata: b\r\rdata: c\n\n', [message('a'), message('b'), message('c')]],
    ['several data lines', 'data: a\ndata:\ndata:b\n\n', [message('a\n\nb')]],
    ['one space after the colon', 'data:  a\n\n', [message(' a')]],
    ['comments', ': ping\n\n: ping\ndata: a\n\n', [message('a')]],
    ['unknown fields', 'retry: 1\nfoo\ndata: a\n\n', [message('a')]],
    ['ids of their own frame only', 'id: 1\ndata: a\n\ndata: b\n\n', [message('a', '1'), message('b')]],
    ['no id with a NUL', 'id: 1\0\ndata: a\n\n', [message('a')]],
    ['no unfinished event', 'data: a\n\ndata: b\n', [message('a')]],
    ['no event without data', 'id: 1\nevent: x\n\n', []],
  ])('%s', async (_, text, events) => expect(await read(text)).toEqual(events));

  test('are the same for every division of the bytes', async () => {
    const bytes = new TextEncoder().encode('id: 1\r\ndata: é€😀\r\n\r\n: ping\n\ndata: b\n\n');
    for (let at = 1; at < bytes.length; at++) {
      expect((await read(bytes.slice(0, at), bytes.slice(at))).map(({ data }) => data)).toEqual(['é€😀', 'b']);
    }
  });

  test('may be long, in many chunks', async () => {
    const piece = 'x'.repeat(16 * 1024);
    const pieces = Array.from({ length: 12 * 64 }, () => piece);
    const [event] = await read('data: ', ...pieces, '\n\n');
    expect(event?.data).toHaveLength(12 * 1024 * 1024);
  });

  test('many are read from a stream that is longer than one event may be', async () => {
    const event = `data: ${'x'.repeat(1024 * 1024)}\n\n`;
    expect(await read(...Array.from({ length: 20 }, () => event))).toHaveLength(20);
  });

  test.each([
    ['line', ''],
    ['event of many lines', '\ndata: '],
  ])('end the stream with an error if a %s has no end', async (_, separator) => {
    const piece = 'x'.repeat(1024 * 1024) + separator;
    const endless = Array.from({ length: 17 }, () => piece);
    await expect(read('data: a\n\ndata: ', ...endless)).rejects.toThrow('event too long');
  });
});
