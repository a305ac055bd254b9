import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { QueuedMessages } from './queued.tsx';
import type { MessageQueue } from './queue.ts';

const why = 'The agent works in a terminal: the message is sent when that is closed. Send it now to close it first';

afterEach(cleanup);

function queueOf(state: 'waiting' | 'sending'): MessageQueue {
  const act = () => vi.fn();
  return {
    messages: [{ id: 'm1', message: 'Go on', state, failure: why, createdAt: '2026-01-01T00:00:00Z' }],
    adding: [],
    paused: undefined,
    reason: '',
    ...{ add: act(), dismiss: act(), change: act(), move: act(), remove: act(), sendNow: act(), resume: act() },
  };
}

test('a message that waits for a terminal says so, and can be removed or sent now', () => {
  const queue = queueOf('waiting');
  render(<QueuedMessages queue={queue} />);
  expect(screen.getByText('Next')).toBeTruthy();
  expect(screen.getByText(why)).toBeTruthy();
  fireEvent.click(screen.getByRole('button', { name: 'Send queued message now' }));
  fireEvent.click(screen.getByRole('button', { name: 'Remove queued message' }));
  expect(queue.sendNow).toHaveBeenCalledWith('m1');
  expect(queue.remove).toHaveBeenCalledWith('m1');
});

test('a message that is being sent cannot be changed', () => {
  render(<QueuedMessages queue={queueOf('sending')} />);
  expect(screen.getByText('Sending')).toBeTruthy();
  expect(screen.queryByRole('button')).toBeNull();
});
