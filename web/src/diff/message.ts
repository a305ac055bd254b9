import type { LineComment } from './review.ts';

/** Makes one message of comments, in the order of their files and lines: path, line, code and text of each. */
export function reviewMessage(comments: readonly LineComment[], order: readonly string[] = []): string {
  const rank = (path: string) => (order.includes(path) ? order.indexOf(path) : order.length);
  const sorted = [...comments].sort((a, b) => rank(a.path) - rank(b.path) || a.line - b.line);
  const head = comments.length === 1 ? 'A comment on your changes:' : `${comments.length} comments on your changes:`;
  return [head, ...sorted.map(part)].join('\n\n');
}

function part({ path, side, line, code, text }: LineComment): string {
  const fence = '`'.repeat(Math.max(3, longestRun(code) + 1));
  const where = `${inline(path)}, ${side === 'after' ? 'line' : 'removed line'} ${line}:`;
  return `${where}\n${fence}\n${code}\n${fence}\n${text}`;
}

/** A name as code. One that would break out of its place is written as a JSON string. */
function inline(path: string): string {
  const plain = /^[^\p{C}\p{Zl}\p{Zp}`]+$/u.test(path);
  if (plain) return `\`${path}\``;
  const spelled = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(path).replace(/[\p{C}\p{Zl}\p{Zp}`]/gu, (c) => c.split('').map(spelled).join(''));
}

const longestRun = (code: string) => Math.max(0, ...[...code.matchAll(/`+/g)].map(([run]) => run.length));
