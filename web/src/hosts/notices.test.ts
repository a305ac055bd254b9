import { describe, expect, test } from 'vitest';
import type { Host } from '../app/types.ts';
import { hostNotices } from './api.ts';

const host = (name: string, health: Host['health']): Host => ({
  id: name,
  name,
  url: 'http://host.example',
  health,
  reach: 'direct',
  openTurns: 0,
  createdAt: '2026-03-01T12:00:00Z',
});

describe('notices about hosts', () => {
  test('name full hosts first, then those with little room, then the broker', () => {
    const hosts = [host('a', 'low-space'), host('b', 'ok'), host('c', 'full'), host('d', 'unreachable')];
    expect(hostNotices({ hosts, notices: ['Only 1 MiB is free'] })).toEqual([
      'The disk of c is full: no turn can start there',
      'The disk of a has little room left',
      'Only 1 MiB is free',
    ]);
  });

  test('begin with hosts of which two copies run', () => {
    const copied = { ...host('a', 'full'), copy: { place: 'm2:/data', seenAt: '2026-03-01T12:00:00Z' } };
    const nowhere = { ...host('b', 'ok'), copy: { place: '', seenAt: '2026-03-01T12:00:00Z' } };
    expect(hostNotices({ hosts: [copied, nowhere] })).toEqual([
      'Two copies of host a: events of the one at m2:/data wait. End one of them',
      'Two copies of host b: events of the one at another place wait. End one of them',
      'The disk of a is full: no turn can start there',
    ]);
  });

  test('are none while all is well', () => {
    expect(hostNotices({ hosts: [host('a', 'ok'), host('b', 'unknown')] })).toEqual([]);
  });
});
