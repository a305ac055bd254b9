import { beforeEach, describe, expect, it, vi } from 'vitest';
import { MessageQueue, type Queued } from './queue.ts';

const message = (id: string, text = id): Queued => ({ id, text, files: [] });
const make = () => new MessageQueue('q', sessionStorage);

beforeEach(() => sessionStorage.clear());

describe('the queue of messages', () => {
  it('returns the messages in order, each once', () => {
    const queue = make();
    queue.add(message('a'));
    queue.add(message('b'));
    expect([queue.shift()?.id, queue.shift()?.id, queue.shift()]).toEqual(['a', 'b', undefined]);
  });
  it('survives a reload, without the images', () => {
    make().add({ ...message('a'), files: [{ name: 'x', mediaType: 'image/png', url: 'data:image/png;base64,AA==' }] });
    expect(make().list).toEqual([message('a')]);
  });
  it('is edited and removed in place', () => {
    const queue = make();
    queue.add(message('a'));
    queue.add(message('b'));
    queue.edit('a', 'better');
    queue.remove('b');
    expect(queue.list).toEqual([message('a', 'better')]);
  });
  it('drops a message whose text was removed', () => {
    const queue = make();
    queue.add(message('a'));
    queue.edit('a', '  ');
    expect(queue.list).toEqual([]);
  });
  it('puts a message back at the front', () => {
    const queue = make();
    queue.add(message('b'));
    queue.unshift(message('a'));
    expect(queue.list.map((m) => m.id)).toEqual(['a', 'b']);
  });
  it.each(['{', '{}', '[1, null]', '[{"id":"a"}]'])('starts empty on what it did not write: %s', (stored) => {
    sessionStorage.setItem('q', stored);
    expect(make().list).toEqual([]);
  });
  it('stays paused over a reload, until it is resumed or empty', () => {
    const queue = make();
    queue.pause();
    expect(queue.paused).toBe(false);
    queue.add(message('a'));
    queue.pause();
    expect([queue.paused, make().paused]).toEqual([true, true]);
    queue.resume();
    expect([queue.paused, make().paused]).toEqual([false, false]);
    queue.pause();
    queue.remove('a');
    queue.add(message('b'));
    expect([queue.paused, make().paused]).toEqual([false, false]);
  });
  it('notifies of every change', () => {
    const queue = make();
    const listener = vi.fn();
    queue.subscribe(listener);
    queue.add(message('a'));
    queue.shift();
    expect(listener).toHaveBeenCalledTimes(2);
  });
});
