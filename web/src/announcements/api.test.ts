import type { Announcement } from '@bellhop/client';
import { expect, test } from 'vitest';
import { readSetting, writeSetting } from '../settings/store.ts';
import { readDismissed, visible } from './api.ts';

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
