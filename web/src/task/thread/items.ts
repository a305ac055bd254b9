import { isDiff, isToolUse } from '@bellhop/client';
import type { UIMessage } from 'ai';
import { exitCode } from '../tool/output.ts';
import { outcomeOf } from './outcome.ts';
import type { Diff, Interaction, Message } from '../../app/types.ts';

export type ToolState = 'preparing' | 'running' | 'waiting' | 'done' | 'error' | 'denied' | 'unanswered' | 'unknown';

export interface ToolItem {
  kind: 'tool';
  key: string;
  toolCallId: string;
  name: string;
  input: unknown;
  output: unknown;
  error: string;
  state: ToolState;
  /** How the command that it ran ended, if it says so. */
  exit?: number;
  /** When it began and ended, in milliseconds of the host's clock; only the history knows. */
  from?: number;
  to?: number;
  /** The permission that was asked for it. */
  permission?: Interaction;
}

/**
 * A piece of a turn's answer. Keys are the same for history and for the live stream, so that replacing one by the other
 * does not render the page again.
 */
export type Item =
  | { kind: 'text'; key: string; text: string; growing: boolean }
  | { kind: 'reasoning'; key: string; text: string; growing: boolean }
  | ToolItem
  | { kind: 'diff'; key: string; diff: Diff }
  | { kind: 'question'; key: string; question: Interaction }
  | { kind: 'image'; key: string; url: string; mediaType: string }
  | { kind: 'link'; key: string; url: string; title: string };

type Part = UIMessage['parts'][number];

export function itemsOfRows(rows: readonly Message[], questions: readonly Interaction[] = []): Item[] {
  const items: Item[] = [];
  const asks = questions.filter((q) => q.kind === 'ask');
  let texts = 0;
  for (const row of rows) {
    if (row.role !== 'ASSISTANT') continue;
    for (let next = asks[0]; next && Date.parse(next.createdAt) < Date.parse(row.createdAt); next = asks[0]) {
      items.push(questionItem(next));
      asks.shift();
    }
    if (row.message !== '') items.push({ kind: 'text', key: `text-${texts++}`, text: row.message, growing: false });
    for (const [i, source] of sourcesOf(row.metadata).entries())
      items.push({ kind: 'link', key: `source-${row.id}-${i}`, ...source });
    for (const artifact of row.artifacts) {
      if (isToolUse(artifact)) {
        const { toolCallId, toolName, input, output, isError, state, startedAt, endedAt } = artifact.content;
        const failed = state === 'error' || isError;
        items.push({
          kind: 'tool',
          key: `tool-${toolCallId}`,
          toolCallId,
          name: toolName,
          input,
          output: failed ? undefined : output,
          error: failed && state !== 'denied' ? asText(output) : '',
          state: failed && state !== 'denied' ? 'error' : state,
          ...exitOf(output),
          ...(startedAt && { from: startedAt }),
          ...(endedAt && { to: endedAt }),
        });
      } else if (artifact.type === 'DIFF') {
        const diff = diffOf(artifact.content);
        if (diff) items.push({ kind: 'diff', key: `diff-${artifact.id}`, diff });
      }
    }
  }
  return [...items, ...asks.map(questionItem)];
}

const exitOf = (output: unknown): Pick<ToolItem, 'exit'> => {
  const exit = exitCode(output);
  return exit === undefined ? {} : { exit };
};

export const questionItem = (question: Interaction): Item => ({
  kind: 'question',
  key: `question-${question.id}`,
  question,
});

/**
 * Adds permissions to the calls that they were asked for. A permission without a call is an item of its own. A call
 * counts as denied only if a user or a rule denied it: hosts also deny calls whose turn ended unanswered.
 */
