// @vitest-environment jsdom
import { StrictMode, type ReactNode } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { useChat } from '@ai-sdk/react';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { bellhop, shouldSendAutomatically } from '../../src/ai-sdk.js';
import { brokerUrl, FakeBellhop } from '../kit/fake.js';
import { until } from '../kit/chat.js';

const major = inject('major');
let server: FakeBellhop;
let servers = 0;
let root: Root | undefined;
let renders = 0;

beforeEach(() => {
  server = new FakeBellhop(`react-${++servers}`);
  renders = 0;
});
afterEach(() => {
  root?.unmount();
  document.body.innerHTML = '';
});

/** Usage as in an app: the transport is created while rendering. */
function App({ resume = false }: { resume?: boolean }): ReactNode {
  const chat = useChat({
    id: `chat-${servers}`,
    resume,
    transport: bellhop({ taskId: 'task', endpoint: `${brokerUrl}/`, token: `${servers}`, fetch: server.fetch }),
    sendAutomaticallyWhen: shouldSendAutomatically,
  });
  const { addToolApprovalResponse } = chat as {
    addToolApprovalResponse?: (answer: { id: string; approved: boolean }) => void;
  };
  renders++;
  return (
    <main>
      <p id="status">{chat.status}</p>
      {chat.messages.map((message) => (
        <article key={message.id} className={message.role}>
          {message.parts.map((part, at) => {
            if (part.type === 'text') return <span key={at}>{part.text}</span>;
            if (part.type !== 'dynamic-tool') return null;
            const { state, toolName } = part as { state: string; toolName: string };
            return (
              <em key={at}>
                {`${toolName}:${state}`}
                {state === 'approval-requested' && (
                  <button id="allow" onClick={() => addToolApprovalResponse?.({ id: 'a1', approved: true })} />
                )}
              </em>
            );
          })}
        </article>
      ))}
      <button id="send" onClick={() => void chat.sendMessage({ text: 'hi' })} />
      <button id="stop" onClick={() => void chat.stop()} />
    </main>
  );
}

function mount(app: ReactNode): void {
  const place = document.createElement('div');
  document.body.replaceChildren(place);
  root = createRoot(place);
  root.render(app);
}

const $ = (selector: string) => document.querySelector<HTMLElement>(selector);
const shown = (selector = '.assistant') =>
  [...document.querySelectorAll(selector)].map((node) => node.textContent).join('|');
const ready = () => $('#status')?.textContent === 'ready';
const click = async (selector: string) => {
  await until(() => $(selector) !== null);
  $(selector)!.click();
};

describe('useChat', () => {
  test.each([false, true])('shows text and tools, strict mode: %s', async (strict) => {
    server.script = (turn) => turn.text('t1', 'Hello ', 'you').tool('c1', 'Read', 'x').text('t2', '!').finish();
    mount(
      strict ? (
        <StrictMode>
          <App />
        </StrictMode>
      ) : (
        <App />
      ),
    );
    await click('#send');
    await until(() => shown().includes('!') && ready());
    expect(shown()).toBe('Hello youRead:output-available!');
    expect(server.turns).toHaveLength(1);
  });

  if (major > 5)
    test('the stock button answers a permission', async () => {
      server.script = (turn) => turn.ask('a1', 'c1');
      server.onAnswer = (turn) => {
        turn.send({ type: 'tool-approval-response', approvalId: 'a1', approved: true });
        turn.send({ type: 'tool-result', toolCallId: 'c1', toolName: 'Bash', output: 0 }).text('t', 'Done').finish();
      };
      mount(<App />);
      await click('#send');
      await click('#allow');
      await until(() => shown().includes('Done') && ready());
      expect(shown()).toBe('Bash:output-availableDone');
      expect(renders).toBeLessThan(60);
    });

  test('unmounted during a turn and mounted again it catches up, and the agent was not stopped', async () => {
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', text: 'one ' });
    mount(<App />);
    await click('#send');
    await until(() => shown() === 'one ');
    root?.unmount();
    server.turn.send({ type: 'text-delta', id: 't', text: 'two ' });
    mount(
      <StrictMode>
        <App resume />
      </StrictMode>,
    );
    await until(() => shown().includes('two'));
    server.turn.send({ type: 'text-delta', id: 't', text: 'three' }).finish();
    await until(() => shown().includes('three') && ready());
    expect(shown()).toBe('one two three');
    expect(server.count('POST', '/api/agent/interrupt')).toBe(0);
  });

  test('is ready after stop, and the turn continues', async () => {
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', text: 'one' });
    mount(<App />);
    await click('#send');
    await until(() => shown() === 'one');
    await click('#stop');
    await until(ready);
    await until(() => server.turn.readers.size === 0);
    expect(server.turn.over).toBe(false);
  });
});

test('a task has one transport per page, and one for each token', () => {
  const options = { taskId: 'task', endpoint: brokerUrl, token: 'one' };
  expect(bellhop(options)).toBe(bellhop({ ...options }));
  expect(bellhop(options)).not.toBe(bellhop({ ...options, token: 'two' }));
  expect(bellhop(options)).not.toBe(bellhop({ ...options, taskId: 'another' }));
});
