import type { Item, ToolItem } from './items.ts';

/** Tool calls in a row of which none needs a look. */
export interface Steps {
  kind: 'steps';
  key: string;
  tools: ToolItem[];
}

const least = 4;

/**
 * Folds rows of at least four tool calls that succeeded without a question and without an exit code. While the turn
 * runs, the calls at its end are not folded: they show what the agent does.
 */
export function foldSteps(items: readonly Item[], running: boolean): (Item | Steps)[] {
  const folded: (Item | Steps)[] = [];
  let row: ToolItem[] = [];
  const flush = (fold: boolean) => {
    const [first] = row;
    if (fold && first && row.length >= least) folded.push({ kind: 'steps', key: `steps-${first.key}`, tools: row });
    else folded.push(...row);
    row = [];
  };
  for (const item of items) {
    if (item.kind === 'tool' && item.state === 'done' && !item.exit && !item.permission) {
      row.push(item);
    } else {
      flush(true);
      folded.push(item);
    }
  }
  flush(!running);
  return folded;
}

/** A chunk of this many items is long enough for a text to begin the next one. */
const chunk = 8;

/**
 * Divides the items of a turn so that the browser can lay out a long turn in parts. A chunk after the first begins with
 * a text, which ends a row of tool calls; items that are appended change only the last chunk.
 */
export function chunksOf(items: readonly Item[]): Item[][] {
  const chunks: Item[][] = [];
  for (const item of items) {
    const last = chunks.at(-1);
    if (last && (item.kind !== 'text' || last.length < chunk)) last.push(item);
    else chunks.push([item]);
  }
  return chunks;
}

/** How long the calls took together, in milliseconds: from the first start to the last end. 0 if that is not known. */
export function tookOf(tools: readonly ToolItem[]): number {
  const starts = tools.flatMap((t) => t.from ?? []);
  const ends = tools.flatMap((t) => t.to ?? []);
  if (starts.length === 0 || ends.length < tools.length) return 0;
  return Math.max(0, Math.max(...ends) - Math.min(...starts));
}
