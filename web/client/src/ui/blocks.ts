import type { UiChunk } from './chunk.js';

type Kind = 'text' | 'reasoning';

interface Block {
  kind: Kind;
  id: string;
  shown: string;
  open: boolean;
  /** How much of it a replay has repeated. */
  heard: number;
}

/**
 * Blocks of text and reasoning. Some models reuse an id in every step, so a block is its id and how often the id began; after
 * a rewind the counting starts again and only what was not shown yet is.
 */
export class Blocks {
  readonly #blocks = new Map<string, Block>();
  #counts: Record<string, number> = {};

  constructor(private readonly show: (chunk: UiChunk) => void) {}

  start(kind: Kind, id: string): void {
    const name = `${kind} ${id}`;
    this.#counts[name] = (this.#counts[name] ?? 0) + 1;
    const known = this.#current(kind, id);
    if (known) {
      known.heard = 0;
      return;
    }
    this.#blocks.set(this.#key(kind, id), { kind, id, shown: '', open: true, heard: 0 });
    this.show({ type: `${kind}-start`, id });
  }

  delta(kind: Kind, id: string, text: string): void {
    if (!this.#current(kind, id)) this.start(kind, id);
    const block = this.#current(kind, id);
    if (!block || typeof text !== 'string') return;
    const delta = text.slice(Math.max(0, block.shown.length - block.heard));
    block.heard += text.length;
    if (delta === '') return;
    // Ended by a permission, it goes on behind it.
    if (!block.open) this.show({ type: `${kind}-start`, id });
    block.open = true;
    block.shown += delta;
    this.show({ type: `${kind}-delta`, id, delta });
  }

  end(kind: Kind, id: string): void {
    this.#end(this.#current(kind, id));
  }

  /** Ends what is open. */
  close(): void {
    for (const block of this.#blocks.values()) this.#end(block);
  }

  /** The turn is told again from its start. */
  rewind(): void {
    this.#counts = {};
    for (const block of this.#blocks.values()) block.heard = 0;
  }

  #end(block: Block | undefined): void {
    if (!block?.open) return;
    block.open = false;
    this.show({ type: `${block.kind}-end`, id: block.id });
  }

  #key(kind: Kind, id: string): string {
    return `${kind} ${id} ${this.#counts[`${kind} ${id}`]}`;
  }

  #current(kind: Kind, id: string): Block | undefined {
    return this.#blocks.get(this.#key(kind, id));
  }
}
