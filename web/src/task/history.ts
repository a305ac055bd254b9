import { client } from '../app/http.ts';
import type { Interaction, LastTurn, Message } from '../app/types.ts';
import { addEndings, addQuestions, type Endings, type Questions } from './turns.ts';

/** Greater than any seq: asks for the newest page. */
const end = Number.MAX_SAFE_INTEGER;
const page = 100;

export interface HistoryState {
  rows: readonly Message[];
  /** The rev from which the task's feed continues; undefined until the first page is loaded. */
  rev: number | undefined;
  /** Whether there are older rows than those loaded. */
  more: boolean;
  loading: boolean;
  error: unknown;
  endings: Endings;
  questions: Questions;
}

/** Merges rows by id, keeps the state with the higher rev, and returns them ordered by seq. */
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

/** A task's messages: loads the newest page first and older pages on demand; the task's feed adds changes. */
export class History {
  #state: HistoryState = {
    rows: [],
    rev: undefined,
    more: false,
    loading: false,
    error: undefined,
    endings: new Map(),
    questions: new Map(),
  };
  readonly #listeners = new Set<() => void>();
  #waiting: Message[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Whether a feed has updated this history before. */
  followed = false;

  constructor(private readonly taskId: string) {}

  get state(): HistoryState {
    return this.#state;
  }

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Loads the newest page. After a reset of the feed, all rows loaded before are dropped. */
  async load(reset = false): Promise<void> {
    if (this.#state.loading) return;
    this.#set({ loading: true, error: undefined });
    try {
      const { messages, rev, ...turns } = await client.messages(this.taskId, {
        before: end,
        limit: page,
        with: 'turns',
      });
      const rows = reset ? messages : upsert(this.#state.rows, messages);
      this.#set({ rows, rev, loading: false, more: (rows[0]?.seq ?? 1) > 1, ...this.#turnsOf(turns) });
    } catch (error) {
      this.#set({ loading: false, error });
    }
  }

  /** Loads the ends and questions of the newest turns: the feed sends only the newest end again. */
  async loadTurns(): Promise<void> {
    try {
      this.#set(this.#turnsOf(await client.messages(this.taskId, { before: end, limit: page, with: 'turns' })));
    } catch {
      // The feed has the same broker: when it connects again, this is called again.
    }
  }

  async loadOlder(): Promise<void> {
    const first = this.#state.rows[0];
    if (!first || !this.#state.more || this.#state.loading) return;
    this.#set({ loading: true, error: undefined });
    try {
      const { messages, ...turns } = await client.messages(this.taskId, {
        before: first.seq,
        limit: page,
        with: 'turns',
      });
      const rows = [...messages, ...this.#state.rows];
      this.#set({
        rows,
        loading: false,
        more: messages.length > 0 && (rows[0]?.seq ?? 1) > 1,
        ...this.#turnsOf(turns),
      });
    } catch (error) {
      this.#set({ loading: false, error });
    }
  }

  /** Adds a row from the feed. Rows that arrive together are rendered once. */
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

  /** Whether the rows have every change up to a rev. Rows that wait to be rendered are not there yet. */
  isAt(rev: number): boolean {
    return this.#waiting.length === 0 && (this.#state.rev ?? -1) >= rev;
  }

  /** Adds a question from the feed. */
  addQuestion(question: Interaction, rev: number) {
    this.#set({ rev, questions: addQuestions(this.#state.questions, [question]) });
  }

  /** Adds how the task's newest turn ended. */
  addEnding(turn: LastTurn | null, rev: number) {
    this.#set({ rev, endings: addEndings(this.#state.endings, turn ? [turn] : []) });
  }

  #turnsOf({ turns = [], interactions = [] }: { turns?: LastTurn[]; interactions?: Interaction[] }) {
    return {
      endings: addEndings(this.#state.endings, turns),
      questions: addQuestions(this.#state.questions, interactions),
    };
  }

  #set(change: Partial<HistoryState>) {
    this.#state = { ...this.#state, ...change };
    for (const l of this.#listeners) l();
  }
}

/** Recently shown tasks stay in memory, so that returning to one needs no request. */
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
