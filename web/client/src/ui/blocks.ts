import type { NativePart } from '../part.js';
import type { UiChunk } from './chunk.js';

interface Block {
  kind: 'text' | 'reasoning';
  id: string;
  shown: string;
  /** How much of it was told, which in a replay is less than what was shown. */
  heard: number;
}

/**
 * Blocks of text and reasoning. Some models reuse an id in every step, so a block is its id and how often the id began; after
 * a rewind the counting starts again and only what was not shown yet is.
 */
export function textBlocks(show: (chunk: UiChunk) => void) {
  const blocks: Record<string, Block> = {};
  const open = new Set<Block>();
  let counts: Record<string, number> = {};

  const begin = (block: Block) => {
    open.add(block);
    show({ type: `${block.kind}-start`, id: block.id });
  };
  const end = (block: Block) => open.delete(block) && show({ type: `${block.kind}-end`, id: block.id });

  return {
    /** Whether the part is of a block. */
    take(part: NativePart): boolean {
      const [name, kind, phase] = /^(text|reasoning)-(start|delta|end)$/.exec(part.type) ?? [];
      if (!name) return false;
      const { id, text } = part as { id: string; text?: unknown };
      const counted = kind + id;
      const begins = phase === 'start' || (phase === 'delta' && !counts[counted]);
      if (begins) counts[counted] = (counts[counted] ?? 0) + 1;
      const key = counts[counted] + counted;
      let block = blocks[key];
      if (phase === 'end') {
        if (block) end(block);
        return true;
      }
      if (!block) begin((block = blocks[key] = { kind: kind as Block['kind'], id, shown: '', heard: 0 }));
      if (begins) block.heard = 0;
      const told = String(text ?? '');
      const delta = told.slice(Math.max(0, block.shown.length - block.heard));
      block.heard += told.length;
      if (!delta) return true;
      // Ended by a permission, it goes on behind it.
      if (!open.has(block)) begin(block);
      block.shown += delta;
      show({ type: `${block.kind}-delta`, id, delta });
      return true;
    },

    /** Ends what is open. */
    close: () => open.forEach(end),

    /** The turn is told again from its start. */
    rewind(): void {
      counts = {};
    },
  };
}
