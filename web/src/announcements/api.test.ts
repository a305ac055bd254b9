import type { Announcement } from '@bellhop/client';
import { expect, test } from 'vitest';
import type { OfferList } from '../app/types.ts';
import { readSetting, writeSetting } from '../settings/store.ts';
import { noticesOf, readDismissed, visible } from './api.ts';

const noon = Date.parse('2026-01-01T12:00:00Z');

const announcement = (announcementId: string, expiresAt: string): Announcement => ({
  announcementId,
  text: announcementId,
  level: 'info',
  createdAt: '2026-01-01T00:00:00Z',
  expiresAt,
});

test('expired and dismissed announcements are not shown', () => {
  const list = [
    announcement('past', '2026-01-01T11:59:59Z'),
    announcement('now', '2026-01-01T12:00:00Z'),
    announcement('later', '2026-01-01T12:00:01Z'),
    announcement('dismissed', '2026-01-01T13:00:00Z'),
  ];
  expect(visible(list, ['dismissed', 'other'], noon).map((a) => a.announcementId)).toEqual(['later']);
});

test('a damaged setting dismisses nothing', () => {
  for (const value of ['', '{', '{"a":1}', 'null', '7']) {
    writeSetting('dismissed-announcements', value);
    expect(readDismissed()).toEqual([]);
  }
  writeSetting('dismissed-announcements', '["a",7,"b"]');
  expect(readDismissed()).toEqual(['a', 'b']);
  writeSetting('dismissed-announcements', null);
  expect(readSetting('dismissed-announcements')).toBeNull();
});

test('hosts that can be reached show their notices with their names', () => {
  const offer = (text: string) => ({ notices: [{ id: 'policy', level: 'warning', text }] });
  const hosts = [
    { hostId: 'h1', name: 'one', online: true, offer: offer('The policy is wrong') },
    { hostId: 'h2', name: 'two', online: false, offer: offer('of before') },
    { hostId: 'h3', name: 'three', online: true, offer: {} },
    { hostId: 'h4', name: 'basic', online: true },
  ];
  expect(noticesOf({ agents: [], hosts } as unknown as OfferList)).toEqual([
    { key: 'h1 policy', level: 'warning', text: 'one: The policy is wrong' },
  ]);
  expect(noticesOf(undefined)).toEqual([]);
});
