import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { expect, it } from 'vitest';
import type { Interaction } from '../app/types.ts';
import { applyInteraction } from './feed.ts';
import { confirm } from './kit.ts';

it('keeps a question of the feed when an older read of the list arrives after it', async () => {
  const queries = new QueryClient();
  const reads: ((list: Interaction[]) => void)[] = [];
  const options = {
    queryKey: ['interactions'],
    queryFn: () => new Promise<Interaction[]>((resolve) => reads.push(resolve)),
  };
  queries.setQueryData<Interaction[]>(['interactions'], []);
  const stop = new QueryObserver(queries, options).subscribe(() => undefined);
  expect(reads).toHaveLength(1);
  applyInteraction(queries, confirm());
  expect(reads).toHaveLength(2);
  reads[0]?.([]);
  reads[1]?.([confirm()]);
  await expect.poll(() => queries.isFetching()).toBe(0);
  expect(queries.getQueryData<Interaction[]>(['interactions'])).toEqual([confirm()]);
  stop();
});