export function withPermissions(items: readonly Item[], questions: readonly Interaction[]): Item[] {
  const open = new Map(questions.filter((q) => q.kind === 'confirm').map((q) => [q.toolCallId || q.id, q]));
  const out = items.map((item): Item => {
    const permission = item.kind === 'tool' ? open.get(item.toolCallId) : undefined;
    if (item.kind !== 'tool' || !permission) return item;
    open.delete(item.toolCallId);
    const unanswered = item.state === 'denied' && outcomeOf(permission)?.kind === 'unanswered';
    return { ...item, permission, state: unanswered ? 'unanswered' : item.state };
  });
  return [...out, ...[...open.values()].map(questionItem)];
}

const maxSources = 50;

/** Returns the documents that an agent names as the sources of a text: `source_documents` in its metadata. */
export function sourcesOf(metadata: unknown): { url: string; title: string }[] {
  const documents = (metadata as { source_documents?: unknown } | null | undefined)?.source_documents;
  if (!Array.isArray(documents)) return [];
  return documents.slice(0, maxSources).flatMap((document: unknown) => {
    const given = typeof document === 'string' ? { title: document } : ((document ?? {}) as Record<string, unknown>);
    const text = (...names: string[]) => names.map((n) => given[n]).find((v) => typeof v === 'string' && v !== '');
    const url = text('url', 'uri') ?? '';
    const title = text('title', 'name', 'path') ?? url;
    return title ? [{ url: String(url), title: String(title) }] : [];
  });
}

/** Returns the diff in a DIFF artifact, whose content is an object or its JSON; null for anything else. */
export function diffOf(content: unknown): Diff | null {
  let value = content;
  if (typeof value === 'string') {
    try {
      value = JSON.parse(value);
    } catch {
      return null;
    }
  }
  const artifact = { id: '', type: 'DIFF', content: value };
  return isDiff(artifact) &&
    typeof value === 'object' &&
    value !== null &&
    Array.isArray((value as Partial<Diff>).files) &&
    typeof (value as Partial<Diff>).patch === 'string'
    ? artifact.content
    : null;
}

export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  return JSON.stringify(value, null, 2);
}

export function itemsOfLive(message: UIMessage, questions: readonly Interaction[] = []): Item[] {
  const items: Item[] = [];
  let texts = 0;
  let thoughts = 0;
  message.parts.forEach((part, at) => {
    switch (part.type) {
      case 'text':
        if (part.text !== '')
          items.push({ kind: 'text', key: `text-${texts++}`, text: part.text, growing: part.state === 'streaming' });
        break;
      case 'reasoning':
        if (part.text !== '')
          items.push({
            kind: 'reasoning',
            key: `reasoning-${thoughts++}`,
            text: part.text,
            growing: part.state === 'streaming',
          });
        break;
      case 'dynamic-tool':
        items.push(liveTool(part));
        break;
      case 'file':
        if (part.mediaType.startsWith('image/') && part.url.startsWith('data:image/'))
          items.push({ kind: 'image', key: `image-${at}`, url: part.url, mediaType: part.mediaType });
        break;
      case 'data-ask': {
        const question = part.id && questions.find((q) => q.id === part.id);
        if (question) items.push(questionItem(question));
        break;
      }
      case 'source-url':
        items.push({ kind: 'link', key: `source-${part.sourceId}`, url: part.url, title: part.title ?? part.url });
        break;
      default: // not shown
    }
  });
  return items;
}

function liveTool(part: Extract<Part, { type: 'dynamic-tool' }>): ToolItem {
  const states: Record<typeof part.state, ToolState> = {
    'input-streaming': 'preparing',
    'input-available': 'running',
    'approval-requested': 'waiting',
    'approval-responded': 'running',
    'output-available': 'done',
    'output-error': 'error',
    'output-denied': 'denied',
  };
  return {
    kind: 'tool',
    key: `tool-${part.toolCallId}`,
    toolCallId: part.toolCallId,
    name: part.toolName,
    input: part.input,
    output: part.state === 'output-available' ? part.output : undefined,
    error: part.state === 'output-error' ? part.errorText : '',
    state: states[part.state],
    ...exitOf(part.state === 'output-error' ? part.errorText : part.output),
  };
}
