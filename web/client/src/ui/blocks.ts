import type { NativePart } from '../part.js';
import type { UiChunk } from './chunk.js';

interface Block {
  kind: 'text' | 'reasoning';
  id: string;
  shown: string;
  /** Characters read. During a replay these are fewer than were shown. */
  read: number;
}

/** Returns the conversion of text and reasoning parts. Some models reuse an id in every step, so a block is
 * identified by its id and by how often that id began. After a rewind the counting starts again, and only text that
 * was not shown yet is shown. */
export function textBlocks(show: (chunk: UiChunk) => void) {
  const blocks: Record<string, Block> = {};
  const open = new Set<Block>();
  let counts: Record<string, number> = {};

  const begin = (block: Block) => {
    open.add(block);
    show({ type: `${block.kind}-start`, id: block.id });
  };
  const end = (block: Block) => open.delete(block) && show({ type: `${block.kind}-end`, id: block.id });

  const append = (block: Block, text: string) => {
    const delta = text.slice(Math.max(0, block.shown.length - block.read));
    block.read += text.length;
    if (!delta) return;
    // A permission has ended the block, which continues afterwards.
    if (!open.has(block)) begin(block);
    block.shown += delta;
    show({ type: `${block.kind}-delta`, id: block.id, delta });
  };

  return {
    /** Returns whether the part belongs to a block. */
    take(part: NativePart): boolean {
      const [name, kind, phase] = /^(text|reasoning)-(start|delta|end)$/.exec(part.type) ?? [];
      if (!name) return false;
      const { id, text } = part as { id: string; text?: unknown };
      const counted = kind + id;
      const begins = phase === 'start' || (phase === 'delta' && !counts[counted]);
      if (begins) counts[counted] = (counts[counted] ?? 0) + 1;
      const key = counts[counted] + counted;
      const isNew = !blocks[key];
      blocks[key] ??= { kind: kind as Block['kind'], id, shown: '', read: 0 };
      const block = blocks[key];
      if (phase === 'end') end(block);
      else {
        if (isNew) begin(block);
        if (begins) block.read = 0;
        append(block, String(text ?? ''));
      }
      return true;
    },

    /** Ends all open blocks. */
    close: () => open.forEach(end),

    /** The turn's parts are repeated from its start. */
    rewind(): void {
      counts = {};
    },
  };
}
