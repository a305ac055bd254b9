import { describe, expect, test } from 'vitest';
import type { Host } from '../app/types.ts';
import { diskNotices } from './api.ts';

const host = (name: string, health: Host['health']): Host => ({
  id: name,
  name,
  url: 'http://host.example',
  health,
  reach: 'direct',
  openTurns: 0,
  createdAt: '2026-03-01T12:00:00Z',
});

describe('notices about disks', () => {
  test('name full hosts first, then those with little room, then the broker', () => {
    const hosts = [host('a', 'low-space'), host('b', 'ok'), host('c', 'full'), host('d', 'unreachable')];
    expect(diskNotices({ hosts, notices: ['Only 1 MiB is free'] })).toEqual([
      'The disk of c is full: no turn can start there',
      'The disk of a has little room left',
      'Only 1 MiB is free',
    ]);
  });

  test('are none while all is well', () => {
    expect(diskNotices({ hosts: [host('a', 'ok'), host('b', 'unknown')] })).toEqual([]);
  });
});
