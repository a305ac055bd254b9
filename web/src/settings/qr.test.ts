import { expect, it } from 'vitest';
import { encode } from 'uqr';
import { pathOf } from './qr.tsx';

it('draws one rectangle for each run of black squares', () => {
  expect(
    pathOf([
      [true, true, false, true],
      [false, false, false, false],
      [false, true, true, true],
    ]),
  ).toBe('M0 0h2v1h-2zM3 0h1v1h-1zM1 2h3v1h-3z');
});

it('draws every black square of a code', () => {
  const { data } = encode('otpauth://totp/Bellhop:ada?secret=ABC', { ecc: 'M', border: 4 });
  const drawn = [...pathOf(data).matchAll(/h(\d+)v/g)].reduce((sum, run) => sum + Number(run[1]), 0);
  expect(drawn).toBe(data.flat().filter(Boolean).length);
});
