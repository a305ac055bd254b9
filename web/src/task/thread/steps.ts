import type { Item, ToolItem } from './items.ts';

/** Tool calls in a row of which none needs a look. */
export interface Steps {
  kind: 'steps';
  key: string;
  tools: ToolItem[];
}

const least = 4;

/**
 * Folds rows of at least four tool calls that succeeded without a question. While the turn runs, the calls at its end
 * are not folded: they show what the agent does.
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
    if (item.kind === 'tool' && item.state === 'done' && !item.permission) {
      row.push(item);
    } else {
      flush(true);
      folded.push(item);
    }
  }
  flush(!running);
  return folded;
}
