/** What leadership needs of the browser; tests bring their own. */
export interface Surroundings {
  locks: Pick<LockManager, 'request'> | undefined;
  channel: () => Pick<BroadcastChannel, 'postMessage' | 'close' | 'onmessage'>;
}

export interface Member {
  /** Ends this tab's part: another tab takes the lead. */
  leave: () => void;
}

interface Options<T> {
  name: string;
  /** Called when this tab leads, until the signal aborts; publish tells this tab and all others. */
  lead: (publish: (message: T) => void, signal: AbortSignal) => Promise<void>;
  onMessage: (message: T) => void;
}

const browser = (name: string): Surroundings => ({
  locks: navigator.locks,
  channel: () => new BroadcastChannel(name),
});

/** Elects one tab of the browser to do the work and share what it learns; the others hear of it. A lock is released
 * by the browser when its tab dies, so there is always exactly one leader. Without locks (plain http on a name) each
 * tab leads for itself. */
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
      .catch(() => undefined); // aborted while waiting for the lead
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
