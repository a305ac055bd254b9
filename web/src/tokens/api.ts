import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { readAgain } from '../app/again.ts';
import { api } from '../app/http.ts';

export const scopes = {
  'tasks:read': 'Read tasks, messages and questions',
  'tasks:write': 'Create tasks, prompt agents, answer questions',
  notebooks: 'Notebooks',
  hosts: 'Agent hosts',
  webhooks: 'Webhooks and deliveries',
  admin: 'Your account, and administration if you may',
} as const;

export type Scope = keyof typeof scopes;

export const allScopes = Object.keys(scopes) as Scope[];

/** What a token may be used for, in few words. */
export function scopeText(token: Pick<ApiToken, 'kind' | 'scopes'>): string {
  if (token.scopes.length === allScopes.length) return 'everything you can';
  return token.scopes.join(', ') || 'nothing';
}

/** Lifetimes to choose from, in days, none of them longer than the broker allows. '' is for ever. */
export function lifetimes(maxLifetime: number): { value: string; label: string }[] {
  const days = [
    { value: '30', label: 'In 30 days' },
    { value: '90', label: 'In 90 days' },
    { value: '365', label: 'In a year' },
  ].filter((d) => !maxLifetime || Number(d.value) * 86_400 <= maxLifetime);
  if (!maxLifetime) return [...days, { value: '', label: 'Never' }];
  if (days.length > 0) return days;
  return [{ value: String(maxLifetime / 86_400), label: 'As late as possible' }];
}

export interface ApiToken {
  id: string;
  name: string;
  kind: 'user' | 'agent';
  agentIdentifier?: string;
  scopes: Scope[];
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
  scopes?: Scope[];
  expiresAt?: string;
}

interface TokenList {
  tokens: ApiToken[];
  /** In seconds; 0: tokens need no expiry. */
  maxLifetime: number;
}

export function useTokens() {
  return useQuery({
    queryKey: ['tokens'],
    queryFn: ({ signal }) => api<TokenList>('GET', '/api/tokens', undefined, signal),
  });
}

export function useCreateToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (token: TokenInput) => api<ApiToken>('POST', '/api/tokens', token),
    onSuccess: () => readAgain(client, ['tokens']),
  });
}

export function useDeleteToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api('DELETE', `/api/tokens/${id}`),
    onSettled: () => readAgain(client, ['tokens']),
  });
}
