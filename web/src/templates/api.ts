import type { FilledTemplate, Template, TemplateList } from '@bellhop/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { readAgain } from '../app/again.ts';
import { api } from '../app/http.ts';

/** What users write of a template; the broker adds the rest. */
export type TemplateInput = Omit<Template, 'id' | 'createdAt' | 'updatedAt'>;

export function useTemplates() {
  return useQuery({
    queryKey: ['templates'],
    staleTime: 60_000,
    queryFn: async ({ signal }) => (await api<TemplateList>('GET', '/api/templates', undefined, signal)).templates,
  });
}

/** Creates a template, or replaces the one with an id. */
export function useSaveTemplate() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, input }: { id: string | undefined; input: TemplateInput }) =>
      id ? api<Template>('PUT', `/api/templates/${id}`, input) : api<Template>('POST', '/api/templates', input),
    onSuccess: () => readAgain(client, ['templates']),
  });
}

export function useDeleteTemplate() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api('DELETE', `/api/templates/${id}`),
    onSettled: () => readAgain(client, ['templates']),
  });
}

export function useFillTemplate() {
  return useMutation({
    mutationFn: ({ id, values }: { id: string; values: Record<string, string> }) =>
      api<FilledTemplate>('POST', `/api/templates/${id}/fill`, { values }),
  });
}
