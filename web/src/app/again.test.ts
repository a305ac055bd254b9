import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { expect, it } from 'vitest';
import { readAgain } from './again.ts';

it('drops a first read that began before the act', async () => {
  const queries = new QueryClient();
  let answers: ((state: string) => void)[] = [];
  const observer = new QueryObserver(queries, {
    queryKey: ['workspace', 't', 'turn 2'],
    queryFn: () => new Promise<string>((resolve) => answers.push(resolve)),
  });
  const stop = observer.subscribe(() => undefined);
  expect(answers).toHaveLength(1);
  const done = readAgain(queries, ['workspace', 't']);
  await expect.poll(() => answers.length).toBe(2);
  for (const [i, answer] of answers.entries()) answer(i === 0 ? 'before' : 'after');
  answers = [];
  await done;
  expect(observer.getCurrentResult().data).toBe('after');
  stop();
});
