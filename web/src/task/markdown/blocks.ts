import { Lexer, type Token } from 'marked';

/** A block of markdown. Its source is its identity: a block with the same source is not rendered again. */
export interface Block {
  key: string;
  token: Token;
}

interface Parsed {
  text: string;
  blocks: readonly Block[];
}

/** A longer block is shown as plain text: laying it out would freeze the page. */
export const longestBlock = 100_000;

/**
 * Splits markdown into blocks. With the previous result, only the text after the last settled block is parsed again:
 * while text streams in at its end, all but the last two blocks are final.
 */
export function parseBlocks(given: string, before?: Parsed): Parsed {
  const text = given.replace(/\r\n?/g, '\n'); // as the lexer does: positions are sums of its tokens' lengths
  let from = 0;
  let kept: readonly Block[] = [];
  if (before && text.startsWith(before.text) && before.blocks.length > 2) {
    kept = before.blocks.slice(0, -2);
    for (const b of kept) from += b.token.raw.length;
  }
  const rest = text.slice(from);
  const tokens = lex(rest);
  const blocks = [...kept];
  for (const token of tokens) blocks.push({ key: `${blocks.length}`, token });
  return { text, blocks };
}

function lex(text: string): Token[] {
  // marked's regular expressions are too slow for lines of a mebibyte.
  if (hasOverlongLine(text)) return [{ type: 'text', raw: text, text }];
  try {
    return new Lexer({ gfm: true, breaks: false }).lex(text);
  } catch {
    return [{ type: 'text', raw: text, text }];
  }
}

function hasOverlongLine(text: string): boolean {
  if (text.length < 20_000) return false;
  let start = 0;
  for (;;) {
    const end = text.indexOf('\n', start);
    if ((end < 0 ? text.length : end) - start > 20_000) return true;
    if (end < 0) return false;
    start = end + 1;
  }
}
