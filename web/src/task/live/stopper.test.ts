import type { ChatTransport, UIMessage } from 'ai';
import { expect, test } from 'vitest';
import { stopper } from './stopper.ts';

/** A transport whose sending ends when the test says so. */
function held() {
  let end = (_failure?: Error) => undefined as void;
  const transport: ChatTransport<UIMessage> = {
    sendMessages: () =>
      new Promise(
        (resolve, reject) => (end = (failure) => (failure ? reject(failure) : resolve(new ReadableStream()))),
      ),
    reconnectToStream: () => Promise.resolve(null),
  };
  return { transport, end: (failure?: Error) => end(failure) };
}

const message = {} as Parameters<ChatTransport<UIMessage>['sendMessages']>[0];

test('a turn that runs is stopped once', async () => {
  let interrupts = 0;
  const turns = stopper(async () => void interrupts++);
  const { transport, end } = held();
  const sent = turns.watch(transport).sendMessages(message);
  end();
  await sent;
  turns.arrived();
  await turns.stop();
  expect(interrupts).toBe(1);
});

test('a message on its way is stopped when the host has it', async () => {
  const order: string[] = [];
  const turns = stopper(async () => void order.push('interrupt'));
  const { transport, end } = held();
  const sent = turns.watch(transport).sendMessages(message);
  const stopped = turns.stop().then(() => order.push('stopped'));
  end();
  await sent;
  order.push('checked in');
  turns.arrived();
  await stopped;
  expect(order).toEqual(['interrupt', 'checked in', 'interrupt', 'stopped']);
});

test('a message that was refused holds up no stop', async () => {
  const turns = stopper(() => Promise.resolve());
  const { transport, end } = held();
  const sent = turns.watch(transport).sendMessages(message);
  const stopped = turns.stop();
  end(new Error('refused'));
  await expect(sent).rejects.toThrow('refused');
  await stopped;
});
