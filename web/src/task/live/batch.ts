import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';

/**
 * Calls `flush` at the next frame, and returns a function that cancels the call. Hidden pages have no frames, so a
 * timer is used as well.
 */
export type Schedule = (flush: () => void) => () => void;

/**
 * The longest pause after a flush, in ms. A pause lasts as long as the rendering did, so that the page stays usable.
 */
const longestPause = 1000;

export function perFrame(): Schedule {
  let pause = 0;
  const timed = (flush: () => void) => {
    const began = performance.now();
    flush();
    // React renders in microtasks after the flush, so the next task can measure the time.
    setTimeout(() => (pause = Math.min(longestPause, performance.now() - began)));
  };
  return (flush) => {
    if (document.visibilityState !== 'visible') {
      const timer = setTimeout(flush, 250);
      return () => clearTimeout(timer);
    }
    let frame = 0;
    const run = () => {
      cancelAnimationFrame(frame);
      clearTimeout(late);
      clearTimeout(paused);
      timed(flush);
    };
    const paused = setTimeout(() => (frame = requestAnimationFrame(run)), pause > 16 ? pause : 0);
    // If the page is hidden meanwhile the frame never comes, but the timer fires.
    const late = setTimeout(run, pause + 500);
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(late);
      clearTimeout(paused);
    };
  };
}

/** Joins neighbouring deltas of one block, because useChat copies the complete message for every chunk. */
export function mergeDeltas(chunks: readonly UIMessageChunk[]): UIMessageChunk[] {
  const out: UIMessageChunk[] = [];
  for (const chunk of chunks) {
    const last = out.at(-1);
    if (
      (chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') &&
      last?.type === chunk.type &&
      last.id === chunk.id
    ) {
      out[out.length - 1] = { ...last, delta: last.delta + chunk.delta };
    } else if (chunk.type === 'tool-input-delta' && last?.type === chunk.type && last.toolCallId === chunk.toolCallId) {
      out[out.length - 1] = { ...last, inputTextDelta: last.inputTextDelta + chunk.inputTextDelta };
    } else {
      out.push(chunk);
    }
  }
  return out;
}

/** Forwards chunks once per frame. */
export function batch(
  source: ReadableStream<UIMessageChunk>,
  schedule: Schedule = perFrame(),
): ReadableStream<UIMessageChunk> {
  const reader = source.getReader();
  let waiting: UIMessageChunk[] = [];
  let cancel: (() => void) | undefined;
  return new ReadableStream<UIMessageChunk>({
    start(controller) {
      const flush = () => {
        cancel = undefined;
        const chunks = mergeDeltas(waiting);
        waiting = [];
        for (const chunk of chunks) controller.enqueue(chunk);
      };
      const read = async () => {
        try {
          for (;;) {
            const { done, value } = await reader.read();
            if (done) break;
            waiting.push(value);
            cancel ??= schedule(flush);
          }
          cancel?.();
          flush();
          controller.close();
        } catch (error) {
          cancel?.();
          flush();
          controller.error(error);
        }
      };
      void read();
    },
    cancel(reason) {
      cancel?.();
      return reader.cancel(reason);
    },
  });
}

/** Wraps a transport so that its streams deliver their chunks once per frame. */
export function batched<M extends UIMessage>(
  transport: ChatTransport<M>,
): ChatTransport<M> & { readonly resumeStreamIsReplay: true } {
  return {
    resumeStreamIsReplay: true,
    sendMessages: async (options) => batch(await transport.sendMessages(options)),
    reconnectToStream: async (options) => {
      const stream = await transport.reconnectToStream(options);
      return stream && batch(stream);
    },
  };
}
