import { AgentClient } from './agent.js';
import { taskFeed, userFeed, type FeedOptions, type TaskFeedEvent, type UserFeedEvent } from './feed.js';
import type { NewTask, TaskChange } from './contract.js';
import type { DiffResponse, Interaction, MessageList, Task, TaskList } from './wire.js';

/** A client of one broker and its agent hosts. Call routes that have no method here through `request`. */
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

  /**
   * Returns a page of a task's messages, ascending; `since` is a rev, `after` and `before` are seqs. With `turn` (that
   * has ended) or `atLeast` (the seq of an event in the stream) it waits until the rows are there, `wait` long ("5s").
   */
  messages(
    taskId: string,
    query: {
      after?: number;
      before?: number;
      since?: number;
      limit?: number;
      turn?: string;
      atLeast?: number;
      wait?: string;
      /** Adds how the turns of the messages ended, and their questions. */
      with?: 'turns';
    } = {},
    signal?: AbortSignal,
  ): Promise<MessageList> {
    return this.request('GET', `/api/tasks/${taskId}/messages${search(query)}`, { signal });
  }

  async interactions(state?: Interaction['state']): Promise<Interaction[]> {
    return (await this.request<{ interactions: Interaction[] }>('GET', `/api/interactions${search({ state })}`))
      .interactions;
  }

  diff(taskId: string): Promise<DiffResponse> {
    return this.request('POST', '/api/agent/diff', { body: { taskId } });
  }

  /** Yields the changes of a task since a rev, without end. After `reset`, read the task and its messages again. */
  taskFeed(
    taskId: string,
    options: FeedOptions & { since?: number | undefined } = {},
  ): AsyncGenerator<TaskFeedEvent, void, undefined> {
    return taskFeed(this, taskId, options);
  }

  /**
   * Yields a hint for each change of the user's tasks and agent sessions, without end. Every connection begins with
   * `hello`.
   */
  userFeed(options: FeedOptions = {}): AsyncGenerator<UserFeedEvent, void, undefined> {
    return userFeed(this, options);
  }
}

function search(query: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length > 0 ? `?${new URLSearchParams(given)}` : '';
}
