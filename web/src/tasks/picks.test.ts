import { afterEach, expect, it } from 'vitest';
import { writeSetting } from '../settings/store.ts';
import type { Picks } from './choices.ts';
import { lastBranch, readPicks, savePicks } from './picks.ts';

afterEach(() => {
  writeSetting('picks', null);
  writeSetting('branches', null);
});

const nothing: Picks = { agent: '', model: '', project: '', hostId: '', branch: '', workspace: '', mode: 'ask' };

it('remembers the last picks', () => {
  expect(readPicks()).toEqual(nothing);
  const kept = { ...nothing, agent: 'claude', model: 'large', project: 'shop', hostId: 'h', mode: 'auto' as const };
  savePicks({ ...kept, workspace: 'h/fix' });
  expect(readPicks()).toEqual(kept);
});

it('remembers the last branch of each project', () => {
  savePicks({ ...nothing, project: 'shop', branch: 'release' });
  savePicks({ ...nothing, project: 'site', branch: 'next' });
  expect([readPicks().branch, lastBranch('shop'), lastBranch('blog')]).toEqual(['next', 'release', '']);
  savePicks({ ...nothing, project: 'shop' });
  expect(lastBranch('shop')).toBe('');
  writeSetting('branches', '[["site",7],"shop",{}]');
  expect([lastBranch('site'), lastBranch('shop')]).toEqual(['', '']);
  for (let i = 0; i < 60; i++) savePicks({ ...nothing, project: `p${i}`, branch: 'next' });
  expect([lastBranch('p9'), lastBranch('p10')]).toEqual(['', 'next']);
});

it.each(['{', 'null', '"text"', '[]', '{"mode":"all","agent":7}'])('begins again with %s', (kept) => {
  writeSetting('picks', kept);
  expect(readPicks()).toEqual(nothing);
});
