/** The browser APIs that an election needs; tests pass fakes. */
export interface Surroundings {
  locks: Pick<LockManager, 'request'> | undefined;
  channel: () => Pick<BroadcastChannel, 'postMessage' | 'close' | 'onmessage'>;
}

export interface Member {
  /** Stops taking part. If this tab leads, another one becomes the leader. */
  leave: () => void;
}

interface Options<T> {
  name: string;
  /** Called when this tab becomes the leader, until the signal aborts. `publish` sends to this tab and all others. */
  lead: (publish: (message: T) => void, signal: AbortSignal) => Promise<void>;
  onMessage: (message: T) => void;
}

const browser = (name: string): Surroundings => ({
  locks: navigator.locks,
  channel: () => new BroadcastChannel(name),
});

/**
 * Elects one tab of the browser as the leader, which publishes to all tabs. The browser releases a lock when its tab
 * dies, so there is always exactly one leader. Without locks (plain http on a host name) each tab is its own leader.
 */
export function join<T>(o: Options<T>, around: Surroundings = browser(o.name)): Member {
  const gone = new AbortController();
  const channel = around.channel();
  channel.onmessage = (event: MessageEvent<T>) => {
    if (!gone.signal.aborted) o.onMessage(event.data);
  };
  const publish = (message: T) => {
    if (gone.signal.aborted) return;
    o.onMessage(message);
    channel.postMessage(message);
  };
  if (around.locks) {
    around.locks
      .request(o.name, { signal: gone.signal }, () => (gone.signal.aborted ? undefined : o.lead(publish, gone.signal)))
      .catch(() => undefined); // aborted while waiting for the lock
  } else {
    void o.lead((message) => o.onMessage(message), gone.signal);
  }
  return {
    leave: () => {
      gone.abort();
      channel.close();
    },
  };
}
