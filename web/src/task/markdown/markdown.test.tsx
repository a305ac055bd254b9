import { cleanup, render } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import { parseBlocks } from './blocks.ts';
import { Markdown } from './markdown.tsx';
import { safeUrl } from './safe.ts';

afterEach(cleanup);
const html = (text: string) => render(<Markdown text={text} />).container;

describe('markdown of an agent', () => {
  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    'a <b onclick="x()">b</b>',
    '<iframe src="https://evil.example"></iframe>',
    '<style>*{display:none}</style>',
    '![x](https://evil.example/pixel.png)',
    '<svg/onload=alert(1)>',
  ])('becomes no element and loads nothing: %s', (text) => {
    const page = html(text);
    expect(page.querySelector('script, img, iframe, style, b, svg:not([aria-hidden])')).toBeNull();
  });
  it('shows HTML as text', () =>
    expect(html('<script>alert(1)</script>').textContent).toContain('<script>alert(1)</script>'));
  it.each([
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](data:text/html,<script>)',
    '[x](vbscript:x)',
    '[x](java\tscript:alert(1))',
    '<javascript:alert(1)>',
    '[x][1]\n\n[1]: javascript:alert(1)',
  ])('follows no link to %s', (text) => {
    expect(html(text).querySelector('a')).toBeNull();
  });
  it('opens links in a new tab without a referrer', () => {
    const link = html('[x](https://example.org/a)').querySelector('a');
    expect(link?.getAttribute('href')).toBe('https://example.org/a');
    expect(link?.rel).toContain('noopener');
    expect(link?.rel).toContain('noreferrer');
  });
  it.each(['a \u202e b', '`a \u202e b`', '```\na \u202e b\n```', '<b>\u202e'])(
    'replaces characters that reverse the direction of writing: %j',
    (text) => {
      expect(html(text).textContent).not.toContain('\u202e');
      expect(html(text).textContent).toContain('�');
    },
  );
  it.each([
    '**a',
    '```js\nx',
    '| a |\n|--',
    '[a](',
    '`'.repeat(1000),
    '> '.repeat(200),
    '#'.repeat(50),
    '- '.repeat(500),
  ])('survives markdown that is broken or not finished', (text) => {
    expect(() => html(text)).not.toThrow();
  });
  it('does not parse a line of a mebibyte', () => expect(parseBlocks('x*'.repeat(1 << 19)).blocks).toHaveLength(1));
});

describe('parseBlocks', () => {
  const complete =
    '# Title\n\nSome *text* here.\n\n- a\n- b\n\n```go\nfunc main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end.';
  it.each([
    ['\\n', complete],
    ['\\r\\n', complete.replaceAll('\n', '\r\n')],
  ])('returns the same blocks for a text with %s in pieces and at once', (_, text) => {
    let parsed: ReturnType<typeof parseBlocks> | undefined;
    for (let i = 1; i <= text.length; i++) parsed = parseBlocks(text.slice(0, i), parsed);
    expect(parsed?.blocks.map((b) => b.token.raw)).toEqual(parseBlocks(complete).blocks.map((b) => b.token.raw));
  });
  it('does not parse settled blocks again', () => {
    const before = parseBlocks(complete);
    const after = parseBlocks(`${complete} And more.`, before);
    for (let i = 0; i < before.blocks.length - 2; i++) expect(after.blocks[i]).toBe(before.blocks[i]);
  });
  it('parses from the start when the earlier text changed', () =>
    expect(parseBlocks('b', parseBlocks('a\n\nb\n\nc\n\nd')).blocks).toHaveLength(1));
});

describe('safeUrl', () => {
  it.each([
    'https://a.example/?q=1',
    'http://a.example',
    'mailto:a@b.example',
    'http://localhost:3000/tasks/1',
    'http://127.0.0.1:3001',
    'http://shop.localhost:3001',
  ])('takes %s', (url) => expect(safeUrl(url)).toBe(url));
  it.each([
    'javascript:alert(1)',
    '\u0001javascript:alert(1)',
    'java\nscript:alert(1)',
    '//evil.example',
    'file:///etc/passwd',
    'data:text/html,x',
    '/relative',
    '',
    // The tests' page is at http://localhost:3000.
    'http://localhost:3001/preview',
    'http://LOCALHOST:8080',
    'http://localhost.:3001',
    'https://localhost:3000',
    'http://user@localhost:3001',
  ])('refuses %s', (url) => expect(safeUrl(url)).toBeNull());
});
