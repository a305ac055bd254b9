import { maxPrompt } from '@bellhop/client';
import { describe, expect, it } from 'vitest';
import type { OfferList } from '../../app/types.ts';
import { acceptOf, artifactsOf, filesOf, keptFiles, limitsOf, readFiles, sizeText, takenBy } from './attachments.ts';

const png = '\x89PNG\r\n\x1a\n';
const mebibyte = 1 << 20;
const all = { agent: 'Claude Code', kinds: ['image', 'text', 'pdf'] as const };
const bytes = (start: string, length = start.length) => {
  const content = new Uint8Array(length).fill(120);
  for (let i = 0; i < start.length; i++) content[i] = start.charCodeAt(i);
  return content;
};
const file = (name: string, content: BlobPart, type = '') => new File([content], name, { type });

describe('the files of a message', () => {
  it('are what their content says', async () => {
    const { read, refused } = await readFiles(
      [
        file('a.jpg', bytes(png), 'image/jpeg'),
        file('b.webp', bytes('RIFF0000WEBPVP8 ')),
        file('c.pdf', bytes('%PDF-1.7')),
        file('d.go', 'package main'),
        file('e.html', '<p>grüß</p>', 'text/html'),
      ],
      [],
      all,
    );
    expect(refused).toBe('');
    expect(read.map((f) => [f.kind, f.name, f.mediaType, f.bytes])).toEqual([
      ['image', 'a.jpg', 'image/png', 8],
      ['image', 'b.webp', 'image/webp', 16],
      ['pdf', 'c.pdf', 'application/pdf', 8],
      ['text', 'd.go', 'text/plain', 12],
      ['text', 'e.html', 'text/html', 13],
    ]);
    expect(read[3]?.url).toBe(`data:text/plain;base64,${btoa('package main')}`);
  });

  it('have names that hosts accept', async () => {
    const { read } = await readFiles([file('a\nb.txt', 'x'), file('ü'.repeat(200), 'x'), file('\n', 'x')], [], all);
    expect(read.map((f) => f.name)).toEqual(['ab.txt', 'ü'.repeat(127), 'text']);
  });

  it.each([
    ['a program', [file('a.bin', bytes('\x7fELF\x00'))], /^a.bin is neither an image/],
    ['no UTF-8', [file('a.txt', bytes('\xff\xfe'))], /^a.txt is neither an image/],
    ['SVG', [file('a.txt', '<?xml?><SVG/>')], /^a.txt is neither an image/],
    ['an image of another type', [file('a.bmp', 'BM', 'image/bmp')], /^a.bmp is neither an image/],
    ['empty', [file('a.txt', '')], /^a.txt is empty$/],
    ['over 5 MiB', [file('a.txt', bytes('x', 5 * mebibyte + 1))], /^a.txt is larger than 5 MiB$/],
    ['beyond six', Array.from({ length: 7 }, () => file('a.txt', 'x')), /^At most 6 files go with a message$/],
  ])('are refused when they are %s', async (_, files, reason) => {
    expect((await readFiles(files, [], all)).refused).toMatch(reason);
  });

  it('are refused when the agent does not take them, or they cannot be read', async () => {
    const texts = { agent: 'Codex', kinds: ['image', 'text'] as const };
    expect((await readFiles([file('c.pdf', bytes('%PDF-1.7'))], [], texts)).refused).toBe('c.pdf: Codex takes no PDFs');
    const folder = { name: 'src', size: 4096, type: '' } as File;
    expect((await readFiles([folder], [], all)).refused).toBe('src cannot be read. A folder cannot be attached');
  });

  it('fit into one prompt, whose size the agent host limits', async () => {
    const files = Array.from({ length: 4 }, (_, i) => file(`${i}.png`, bytes(png, 3 * mebibyte)));
    const { read, refused } = await readFiles(files, [], all);
    expect(read.map(({ name }) => name)).toEqual(['0.png', '1.png']);
    expect(refused).toBe('3.png does not fit: the files of a message may have 8 MiB in all');
    expect(read.reduce((sum, { url }) => sum + url.length, 0)).toBeLessThan(maxPrompt);
  });

  it('are those that the host offers for the agent of the task', () => {
    const list = {
      agents: [],
      hosts: [
        {
          hostId: 'h1',
          offer: {
            defaultAgent: 'claude',
            agents: [
              { id: 'claude', title: 'Claude Code', attachments: ['image', 'text', 'pdf', 'video'] },
              { id: 'old', title: 'Old' },
            ],
          },
        },
      ],
    } as unknown as OfferList;
    expect(takenBy(list, { agent: '', hostId: 'h1' })).toEqual({ agent: 'Claude Code', kinds: all.kinds });
    expect(takenBy(list, { agent: 'old', hostId: 'h1' })).toEqual({ agent: 'Old', kinds: ['image'] });
    expect(takenBy(list, { agent: '', hostId: '' })).toEqual({ agent: 'The agent', kinds: ['image'] });
    expect(limitsOf(all)).toBe('images, texts and PDFs, up to 6 of 5 MiB, 8 MiB in all');
    expect(acceptOf(all)).toBe('');
    expect(acceptOf({ agent: '', kinds: ['pdf'] })).toBe('application/pdf');
  });

  it('come from a drop, and from a paste unless text is with them', () => {
    const data = (types: string[]) => ({ types, files: [file('a.png', 'x')] }) as unknown as DataTransfer;
    expect(filesOf(data(['Files', 'text/plain']))).toHaveLength(1);
    expect(filesOf(data(['Files', 'text/html']), { pasted: true })).toHaveLength(1);
    expect(filesOf(data(['Files', 'text/plain']), { pasted: true })).toEqual([]);
    expect(filesOf(null)).toEqual([]);
  });

  it('stay in the history by name', () => {
    const kept = artifactsOf([{ kind: 'text', name: 'a.txt', mediaType: 'text/plain', bytes: 3, url: 'data:,x' }]);
    expect(
      keptFiles([...kept, { type: 'FILE', content: { name: 'b' } }, { type: 'ATTACHMENT', content: null }]),
    ).toEqual([{ name: 'a.txt', mediaType: 'text/plain', bytes: 3 }]);
    expect([3, 2048, 1.5 * mebibyte].map(sizeText)).toEqual(['3 bytes', '2 KiB', '1.5 MiB']);
  });
});
