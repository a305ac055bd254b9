import { BellhopError, isFinal, networkError, refusal } from './error.js';
import type { Reach } from './wire.js';
import { Backoff, Watchdog } from './retry.js';
import { readSse, type SseEvent } from './sse.js';

export type ConnectionState = 'connecting' | 'streaming' | 'reconnecting' | 'closed';

export interface ConnectionDetail {
  /** Of a stream, not of a feed. */
  reach?: Reach | undefined;
  attempt?: number;
  retryInMs?: number;
  error?: Error;
}

export type OnConnection = (state: ConnectionState, detail: ConnectionDetail) => void;

export interface FollowOptions {
  signal?: AbortSignal | undefined;
  /** Without a byte for so long, pings included, a connection is dead. Default 30 s. */
  idleMs?: number | undefined;
  /** Attempts without progress before giving up. */
  maxRetries?: number | undefined;
  onConnection?: OnConnection | undefined;
}

/** A stream that can be connected to again where it was left. */
export interface Source<T> {
  /** Of the server, for errors. */
  origin(): string;
  reach?(): Reach;
  connect(signal: AbortSignal): Promise<Response>;
  /** What a frame says; undefined if nothing. */
  read(event: SseEvent): T | undefined;
  /** Whether nothing follows this item. */
  ends(item: T): boolean;
  /** Mends what made a connection fail; true = connect again at once. Throws if the failure is final. */
  mend(failure: unknown): Promise<boolean>;
}

/** Reads a source to its end through drops, stalls and restarts. Throws a BellhopError or a "network error" TypeError. */
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
      const dog = new Watchdog(options.idleMs, signal);
      try {
        const response = await source.connect(dog.signal);
        if (response.status === 204) return;
        if (!response.ok) throw await refusal(response, source.origin());
        note('streaming');
        for await (const event of readSse(response.body!, () => dog.feed())) {
          const item = source.read(event);
          if (item === undefined) continue;
          // Only what has an id is progress: a host that says hello and drops for ever is given up.
          if (event.id) retry.attempt = 0;
          yield item;
          if (source.ends(item)) return;
        }
      } catch (error) {
        signal?.throwIfAborted();
        failure = dog.signal.aborted ? dog.signal.reason : error;
      } finally {
        dog.stop();
      }
      try {
        if (await source.mend(failure)) continue;
      } catch (error) {
        // Mending may itself meet a dead network: then both are tried again later.
        if (isFinal(error)) throw error;
        failure = error;
      }
      const lost = networkError(source.origin(), failure);
      const error = failure instanceof BellhopError ? failure : lost;
      await retry.wait(error, signal, (retryInMs) => note('reconnecting', { attempt: retry.attempt, retryInMs, error }), lost);
    }
  } finally {
    note('closed');
  }
}
