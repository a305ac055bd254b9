import type { NativePart } from '../part.js';
import type { UiChunk } from './chunk.js';

type Kind = 'text' | 'reasoning';
type BlockPart = Extract<NativePart, { type: `${Kind}-${string}` }>;

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

  take(part: BlockPart): void {
    const { id } = part;
    const [kind, phase] = part.type.split('-') as [Kind, 'start' | 'delta' | 'end'];
    const name = `${kind} ${id}`;
    const key = () => `${name} ${this.#counts[name]}`;
    if (phase === 'end') return this.#end(this.#blocks.get(key()));
    if (phase === 'start' || !this.#blocks.has(key())) {
      this.#counts[name] = (this.#counts[name] ?? 0) + 1;
      if (!this.#blocks.has(key())) {
        this.#blocks.set(key(), { kind, id, shown: '', open: true, heard: 0 });
        this.show({ type: `${kind}-start`, id });
      }
    }
    const block = this.#blocks.get(key());
    if (block && 'text' in part && typeof part.text === 'string') this.#delta(block, part.text);
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

  #delta(block: Block, text: string): void {
    const { kind, id, shown, heard } = block;
    const delta = text.slice(Math.max(0, shown.length - heard));
    block.heard += text.length;
    if (delta === '') return;
    // Ended by a permission, it goes on behind it.
    if (!block.open) this.show({ type: `${kind}-start`, id });
    block.open = true;
    block.shown += delta;
    this.show({ type: `${kind}-delta`, id, delta });
  }

  #end(block: Block | undefined): void {
    if (!block?.open) return;
    block.open = false;
    this.show({ type: `${block.kind}-end`, id: block.id });
  }
}
