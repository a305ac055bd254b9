import { useSyncExternalStore } from 'react';

/** A message that waits until the agent is idle. */
export interface Queued {
  id: string;
  text: string;
  files: readonly ImageFile[];
}

export interface ImageFile {
  name: string;
  mediaType: string;
  /** A data: URL. */
  url: string;
}

/**
 * The messages of one task that wait for its agent, oldest first. A reload of the tab keeps their texts, not their
 * images. A paused queue waits for the user.
 */
export class MessageQueue {
  #list: readonly Queued[];
  #paused: boolean;
  readonly #listeners = new Set<() => void>();

  constructor(
    private readonly key: string,
    private readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | undefined,
  ) {
    this.#list = this.#read();
    this.#paused = this.#list.length > 0 && storage?.getItem(this.#pausedKey) === 'true';
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Keeps the messages until the user resumes the queue. An empty queue has nothing to pause. */
  pause() {
    if (this.#list.length > 0) this.#set(this.#list, true);
  }

  resume() {
    this.#set(this.#list, false);
  }

  get #pausedKey(): string {
    return `${this.key}.paused`;
  }

  get list(): readonly Queued[] {
    return this.#list;
  }

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  add(message: Queued) {
    this.#set([...this.#list, message]);
  }

  edit(id: string, text: string) {
    this.#set(
      text.trim() === ''
        ? this.#list.filter((m) => m.id !== id)
        : this.#list.map((m) => (m.id === id ? { ...m, text } : m)),
    );
  }

  remove(id: string) {
    this.#set(this.#list.filter((m) => m.id !== id));
  }

  /** Removes and returns the oldest message. */
  shift(): Queued | undefined {
    const first = this.#list[0];
    if (first) this.#set(this.#list.slice(1));
    return first;
  }

  /** Puts a message that was not sent back at the front. */
  unshift(message: Queued) {
    this.#set([message, ...this.#list.filter((m) => m.id !== message.id)]);
  }

  #set(list: readonly Queued[], paused = this.#paused) {
    this.#list = list;
    this.#paused = paused && list.length > 0;
    try {
      if (this.#paused) this.storage?.setItem(this.#pausedKey, 'true');
      else this.storage?.removeItem(this.#pausedKey);
      if (list.length === 0) this.storage?.removeItem(this.key);
      else this.storage?.setItem(this.key, JSON.stringify(list.map((m) => ({ ...m, files: [] }))));
    } catch {
      // Storage is full or forbidden: the list stays in memory.
    }
    for (const l of this.#listeners) l();
  }

  #read(): readonly Queued[] {
    try {
      const stored: unknown = JSON.parse(this.storage?.getItem(this.key) ?? '[]');
      return Array.isArray(stored) ? stored.filter(isQueued) : [];
    } catch {
      return [];
    }
  }
}

function isQueued(value: unknown): value is Queued {
  return (
    typeof value === 'object' &&
    value !== null &&
    'id' in value &&
    'text' in value &&
    typeof value.text === 'string' &&
    'files' in value
  );
}

const queues = new Map<string, MessageQueue>();

/** The queue of a task, the same object in each call. */
export function queueOf(taskId: string): MessageQueue {
  let queue = queues.get(taskId);
  if (!queue) {
    queue = new MessageQueue(
      `bellhop.queue.${taskId}`,
      typeof sessionStorage === 'undefined' ? undefined : sessionStorage,
    );
    queues.set(taskId, queue);
  }
  return queue;
}

export function useQueue(queue: MessageQueue): readonly Queued[] {
  return useSyncExternalStore(queue.subscribe, () => queue.list);
}

export function usePaused(queue: MessageQueue): boolean {
  return useSyncExternalStore(queue.subscribe, () => queue.paused);
}
