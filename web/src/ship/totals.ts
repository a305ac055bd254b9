import { isDiff } from '@bellhop/client';
import { useMemo } from 'react';
import { useDiff } from '../diff/query.ts';
import type { Task } from '../app/types.ts';
import { countsOf, type Countable } from '../diff/counts.ts';
import { diffOf } from '../task/thread/items.ts';
import { useRows } from './draft.ts';

/** The changes of a task in a few words, as in "3 files +57 −87"; "" when no change is known. It asks no host. */
export function useTotals(task: Task): string {
  const rows = useRows(task.id);
  const read = useDiff(task.id, task.lastTurn?.id ?? '', false).data;
  return useMemo(() => {
    const stored = rows.findLast((r) => r.artifacts.some(isDiff))?.artifacts.find(isDiff);
    const diff = read === undefined ? stored && diffOf(stored.content) : read.diff;
    return diff ? totalsOf(diff) : '';
  }, [rows, read]);
}

export function totalsOf(diff: Countable): string {
  const { files, additions, deletions } = countsOf(diff);
  return files === 0 ? '' : `${files === 1 ? '1 file' : `${files} files`} +${additions} −${deletions}`;
}
