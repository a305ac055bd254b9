import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { readAgain } from '../app/again.ts';
import { api } from '../app/http.ts';
import type {
  AgentSession,
  Conversation,
  FollowupAttachment,
  FollowupMessage,
  Notebook,
  Source,
  SourceVersion,
} from '@bellhop/client';

export function useNotebooks() {
  return useQuery({
    queryKey: ['notebooks'],
    queryFn: async ({ signal }) =>
      (await api<{ notebooks: Notebook[] }>('GET', '/api/notebooks', undefined, signal)).notebooks,
  });
}

export function useNotebook(id: string) {
  return useQuery({
    queryKey: ['notebooks', id],
    queryFn: ({ signal }) =>
      api<{ notebook: Notebook; sources: Source[] }>('GET', `/api/notebooks/${id}`, undefined, signal),
  });
}

export function useAgentSessions() {
  return useQuery({
    queryKey: ['notebooks', 'sessions'],
    queryFn: async ({ signal }) =>
      (await api<{ agentSessions: AgentSession[] }>('GET', '/api/agent-sessions', undefined, signal)).agentSessions,
  });
}

export function useSource(id: string) {
  return useQuery({
    queryKey: ['sources', id],
    queryFn: async ({ signal }) =>
      (await api<{ source: Source }>('GET', `/api/sources/${id}`, undefined, signal)).source,
  });
}

export function useConversation(id: string) {
  return useQuery({
    queryKey: ['sources', id, 'conversation'],
    queryFn: ({ signal }) => api<Conversation>('GET', `/api/sources/${id}/conversation`, undefined, signal),
    // An attempt to deliver a question changes the conversation without a frame of the feed.
    refetchInterval: ({ state }) => (state.data?.messages.some((m) => m.metadata.progress) ? 3_000 : 30_000),
  });
}

export function useVersions(id: string, enabled: boolean) {
  return useQuery({
    queryKey: ['sources', id, 'versions'],
    enabled,
    queryFn: async ({ signal }) =>
      (await api<{ versions: SourceVersion[] }>('GET', `/api/sources/${id}/versions`, undefined, signal)).versions,
  });
}

export function useAskSource(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (question: { content: string; attachments: readonly FollowupAttachment[] }) =>
      api<{ message: FollowupMessage }>('POST', `/api/sources/${id}/conversation`, question),
    onSuccess: ({ message }) => {
      client.setQueryData<Conversation>(
        ['sources', id, 'conversation'],
        (c) => c && { ...c, messages: [...c.messages.filter((m) => m.id !== message.id), message] },
      );
      void readAgain(client, ['sources', id]);
    },
  });
}

/** Disconnects an agent or connects it again. A connection that the user ended can be renewed by that user only. */
export function useConnection() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, to }: { id: string; to: 'disconnect' | 'renew' }) =>
      api('POST', `/api/agent-sessions/${id}/${to}`),
    onSettled: () => Promise.all([readAgain(client, ['notebooks']), readAgain(client, ['sources'])]),
  });
}

export function useRemove(kind: 'notebooks' | 'sources') {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api('DELETE', `/api/${kind}/${id}`),
    onSettled: () => readAgain(client, ['notebooks']),
  });
}
