import { BellhopError, isFinal, networkError, refusal } from './error.js';
import type { Reach } from './wire.js';
import { Backoff, Watchdog } from './retry.js';
import { readSse, type SseEvent } from './sse.js';

export type ConnectionState = 'connecting' | 'streaming' | 'reconnecting' | 'closed';

export interface ConnectionDetail {
  /** Set for streams, not for feeds. */
  reach?: Reach | undefined;
  attempt?: number;
  retryInMs?: number;
  error?: Error;
}

export type OnConnection = (state: ConnectionState, detail: ConnectionDetail) => void;

export interface FollowOptions {
  signal?: AbortSignal | undefined;
  /** Silence, pings included, after which a connection is given up. Default `streamIdleTimeoutMs`. */
  idleMs?: number | undefined;
  /** Attempts without progress before giving up. */
  maxRetries?: number | undefined;
  onConnection?: OnConnection | undefined;
}

/** A stream that can be continued on another connection. */
export interface Source<T> {
  /** The server's origin, for error messages. */
  origin(): string;
  reach?(): Reach;
  connect(signal: AbortSignal): Promise<Response>;
  /** Returns the item of a frame, undefined for a frame without one. */
  read(event: SseEvent): T | undefined;
  /** Whether this item is the last one. */
  ends(item: T): boolean;
  /** The silence after which a connection is given up, if it differs from the option. */
  idleMs?(): number | undefined;
  /** Called at the end of a response without a last item. Returns true if the source is over all the same. */
  over?(): boolean;
  /** Removes the cause of a failure. Returns true to connect again at once; throws if the failure is final. */
  recover(failure: unknown): Promise<boolean>;
}

/** Reads a source to its end and reconnects as needed. Throws a BellhopError or a "network error" TypeError. */
export async function* follow<T>(source: Source<T>, options: FollowOptions): AsyncGenerator<T, void, undefined> {
  const { signal } = options;
  const retry = new Backoff(options.maxRetries ?? 10);
  const note = (state: ConnectionState, detail: ConnectionDetail = {}) =>
    options.onConnection?.(state, { reach: source.reach?.(), ...detail });
  note('connecting');
  try {
    for (;;) {
      signal?.throwIfAborted();
      let failure: unknown = new Error('cut off');
      const idleMs = source.idleMs?.();
      // A source with a silence of its own gets all of it also after the page woke up.
      const dog = new Watchdog(idleMs ?? options.idleMs, signal, idleMs);
      try {
        const response = await source.connect(dog.signal);
        if (response.status === 204) return;
        if (!response.ok) throw await refusal(response, source.origin());
        note('streaming');
        // biome-ignore lint/style/noNonNullAssertion: only a 204 has no body.
        for await (const event of readSse(response.body!, () => dog.feed())) {
          const item = source.read(event);
          if (item === undefined) continue;
          // Only frames with an id count as progress, so that a host which sends a greeting and disconnects each
          // time fails in the end.
          if (event.id) retry.attempt = 0;
          yield item;
          if (source.ends(item)) return;
        }
        if (source.over?.()) return;
      } catch (error) {
        signal?.throwIfAborted();
        failure = dog.signal.aborted ? dog.signal.reason : error;
      } finally {
        dog.stop();
      }
      try {
        if (await source.recover(failure)) continue;
      } catch (error) {
        // Recovering needs the network too. If it fails, both are tried again later.
        if (isFinal(error)) throw error;
        failure = error;
      }
      // The error of the last attempt: it is thrown when no attempt is left.
      const lost = networkError(source.origin(), failure);
      const error = failure instanceof BellhopError ? failure : lost;
      await retry.wait(
        error,
        signal,
        (retryInMs) => note('reconnecting', { attempt: retry.attempt, retryInMs, error }),
        lost,
      );
    }
  } finally {
    note('closed');
  }
}
