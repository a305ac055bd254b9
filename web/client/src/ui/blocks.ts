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
  readonly #counts = new Map<string, number>();

  start(kind: Kind, id: string): UiChunk[] {
    this.#counts.set(`${kind} ${id}`, this.#count(kind, id) + 1);
    const known = this.#current(kind, id);
    if (known) {
      known.heard = 0;
      return [];
    }
    this.#blocks.set(this.#key(kind, id), { kind, id, shown: '', open: true, heard: 0 });
    return [{ type: `${kind}-start`, id }];
  }

  delta(kind: Kind, id: string, text: string): UiChunk[] {
    const chunks: UiChunk[] = this.#current(kind, id) ? [] : this.start(kind, id);
    const block = this.#current(kind, id);
    if (!block || typeof text !== 'string' || text === '') return chunks;
    const fresh = text.slice(Math.max(0, block.shown.length - block.heard));
    block.heard += text.length;
    if (fresh === '') return chunks;
    if (!block.open) {
      block.open = true;
      chunks.push({ type: `${kind}-start`, id });
    }
    block.shown += fresh;
    return [...chunks, { type: `${kind}-delta`, id, delta: fresh }];
  }

  end(kind: Kind, id: string): UiChunk[] {
    const block = this.#current(kind, id);
    if (!block?.open) return [];
    block.open = false;
    return [{ type: `${kind}-end`, id }];
  }

  /** Ends what is open. */
  close(): UiChunk[] {
    return [...this.#blocks.values()].filter((block) => block.open).flatMap((block): UiChunk[] => {
      block.open = false;
      return [{ type: `${block.kind}-end`, id: block.id }];
    });
  }

  /** The turn is told again from its start. */
  rewind(): void {
    this.#counts.clear();
    for (const block of this.#blocks.values()) block.heard = 0;
  }

  #count(kind: Kind, id: string): number {
    return this.#counts.get(`${kind} ${id}`) ?? 0;
  }

  #key(kind: Kind, id: string): string {
    return `${kind} ${id} ${this.#count(kind, id)}`;
  }

  #current(kind: Kind, id: string): Block | undefined {
    return this.#blocks.get(this.#key(kind, id));
  }
}
