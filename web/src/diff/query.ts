import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { client } from '../app/http.ts';
import type { Diff, Message } from '../app/types.ts';
import { diffOf } from '../task/thread/items.ts';

/** The present changes, null for none, and what a commit or a discard of them names. */
export interface Changes {
  diff: Diff | null;
  snapshot: string;
  head: string;
}

/** Asks the agent host for the changes in the task's directory. The broker stores new ones as a message of the task. */
export function useDiff(taskId: string, lastTurn: string, enabled: boolean, staleTime = 0) {
  return useQuery({
    // The turn that just ended may have changed more files.
    queryKey: ['diff', taskId, lastTurn],
    placeholderData: keepPreviousData,
    enabled,
    staleTime,
    queryFn: async (): Promise<Changes> => {
      const { message, unchangedSince: seq, snapshot = '', head = '' } = await client.diff(taskId);
      const kept = seq ? (await client.messages(taskId, { after: seq - 1, limit: 1 })).messages : [message];
      const artifact = (kept[0] as Message | undefined)?.artifacts.find((a) => a.type === 'DIFF');
      return { diff: artifact ? diffOf(artifact.content) : null, snapshot, head };
    },
  });
}
