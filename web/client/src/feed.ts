import type { AgentClient } from './agent.js';
import { isFinal } from './error.js';
import { follow, type FollowOptions } from './follow.js';
import type { SseEvent } from './sse.js';
import type { AgentHint, Interaction, Message, Task, TaskHint } from './wire.js';

export interface FeedOptions extends FollowOptions {}

/** A change of a task. Pass the last `rev` as `since` to continue there. */
export type TaskFeedEvent =
  | { type: 'hello' | 'reset'; rev: number; data: { rev: number } }
  | { type: 'message'; rev: number; data: Message }
  | { type: 'task'; rev: number; data: Task }
  | { type: 'interaction'; rev: number; data: Interaction };

export type UserFeedEvent =
  | { type: 'hello'; data: { tasks: TaskHint[]; agentSessions?: AgentHint[] } }
  | { type: 'task'; data: TaskHint }
  | { type: 'agent'; data: AgentHint }
  /** The announcements have changed: GET /api/announcements has them. */
  | { type: 'announcements'; data: object }
  /** The broker stops. The feed connects again by itself, and continues with `hello`. */
  | { type: 'bye'; data: object };

const taskFrames = new Set(['hello', 'reset', 'message', 'task', 'interaction']);
const userFrames = new Set(['hello', 'task', 'agent', 'announcements', 'bye']);

export function taskFeed(client: AgentClient, taskId: string, options: FeedOptions & { since?: number | undefined }) {
  const since = options.since === undefined ? undefined : String(options.since);
  return feed<TaskFeedEvent>(client, `/api/tasks/${taskId}/events`, options, since, (event, data) =>
    taskFrames.has(event.event) ? ({ type: event.event, rev: Number(event.id), data } as TaskFeedEvent) : undefined,
  );
}

export function userFeed(client: AgentClient, options: FeedOptions) {
  return feed<UserFeedEvent>(client, '/api/events', options, undefined, (event, data) =>
    userFrames.has(event.event) ? ({ type: event.event, data } as UserFeedEvent) : undefined,
  );
}

function feed<T>(
  client: AgentClient,
  path: string,
  options: FeedOptions,
  since: string | undefined,
  read: (event: SseEvent, data: unknown) => T | undefined,
) {
  let last = since;
  return follow<T>(
    {
      origin: () => client.origin,
      connect: (signal) =>
        client.send('GET', path, { signal, headers: last === undefined ? {} : { 'last-event-id': last } }),
      read: (event) => {
        if (event.id !== undefined) last = event.id;
        return read(event, JSON.parse(event.data));
      },
      ends: () => false,
      recover: (failure) => (isFinal(failure) ? Promise.reject(failure) : Promise.resolve(false)),
    },
    // A feed survives any outage: it gives up only if maxRetries is set.
    { idleMs: client.options.idleMs, ...options, maxRetries: options.maxRetries ?? Infinity },
  );
}
