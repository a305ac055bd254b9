import type { UserItem } from './merge.ts';
import type { Item } from './items.ts';
import type { Steps } from './steps.ts';

/** Pixels, measured in a thread of full width. */
const line = 22.4;
const toolRow = 31;
const gap = 8.4;
/** Characters in a line of an answer, and in one of the user's bubble. */
const inAnswer = 105;
const inBubble = 75;

/**
 * The height in pixels that rows of an answer probably have. The browser takes it for rows that it has not laid out
 * yet: the nearer it is, the less the scroll bar jumps, and the fewer rows are laid out at once.
 */
export function likelyHeight(rows: readonly (Item | Steps)[]): number {
  return Math.round(rows.reduce((sum, row) => sum + heightOfRow(row) + gap, 0));
}

/** The height that the user's message probably has. */
export function likelyHeightOfMessage(user: UserItem | undefined): number {
  return user ? Math.round(heightOfText(user.text, inBubble) + toolRow) : 0;
}

function heightOfRow(row: Item | Steps): number {
  switch (row.kind) {
    case 'text':
      return heightOfText(row.text, inAnswer);
    case 'tool':
      return row.state === 'error' ? 2 * toolRow + heightOfText(row.error, inAnswer) : toolRow;
    case 'question':
      return 2 * toolRow;
    case 'image':
      return 300;
    case 'diff':
      return toolRow;
    case 'reasoning':
    case 'steps':
    case 'link':
      return line;
  }
}

function heightOfText(text: string, width: number): number {
  let lines = 0;
  // A blank line between two paragraphs is their margin, which is lower than a line.
  for (const each of text.split('\n')) lines += each === '' ? 0.4 : Math.ceil(each.length / width);
  return Math.max(1, lines) * line;
}
