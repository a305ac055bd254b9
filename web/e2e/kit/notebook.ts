import type { Api } from './api.ts';

export interface Source {
  id: string;
  notebookId: string;
  version: number;
}

export interface Notebook {
  notebook: { id: string; agentSessionId: string };
  source: Source;
}

export const code =
  'package main\n\nfunc reverse(s string) string {\n\tr := []rune(s)\n\tfor i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {\n\t\tr[i], r[j] = r[j], r[i]\n\t}\n\treturn string(r)\n}\n';

/** Acts as a coding agent: connects with its own token and saves code. */
export async function saveNotebook(api: Api, agent: string, webhookUrl?: string): Promise<Notebook> {
  const own = api.as(await api.agentToken(agent));
  const { notebook } = await own.call<Pick<Notebook, 'notebook'>>('POST', '/api/coding-agent/notebooks', {
    agentName: 'Claude Code',
    agentIdentifier: agent,
    title: 'Strings of the lobby',
    description: 'Small functions about text',
    ...(webhookUrl && { webhookUrl }),
  });
  const { source } = await own.call<{ source: Source }>('POST', '/api/coding-agent/sources/with-context', {
    notebookId: notebook.id,
    title: 'Reverse a string',
    code,
    language: 'go',
    context: 'Names on the key tags were printed backwards.',
  });
  await own.call('POST', '/api/coding-agent/sources/with-context', {
    notebookId: notebook.id,
    title: 'A mistake',
    code: 'package main\n\nfunc broken( {\n',
    language: 'go',
    context: 'It was saved before it was finished.',
  });
  return { notebook, source };
}
