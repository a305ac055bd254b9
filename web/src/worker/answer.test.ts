import { expect, it, vi } from 'vitest';
import { lies, tell } from '../../client/test/kit/lies.ts';
import { answer } from './answer.ts';
import { readNotice } from './notice.ts';

const notice = readNotice(
  '{"id":"e","event":"question","taskId":"t","interactionId":"q 1","title":"x","text":"y","answerable":true}',
);
const question = { ...notice, interactionId: 'q/1', answerable: true };
const responding = (status: number) =>
  vi.fn<typeof fetch>(async (_, init) => {
    const name = new Headers(init?.headers).get('bellhop-request') ?? '';
    return new Response('{}', { status, headers: { 'bellhop-broker': 'b1', 'bellhop-request': name } });
  });

it('sends the answer with the session of the browser, to this broker only', async () => {
  const send = responding(200);
  expect(await answer(question, true, '/bell/', send)).toBeNull();
  const [url, init] = send.mock.calls[0]!;
  expect(url).toBe('/bell/api/interactions/q%2F1');
  expect(init).toMatchObject({
    method: 'POST',
    credentials: 'same-origin',
    redirect: 'error',
    body: '{"approved":true}',
  });
});

it.each([
  [401, 'You are signed out'],
  [404, 'The question is gone'],
  [409, 'The question was answered otherwise'],
  [410, 'The question has expired'],
  [502, 'The broker refused the answer (502)'],
])('a refusal with %i leaves the question to the user', async (status, reason) => {
  expect(await answer(question, true, '/', responding(status))).toBe(reason);
});

it.each(lies)('an answer of something else is none: $name', async (lie) => {
  const send = vi.fn<typeof fetch>(() => tell(lie, () => new Response('{}', { headers: { 'bellhop-broker': 'b1' } })));
  expect(await answer(question, true, '/', send)).toMatch(/Something other|cannot be reached/);
});

it('a broker that cannot be reached leaves the question to the user', async () => {
  const send = vi.fn<typeof fetch>(() => Promise.reject(new TypeError('x')));
  expect(await answer(question, false, '/', send)).toBe('The broker cannot be reached');
});

it('sends nothing for a question that must be read first', async () => {
  const send = responding(200);
  expect(await answer({ ...question, answerable: false }, true, '/', send)).not.toBeNull();
  expect(send).not.toHaveBeenCalled();
});
