import type { UIMessageChunk } from 'ai';
import { describe, expect, it } from 'vitest';
import { batch, mergeDeltas } from './batch.ts';

const delta = (text: string, id = '1'): UIMessageChunk => ({ type: 'text-delta', id, delta: text });

describe('mergeDeltas', () => {
  it('joins neighbouring deltas of a block', () =>
    expect(mergeDeltas([delta('a'), delta('b'), delta('c')])).toEqual([delta('abc')]));
  it('separates blocks by kind and order', () => {
    const chunks: UIMessageChunk[] = [delta('a'), delta('b', '2'), { type: 'text-end', id: '2' }, delta('c')];
    expect(mergeDeltas(chunks)).toEqual(chunks);
  });
  it('does not change the chunks it was given', () => {
    const first = delta('a');
    mergeDeltas([first, delta('b')]);
    expect(first).toEqual(delta('a'));
  });
});

describe('batch', () => {
  it('forwards collected chunks once per frame, and the last ones at the end', async () => {
    let flush: (() => void) | undefined;
    let frames = 0;
    let source: ReadableStreamDefaultController<UIMessageChunk> | undefined;
    const stream = batch(new ReadableStream({ start: (c) => void (source = c) }), (run) => {
      frames++;
      flush = run;
      return () => (flush = undefined);
    });
    const out: UIMessageChunk[] = [];
    const done = (async () => {
      for await (const chunk of stream) out.push(chunk);
    })();
    for (let i = 0; i < 10_000; i++) source?.enqueue(delta('x'));
    await new Promise((resolve) => setTimeout(resolve));
    expect(frames).toBe(1);
    expect(out).toEqual([]);
    flush?.();
    source?.enqueue(delta('y'));
    source?.close();
    await done;
    const deltas = out.map((c) => (c.type === 'text-delta' ? c.delta : ''));
    expect(deltas.join('')).toBe(`${'x'.repeat(10_000)}y`);
    expect(out).toHaveLength(2);
  });
  it('fails when its source fails', async () => {
    const failing = new ReadableStream<UIMessageChunk>({ start: (c) => c.error(new TypeError('network error')) });
    await expect(
      batch(failing, () => () => undefined)
        .getReader()
        .read(),
    ).rejects.toThrow('network error');
  });
  it('cancels its source when its reader cancels', async () => {
    let cancelled: unknown;
    const source = new ReadableStream<UIMessageChunk>({ cancel: (reason) => void (cancelled = reason) });
    await batch(source, () => () => undefined).cancel('gone');
    expect(cancelled).toBe('gone');
  });
});
