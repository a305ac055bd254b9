import { afterEach, expect, it } from 'vitest';
import { writeSetting } from '../settings/store.ts';
import { readPicks, savePicks } from './picks.ts';

afterEach(() => writeSetting('picks', null));

const nothing = { agent: '', model: '', project: '', hostId: '', workspace: '', mode: 'ask' };

it('remembers the last picks', () => {
  expect(readPicks()).toEqual(nothing);
  const picks = { agent: 'claude', model: 'large', project: 'shop', hostId: 'h', workspace: '', mode: 'auto' } as const;
  savePicks({ ...picks, workspace: 'h/fix' });
  expect(readPicks()).toEqual(picks);
});

it.each(['{', 'null', '"text"', '[]', '{"mode":"all","agent":7}'])('begins anew with %s', (kept) => {
  writeSetting('picks', kept);
  expect(readPicks()).toEqual(nothing);
});
