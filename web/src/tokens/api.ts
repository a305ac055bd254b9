import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../app/http.ts';

export interface ApiToken {
  id: string;
  name: string;
  kind: 'user' | 'agent';
  agentIdentifier?: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
  createdAt: string;
  /** Present only in the response that created it. */
  token?: string;
}

export interface TokenInput {
  name: string;
  kind: 'user' | 'agent';
  agentIdentifier?: string;
  expiresAt?: string;
}

export function useTokens() {
  return useQuery({
    queryKey: ['tokens'],
    queryFn: async ({ signal }) => (await api<{ tokens: ApiToken[] }>('GET', '/api/tokens', undefined, signal)).tokens,
  });
}

export function useCreateToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (token: TokenInput) => api<ApiToken>('POST', '/api/tokens', token),
    onSuccess: () => client.invalidateQueries({ queryKey: ['tokens'] }),
  });
}

export function useDeleteToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api('DELETE', `/api/tokens/${id}`),
    onSettled: () => client.invalidateQueries({ queryKey: ['tokens'] }),
  });
}
