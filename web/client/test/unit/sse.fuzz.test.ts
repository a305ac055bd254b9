import { createParser, type EventSourceMessage } from 'eventsource-parser';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSse } from '../../src/sse.js';

// scripts/fuzz sets how long to search; otherwise some thousand cases.
const search = Number(process.env.BELLHOP_FUZZ_MS) || 0;
const runs = search ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: search } : { numRuns: 5000 };

/** Pieces that make up frames, and bytes that need not be UTF-8. */
const piece = fc.oneof(
  fc.constantFrom('data', 'data:', 'data: ', 'event:', 'id: ', 'retry:', ': ', ':', '\n', '\r', '\r\n', '\n\n', '\0'),
  fc.constantFrom('\ufeff', ' ', '__proto__: x\n', 'constructor:\n', '1-2', '{"type":"text-delta"}', 'é€😀'),
  fc.string(),
  fc.uint8Array({ maxLength: 4 }),
);

const bytes = fc.array(piece, { maxLength: 60 }).map((pieces) => {
  const encoder = new TextEncoder();
  return Uint8Array.from(pieces.flatMap((p) => [...(typeof p === 'string' ? encoder.encode(p) : p)]));
});

async function read(input: Uint8Array, cuts: number[]) {
  const ends = [...new Set([...cuts.map((cut) => cut % (input.length + 1)), input.length])].sort((a, b) => a - b);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      let from = 0;
      for (const end of ends) {
        controller.enqueue(input.slice(from, end));
        from = end;
      }
      controller.close();
    },
  });
  const events: unknown[] = [];
  for await (const event of readSse(body, () => undefined)) events.push({ ...event });
  return events;
}

/** What another implementation of the standard reads. */
function reference(input: Uint8Array) {
  const events: unknown[] = [];
  const onEvent = ({ event, data, id }: EventSourceMessage) => events.push({ event: event || 'message', data, id });
  createParser({ onEvent }).feed(new TextDecoder().decode(input));
  return events;
}

test('any bytes, in any chunks, are the events that another reader finds in them', { timeout: search + 60_000 }, () =>
  fc.assert(
    fc.asyncProperty(bytes, fc.array(fc.nat(), { maxLength: 8 }), async (input, cuts) => {
      expect(await read(input, cuts)).toEqual(reference(input));
    }),
    runs,
  ),
);
