import { useMutation, useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { readAgain } from '../app/again.ts';
import { api } from '../app/http.ts';
import { toast } from '../ui/toast.tsx';
import type { AgentHint, FollowupMessage, Notebook } from '@bellhop/client';
import { useNotebooks } from './api.ts';

/** How many answers and failures in all notebooks the user has not seen. */
export const useUnread = (): number => (useNotebooks().data ?? []).reduce((sum, n) => sum + (n.unread ?? 0), 0);

/** A text that changes when a message arrives or a delivery fails. */
const stateOf = (messages: readonly FollowupMessage[]) =>
  messages.map((m) => `${m.id}${m.metadata.failure ?? ''}`).join();

/**
 * Marks the messages of a conversation as read at the broker, while the page is visible. Returns the ids of the answers
 * that were unread when this page first showed them.
 */
export function useMarkRead(sourceId: string, messages: readonly FollowupMessage[] | undefined): ReadonlySet<string> {
  const client = useQueryClient();
  const done = useRef('');
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const { mutate } = useMutation({
    mutationFn: ({ messageId }: { messageId: string; state: string }) =>
      api('POST', `/api/sources/${sourceId}/conversation/read`, { messageId }),
    onSuccess: (_data, { state }) => {
      done.current = state;
      void readAgain(client, ['notebooks']);
    },
  });
  useEffect(() => {
    const last = messages?.at(-1);
    if (!messages || !last) return;
    const mark = () => {
      const state = `${sourceId} ${stateOf(messages)}`;
      if (document.visibilityState !== 'visible' || done.current === state) return;
      const unread = messages.filter((m) => m.role === 'agent' && !m.metadata.read).map((m) => m.id);
      if (unread.length > 0) setFresh((before) => new Set([...before, ...unread]));
      if (unread.length > 0 || messages.some((m) => m.metadata.failure)) mutate({ messageId: last.id, state });
    };
    mark();
    document.addEventListener('visibilitychange', mark);
    return () => document.removeEventListener('visibilitychange', mark);
  }, [sourceId, messages, mutate]);
  return fresh;
}

/** The words for a change that the user wants to know about on any page; null for any other change. */
export function noticeOf(hint: AgentHint, agentName: string): string | null {
  switch (hint.event) {
    case 'answered':
      return `${agentName} answered your question`;
    case 'delivery_failed':
      return `A question to ${agentName} failed`;
    default:
      return null;
  }
}

/** By agent session: the newest rev whose hint was handled. */
const handledRevs = new Map<string, number>();

/** Shows a toast for an answer or a failure, unless the user looks at its conversation. */
export function announce(queries: QueryClient, hint: AgentHint, path: string, open: (sourceId: string) => void) {
  if (hint.rev <= (handledRevs.get(hint.agentSessionId) ?? 0)) return;
  handledRevs.set(hint.agentSessionId, hint.rev);
  const known = queries.getQueryData<Notebook[]>(['notebooks']);
  const agentName = known?.find((n) => n.agentSessionId === hint.agentSessionId)?.agentName ?? 'An agent';
  const text = noticeOf(hint, agentName);
  if (!text || path.endsWith(`/sources/${hint.sourceId}`)) return;
  toast(text, { label: 'Open', run: () => open(hint.sourceId) });
}
