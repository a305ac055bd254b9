import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { readAgain } from '../app/again.ts';
import { api } from '../app/http.ts';
import type { DeliverySubject, WebhookFormat } from '@bellhop/client';
import type { WebhookEvent } from '../app/types.ts';

export type DeliveryState = 'queued' | 'delivered' | 'failed' | 'expired' | 'held';

export interface Attempt {
  number: number;
  at: string;
  durationMs: number;
  status?: number;
  error?: string;
  answer?: string;
}

export interface Delivery {
  id: string;
  state: DeliveryState;
  reason?: string;
  kind: string;
  event: string;
  endpointId: string;
  messageId: string;
  /** It waits behind an earlier delivery of the same conversation. */
  waiting?: boolean;
  /** The question that is delivered to an agent. */
  subject?: DeliverySubject;
  attempts: Attempt[];
  nextAttemptAt?: string;
  expiresAt: string;
  createdAt: string;
}

export interface Webhook {
  id: string;
  url: string;
  events: WebhookEvent[];
  format?: WebhookFormat;
  secret?: string;
  disabled: boolean;
  createdAt: string;
}

/** The services whose format a webhook can have, and what their URLs look like. */
export const formats: Record<WebhookFormat, { name: string; example: string }> = {
  '': { name: 'Bellhop (JSON)', example: 'https://example.org/bellhop' },
  ntfy: { name: 'ntfy', example: 'https://ntfy.sh/a-topic-that-is-hard-to-guess' },
  slack: { name: 'Slack', example: 'https://hooks.slack.com/services/…' },
};

/** A record, so that the compiler names an event that is missing here. */
const everyWebhookEvent: Record<WebhookEvent, true> = {
  'turn.finished': true,
  'interaction.opened': true,
  'followup.answered': true,
  'followup.failed': true,
};

export const webhookEvents = Object.keys(everyWebhookEvent) as WebhookEvent[];

export function useDeliveries(state: '' | DeliveryState) {
  return useInfiniteQuery({
    queryKey: ['deliveries', state],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({ limit: '50' });
      if (state) query.set('state', state);
      if (pageParam) query.set('cursor', pageParam);
      return api<{ deliveries: Delivery[]; nextCursor?: string }>('GET', `/api/deliveries?${query}`, undefined, signal);
    },
    getNextPageParam: (last) => last.nextCursor || undefined,
    // An attempt changes a delivery without a frame of the feed.
    refetchInterval: 10_000,
  });
}

export function useRetryDelivery() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api('POST', `/api/deliveries/${id}/retry`),
    onSettled: () => readAgain(client, ['deliveries']),
  });
}

export function useWebhooks() {
  return useQuery({
    queryKey: ['webhooks'],
    queryFn: async ({ signal }) =>
      (await api<{ webhooks: Webhook[] }>('GET', '/api/webhooks', undefined, signal)).webhooks,
  });
}

export function useAddWebhook() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (webhook: { url: string; events: readonly WebhookEvent[]; format: WebhookFormat }) =>
      (await api<{ webhook: Webhook }>('POST', '/api/webhooks', webhook)).webhook,
    onSuccess: () => readAgain(client, ['webhooks']),
  });
}

/** Replaces the secret of a webhook; the new one is in the answer, and never again. */
export function useRotateWebhook() {
  return useMutation({
    mutationFn: async (id: string) => (await api<{ webhook: Webhook }>('POST', `/api/webhooks/${id}/rotate`)).webhook,
  });
}

export function useChangeWebhook() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, to }: { id: string; to: 'remove' | 'enable' }) =>
      to === 'remove' ? api('DELETE', `/api/webhooks/${id}`) : api('POST', `/api/webhooks/${id}/enable`),
    onSettled: () => Promise.all([readAgain(client, ['webhooks']), readAgain(client, ['deliveries'])]),
  });
}
