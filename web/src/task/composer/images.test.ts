import { maxPrompt } from '@bellhop/client';
import { describe, expect, it } from 'vitest';
import { readImages } from './images.ts';

const image = (name: string, bytes: number, type = 'image/png') => new File([new Uint8Array(bytes)], name, { type });
const mebibyte = 1 << 20;

describe('the images of a message', () => {
  it('are read as data: URLs', async () => {
    const { images, refused } = await readImages([image('a.png', 3)], []);
    expect(images).toEqual([{ name: 'a.png', mediaType: 'image/png', url: 'data:image/png;base64,AAAA' }]);
    expect(refused).toBe('');
  });

  it.each([
    ['of another type', [image('a.svg', 3, 'image/svg+xml')], 'a.svg is no PNG, JPEG, GIF or WebP image'],
    ['over 5 MiB', [image('a.png', 5 * mebibyte + 1)], 'a.png is larger than 5 MiB'],
    ['beyond six', Array.from({ length: 7 }, () => image('a.png', 3)), 'At most 6 images go with a message'],
  ])('are refused when %s', async (_, files, reason) => {
    expect((await readImages(files, [])).refused).toBe(reason);
  });

  it('fit into one prompt, whose size the agent host limits', async () => {
    const files = Array.from({ length: 4 }, (_, i) => image(`${i}.png`, 3 * mebibyte));
    const { images, refused } = await readImages(files, []);
    expect(images.map(({ name }) => name)).toEqual(['0.png', '1.png']);
    expect(refused).toBe('3.png does not fit: the images of a message may have 8 MiB in all');
    expect(images.reduce((sum, { url }) => sum + url.length, 0)).toBeLessThan(maxPrompt);
  });
});
