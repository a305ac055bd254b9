import type { Diff } from '../app/types.ts';

export interface Countable {
  files: readonly { additions: number; deletions: number }[];
  total?: Diff['total'];
}

/** Counts all changes of a diff, also those that were left out of its list. */
export function countsOf({ files, total }: Countable): { files: number; additions: number; deletions: number } {
  if (total) return total;
  const sum = (of: 'additions' | 'deletions') => files.reduce((n, f) => n + f[of], 0);
  return { files: files.length, additions: sum('additions'), deletions: sum('deletions') };
}
