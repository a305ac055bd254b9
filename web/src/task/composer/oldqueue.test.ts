import { beforeEach, describe, expect, it } from 'vitest';
import { readDraft, saveDraft } from './draft.ts';
import { moveOldQueue } from './oldqueue.ts';
import type { Outgoing } from './queue.ts';

const moved = () => {
  const list: Outgoing[] = [];
  moveOldQueue('t', (message) => list.push(message));
  return list;
};

beforeEach(() => {
  sessionStorage.clear();
  localStorage.clear();
});

describe('the queue of an earlier version', () => {
  it('is moved to the broker, once', () => {
    sessionStorage.setItem('bellhop.queue.t', JSON.stringify([{ id: 'a', text: 'one', files: [] }]));
    expect(moved()).toEqual([{ id: 'a', text: 'one', files: [] }]);
    expect(moved()).toEqual([]);
    expect(sessionStorage.length).toBe(0);
  });
  it('becomes the draft if it was paused', () => {
    saveDraft('t', 'typed');
    sessionStorage.setItem(
      'bellhop.queue.t',
      JSON.stringify([
        { id: 'a', text: 'one' },
        { id: 'b', text: 'two' },
      ]),
    );
    sessionStorage.setItem('bellhop.queue.t.paused', 'true');
    expect(moved()).toEqual([]);
    expect(readDraft('t')).toBe('typed\n\none\n\ntwo');
  });
  it.each(['{', '{}', '[1, null]', '[{"id":"a"}]', '[{"id":1,"text":"x"}]'])(
    'is empty if it is invalid: %s',
    (stored) => {
      sessionStorage.setItem('bellhop.queue.t', stored);
      expect(moved()).toEqual([]);
    },
  );
});
