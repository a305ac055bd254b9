import { isDiff } from '@bellhop/client';
import { useMemo } from 'react';
import { useDiff } from '../diff/query.ts';
import type { Task } from '../app/types.ts';
import { diffOf } from '../task/thread/items.ts';
import { useRows } from './draft.ts';

/** The changes of a task in a few words, as in "3 files +57 −87"; "" when no change is known. It asks no host. */
export function useTotals(task: Task): string {
  const rows = useRows(task.id);
  const read = useDiff(task.id, task.lastTurn?.id ?? '', false).data;
  return useMemo(() => {
    const stored = rows.findLast((r) => r.artifacts.some(isDiff))?.artifacts.find(isDiff);
    const diff = read === undefined ? stored && diffOf(stored.content) : read.diff;
    return diff ? totalsOf(diff.files) : '';
  }, [rows, read]);
}

export function totalsOf(files: readonly { additions: number; deletions: number }[]): string {
  if (files.length === 0) return '';
  const sum = (of: 'additions' | 'deletions') => files.reduce((n, f) => n + f[of], 0);
  return `${files.length === 1 ? '1 file' : `${files.length} files`} +${sum('additions')} −${sum('deletions')}`;
}
