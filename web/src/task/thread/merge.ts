import type { UIMessage } from 'ai';
import type { Interaction, Message } from '../../app/types.ts';
import { keptFiles, type KeptFile } from '../composer/attachments.ts';
import { itemsOfLive, itemsOfRows, questionItem, withPermissions, type Item, type ToolItem } from './items.ts';

/** The rows of one turn in history, in their order. */
export interface RowGroup {
  turnId: string;
  rows: readonly Message[];
}

/** A file of a user's message. History keeps no content: only the page that sent it has a URL. */
export interface ShownFile extends KeptFile {
  url?: string;
}

/** A message of the user. */
export interface UserItem {
  id: string;
  text: string;
  state: 'sending' | 'sent' | 'failed';
  files: readonly ShownFile[];
  at: string | undefined;
}

export interface ShownTurn {
  turnId: string;
  user: UserItem | undefined;
  group: RowGroup | undefined;
  live: UIMessage | undefined;
}

/**
 * Groups rows by turn, in order of their first row. Groups that did not change keep their identity, so that their
 * components are not rendered again.
 */
export function groupRows(rows: readonly Message[], before: readonly RowGroup[]): RowGroup[] {
  const byTurn = new Map<string, Message[]>();
  for (const row of rows) {
    // Rows without a turn, such as a diff that the user requested, form groups of their own.
    const key = row.turnId || row.id;
    const group = byTurn.get(key);
    if (group) group.push(row);
    else byTurn.set(key, [row]);
  }
  const known = new Map(before.map((g) => [g.turnId, g]));
  return [...byTurn].map(([turnId, list]) => {
    const old = known.get(turnId);
    return old && old.rows.length === list.length && old.rows.every((r, i) => r === list[i])
      ? old
      : { turnId, rows: list };
  });
}

/** Whether the turn was made in the agent's own terminal client. */
export const isFromTerminal = (group: RowGroup | undefined): boolean =>
  group?.rows.some((row) => row.origin === 'terminal') ?? false;

interface Measure {
  text: number;
  tools: number;
}

function measure(items: readonly Item[]): Measure {
  let text = 0;
  let tools = 0;
  for (const item of items) {
    if (item.kind === 'text') text += item.text.length;
    if (item.kind === 'tool') tools++;
  }
  return { text, tools };
}

/** Whether the stream has at least as much of the turn as history. During a replay it has less. */
export function covers(live: readonly Item[], history: readonly Item[]): boolean {
  const l = measure(live);
  const h = measure(history);
  return l.tools >= h.tools && l.text >= h.text;
}

/**
 * The parts of one turn from a single source: the stream if it has at least as much as history, else history. So
 * nothing is shown twice, and nothing is missing after a stream was lost.
 */
export function itemsOfTurn(
  group: RowGroup | undefined,
  live: UIMessage | undefined,
  questions: readonly Interaction[] = [],
): Item[] {
  return withPermissions(itemsOfSource(group, live, questions), questions);
}

function itemsOfSource(
  group: RowGroup | undefined,
  live: UIMessage | undefined,
  questions: readonly Interaction[],
): Item[] {
  const history = itemsOfRows(group?.rows ?? [], questions);
  if (!live) return history;
  const streamed = itemsOfLive(live, questions);
  if (!covers(streamed, history)) return history;
  // If history has the end of a tool, the stream was cut before it reported that end.
  const ended = new Map(history.flatMap((i) => (i.kind === 'tool' && i.state !== 'running' ? [[i.key, i]] : [])));
  const merged = streamed.map((i) => (i.kind === 'tool' ? withEnd(i, ended.get(i.key)) : i));
  const shown = new Set(merged.map((i) => i.key));
  const asked = questions.filter((q) => q.kind === 'ask').map(questionItem);
  return [
    ...merged,
    ...asked.filter((i) => !shown.has(i.key)),
    ...history.filter((i) => i.kind === 'diff' || i.kind === 'link'),
  ];
}

/** The call of the stream, or of history if only that has its end. Its times are those of history. */
function withEnd(live: ToolItem, ended: ToolItem | undefined): ToolItem {
  if (!ended) return live;
  if (live.state === 'running' || live.state === 'waiting' || live.state === 'preparing') return ended;
  const { from, to } = ended;
  return { ...live, ...(from && { from }), ...(to && { to }) };
}

function userOf(row: Message, sent: UIMessage | undefined): UserItem {
  return {
    id: row.id,
    text: row.message,
    state: row.status === 'ERROR' ? 'failed' : row.status === 'SENDING' ? 'sending' : 'sent',
    files: sent ? filesOf(sent) : keptFiles(row.artifacts),
    at: row.createdAt,
  };
}

const filesOf = (message: UIMessage): ShownFile[] =>
  message.parts.flatMap((part) => {
    if (part.type !== 'file') return [];
    const { filename = 'Attachment', mediaType, url } = part;
    return [{ name: filename, mediaType, url, bytes: Math.floor(((url.length - url.indexOf(',') - 1) * 3) / 4) }];
  });

function pendingOf(message: UIMessage, failed: boolean): UserItem {
  const text = message.parts.map((p) => (p.type === 'text' ? p.text : '')).join('');
  return { id: message.id, text, state: failed ? 'failed' : 'sending', files: filesOf(message), at: undefined };
}

/** The complete thread: the turns of history, then the turns that only the stream has so far. */
export function mergeTurns(
  groups: readonly RowGroup[],
  live: ReadonlyMap<string, UIMessage>,
  pending: UIMessage | undefined,
  failed: boolean,
): ShownTurn[] {
  const turns: ShownTurn[] = groups.map((group) => {
    const row = group.rows.find((r) => r.role === 'USER');
    const sent = row && row.id === pending?.id ? pending : undefined;
    return { turnId: group.turnId, user: row && userOf(row, sent), group, live: live.get(group.turnId) };
  });
  const known = new Set(groups.map((g) => g.turnId));
  const loose = [...live].filter(([turnId]) => !known.has(turnId));
  if (pending && !groups.some((g) => g.rows.some((r) => r.id === pending.id))) {
    const answer = loose.pop();
    for (const [turnId, message] of loose) turns.push({ turnId, user: undefined, group: undefined, live: message });
    turns.push({
      turnId: answer?.[0] ?? `pending-${pending.id}`,
      user: pendingOf(pending, failed),
      group: undefined,
      live: answer?.[1],
    });
    return turns;
  }
  for (const [turnId, message] of loose) turns.push({ turnId, user: undefined, group: undefined, live: message });
  return turns;
}
