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
 * The height in pixels that a turn probably has. The browser takes it for turns that it has not laid out yet: the
 * nearer it is, the less the scroll bar jumps, and the fewer turns are laid out at once.
 */
export function likelyHeight(user: UserItem | undefined, rows: readonly (Item | Steps)[]): number {
  const bubble = user ? heightOfText(user.text, inBubble) + toolRow : 0;
  return Math.round(rows.reduce((sum, row) => sum + heightOfRow(row) + gap, bubble));
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
