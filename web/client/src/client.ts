import { AgentClient } from './agent.js';
import { taskFeed, userFeed, type FeedOptions, type TaskFeedEvent, type UserFeedEvent } from './feed.js';
import type { Interaction, MessageList, NewTask, Task, TaskChange, TaskList } from './wire.js';

/** A client of one broker, and of the agent hosts it names. Routes without a method of their own go through `request`. */
export class BellhopClient extends AgentClient {
  createTask(task: NewTask): Promise<Task> {
    return this.request('POST', '/api/tasks', { body: task });
  }

  tasks(query: { cursor?: string; limit?: number; q?: string; archived?: boolean } = {}): Promise<TaskList> {
    return this.request('GET', `/api/tasks${search(query)}`);
  }

  updateTask(id: string, change: TaskChange): Promise<Task> {
    return this.request('PATCH', `/api/tasks/${id}`, { body: change });
  }

  deleteTask(id: string): Promise<void> {
    return this.request('DELETE', `/api/tasks/${id}`);
  }

  /** A page of a task's messages, ascending; `since` is a rev, `after` and `before` are seqs. */
  messages(
    taskId: string,
    query: { after?: number; before?: number; since?: number; limit?: number } = {},
    signal?: AbortSignal,
  ): Promise<MessageList> {
    return this.request('GET', `/api/tasks/${taskId}/messages${search(query)}`, { signal });
  }

  async interactions(state?: Interaction['state']): Promise<Interaction[]> {
    return (await this.request<{ interactions: Interaction[] }>('GET', `/api/interactions${search({ state })}`)).interactions;
  }

  diff(taskId: string): Promise<{ success: true; noDiffs?: boolean; message?: unknown }> {
    return this.request('POST', '/api/agent/diff', { body: { taskId } });
  }

  /** Changes of a task since a rev, without end. After `reset` read task and messages anew. */
  taskFeed(taskId: string, options: FeedOptions & { since?: number | undefined } = {}): AsyncGenerator<TaskFeedEvent, void, undefined> {
    return taskFeed(this, taskId, options);
  }

  /** A hint per changed task or agent session of the user, without end; every connection begins with `hello`. */
  userFeed(options: FeedOptions = {}): AsyncGenerator<UserFeedEvent, void, undefined> {
    return userFeed(this, options);
  }
}

function search(query: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length > 0 ? `?${new URLSearchParams(given)}` : '';
}
