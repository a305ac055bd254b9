import { client } from '../app/http.ts';
import type { Message } from '../app/types.ts';

/** Beyond any seq: "the newest". */
const end = Number.MAX_SAFE_INTEGER;
const page = 100;

export interface HistoryState {
  rows: readonly Message[];
  /** Where the task's feed goes on; undefined until the first page is there. */
  rev: number | undefined;
  /** Whether there are older rows than those loaded. */
  more: boolean;
  loading: boolean;
  error: unknown;
}

/** Puts rows in by id; of two states of a row the one of the higher rev stays. Rows stay in the order of their seq. */
export function upsert(rows: readonly Message[], changed: readonly Message[]): readonly Message[] {
  if (changed.length === 0) return rows;
  const at = new Map(rows.map((r, i) => [r.id, i]));
  const out = [...rows];
  let sorted = true;
  for (const row of changed) {
    const index = at.get(row.id);
    if (index === undefined) {
      sorted &&= out.length === 0 || (out.at(-1)?.seq ?? 0) <= row.seq;
      at.set(row.id, out.length);
      out.push(row);
    } else if ((out[index]?.rev ?? 0) <= row.rev) {
      out[index] = row;
    }
  }
  return sorted ? out : out.sort((a, b) => a.seq - b.seq);
}

/** A task's messages: the newest page first, older ones on demand, changes by the task's feed. */
export class History {
  #state: HistoryState = { rows: [], rev: undefined, more: false, loading: false, error: undefined };
  readonly #listeners = new Set<() => void>();
  #waiting: Message[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly taskId: string) {}

  get state(): HistoryState {
    return this.#state;
  }

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Reads the newest page. After a reset everything known is forgotten. */
  async load(reset = false): Promise<void> {
    if (this.#state.loading) return;
    this.#set({ loading: true, error: undefined });
    try {
      const { messages, rev } = await client.messages(this.taskId, { before: end, limit: page });
      const rows = reset ? messages : upsert(this.#state.rows, messages);
      this.#set({ rows, rev, loading: false, more: (rows[0]?.seq ?? 1) > 1 });
    } catch (error) {
      this.#set({ loading: false, error });
    }
  }

  async loadOlder(): Promise<void> {
    const first = this.#state.rows[0];
    if (!first || !this.#state.more || this.#state.loading) return;
    this.#set({ loading: true, error: undefined });
    try {
      const { messages } = await client.messages(this.taskId, { before: first.seq, limit: page });
      const rows = [...messages, ...this.#state.rows];
      this.#set({ rows, loading: false, more: messages.length > 0 && (rows[0]?.seq ?? 1) > 1 });
    } catch (error) {
      this.#set({ loading: false, error });
    }
  }

  /** Takes a row of the feed. A burst of them is drawn once. */
  apply(row: Message, rev: number) {
    this.#waiting.push(row);
    this.#state = { ...this.#state, rev };
    this.#timer ??= setTimeout(() => this.flush(), 16);
  }

  flush() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const changed = this.#waiting;
    this.#waiting = [];
    this.#set({ rows: upsert(this.#state.rows, changed) });
  }

  seen(rev: number) {
    this.#state = { ...this.#state, rev };
  }

  #set(change: Partial<HistoryState>) {
    this.#state = { ...this.#state, ...change };
    for (const l of this.#listeners) l();
  }
}

/** Tasks looked at lately stay in memory, so that going back to one shows it at once. */
const recent = new Map<string, History>();
const kept = 8;

export function historyOf(taskId: string): History {
  const known = recent.get(taskId);
  recent.delete(taskId);
  const history = known ?? new History(taskId);
  recent.set(taskId, history);
  for (const [id] of recent) {
    if (recent.size <= kept) break;
    recent.delete(id);
  }
  return history;
}
