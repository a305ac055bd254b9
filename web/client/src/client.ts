import { AgentClient } from './agent.js';
import { taskFeed, userFeed, type FeedOptions, type TaskFeedEvent, type UserFeedEvent } from './feed.js';
import { once } from './name.js';
import type { TaskChange, TaskQuery } from './contract.js';
import type {
  CommitResponse,
  CreateTaskRequest,
  DiffResponse,
  DiscardHunk,
  DiscardResponse,
  FetchResponse,
  HostWorkspaceList,
  Interaction,
  MessageList,
  OfferList,
  OnlyCopies,
  PullRequestRequest,
  PullRequestResponse,
  PushResponse,
  Queue,
  QueuedMessage,
  QueuedMessageChange,
  QueueMessageRequest,
  SessionWorkspace,
  Task,
  TaskDeletion,
  TaskList,
  TaskUsage,
} from './wire.js';

/** The changes that a user decides on: both members of the `DiffResponse` that was shown. */
export interface Shown {
  snapshot: string;
  head: string;
}

/** A client of one broker and its agent hosts. Call routes that have no method here through `request`. */
export class BellhopClient extends AgentClient {
  createTask(task: CreateTaskRequest): Promise<Task> {
    return this.request('POST', '/api/tasks', { body: task });
  }

  tasks(query: TaskQuery = {}): Promise<TaskList> {
    return this.request('GET', `/api/tasks${search({ ...query })}`);
  }

  updateTask(id: string, change: TaskChange): Promise<Task> {
    return this.request('PATCH', `/api/tasks/${id}`, { body: change });
  }

  /**
   * Deletes a task and its session. The host keeps workspaces in which something exists only, unless `onlyCopies` is the
   * id of that list; `kept` in the result is the list, and `pending` says that the host has not answered yet. It fails
   * with code `conflict` if another list than the confirmed one is true now.
   */
  deleteTask(id: string, onlyCopies?: string): Promise<TaskDeletion> {
    return this.request('DELETE', `/api/tasks/${id}${search({ onlyCopies })}`);
  }

  /**
   * Lists what exists only in the workspaces of a task's session, so that a deletion would lose it. The list has no `id`
   * while the task's host does not tell.
   */
  onlyCopies(taskId: string, signal?: AbortSignal): Promise<OnlyCopies> {
    return this.request('GET', `/api/tasks/${taskId}/only-copies`, { signal });
  }

  /**
   * Returns a page of a task's messages, ascending; `since` is a rev, `after` and `before` are seqs. With `turn`, the
   * broker answers once that turn has ended and its rows are stored; with `atLeast`, the seq of an event in the stream,
   * once the rows up to it are stored. It answers after `wait` ("5s") at the latest.
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

  /** Returns the messages that the broker sends when the task's agent is idle, the next one first. */
  queue(taskId: string, signal?: AbortSignal): Promise<Queue> {
    return this.request('GET', `/api/tasks/${taskId}/queue`, { signal });
  }

  /** Queues a message. With a `messageId` the call can be repeated; `sent` in the result means that the message
   * has left the queue since. */
  queueMessage(taskId: string, message: QueueMessageRequest): Promise<QueuedMessage> {
    return this.request('POST', `/api/tasks/${taskId}/queue`, { body: message });
  }

  /** Changes the text or the position of a queued message. Rejected with 409 once it is being sent. */
  changeQueued(taskId: string, messageId: string, change: QueuedMessageChange): Promise<QueuedMessage> {
    return this.request('PATCH', queued(taskId, messageId), { body: change });
  }

  removeQueued(taskId: string, messageId: string): Promise<void> {
    return this.request('DELETE', queued(taskId, messageId));
  }

  /** Sends a queued message next. An agent that works on another turn is stopped. */
  sendQueued(taskId: string, messageId: string): Promise<QueuedMessage> {
    return this.request('POST', `${queued(taskId, messageId)}/send`);
  }

  /** Pauses the queue, or resumes it after a stop or a failed turn. */
  pauseQueue(taskId: string, paused: boolean): Promise<Queue> {
    return this.request('PATCH', `/api/tasks/${taskId}/queue`, { body: { paused } });
  }

  async interactions(state?: Interaction['state']): Promise<Interaction[]> {
    return (await this.request<{ interactions: Interaction[] }>('GET', `/api/interactions${search({ state })}`))
      .interactions;
  }

  /**
   * Returns the agents, projects and branches that the registered hosts offer, for pickers. A host that is offline is
   * named with its last offer. It may take a few seconds while a host does not answer.
   */
  agents(signal?: AbortSignal): Promise<OfferList> {
    return this.request('GET', '/api/agents', { signal });
  }

  /** Returns the user's workspaces that agents created by name, on every registered host. A new task can name one. */
  workspaces(signal?: AbortSignal): Promise<HostWorkspaceList> {
    return this.request('GET', '/api/workspaces', { signal });
  }

  /**
   * Returns the branch and the metadata of a task's workspace, and whether it has uncommitted changes. `workspace` is
   * null before the first turn, and on hosts that do not describe workspaces.
   */
  taskWorkspace(taskId: string, signal?: AbortSignal): Promise<SessionWorkspace> {
    return this.request('GET', `/api/tasks/${taskId}/workspace`, { signal });
  }

  /** Returns what the closed turns of a task used, as their agents reported it. */
  usage(taskId: string, signal?: AbortSignal): Promise<TaskUsage> {
    return this.request('GET', `/api/tasks/${taskId}/usage`, { signal });
  }

  /**
   * Commits all changes of a task's workspace in the user's name, if they are those that a diff showed. It fails with
   * code `busy` while a turn is open, `conflict` if the changes or the branch are others now, `nothing_to_commit`,
   * `unmerged` or `no_branch`.
   */
  commit(taskId: string, message: string, { snapshot, head }: Shown): Promise<CommitResponse> {
    return this.request('POST', `/api/tasks/${taskId}/commit`, once({ message, snapshot, head }));
  }

  /**
   * Gives files of a task's workspace the content that they had when the task began, if they are as a diff showed them;
   * new files are removed. It fails with code `busy` while a turn is open, `conflict` if one of them is not.
   */
  discard(taskId: string, paths: readonly string[], { snapshot }: Pick<Shown, 'snapshot'>): Promise<DiscardResponse> {
    return this.request('POST', `/api/tasks/${taskId}/discard`, once({ paths, snapshot }));
  }

  /**
   * Gives a part of a file the content that it had when the task began. The hunk is copied from the patch of a diff. It
   * fails with code `busy` while a turn is open, `conflict` if the changes have no such hunk any more.
   */
  discardHunk(taskId: string, hunk: DiscardHunk, { snapshot }: Pick<Shown, 'snapshot'>): Promise<DiscardResponse> {
    return this.request('POST', `/api/tasks/${taskId}/discard`, once({ hunk, snapshot }));
  }

  /**
   * Brings new commits of the remote into a task's clone, where git finds them as `origin/<branch>`. It changes no
   * branch and no file, also while a turn is open. It fails with code `no_remote`, `no_branch` or `remote_failed`.
   */
  fetchRemote(taskId: string): Promise<FetchResponse> {
    return this.request('POST', `/api/tasks/${taskId}/fetch`, once());
  }

  /**
   * Pushes the branch of a task's workspace to the remote of its project. It adds commits only, unless `replaces` names
   * the commit that the branch has there. It fails with code `busy` while a turn is open, `no_remote`,
   * `diverged_branch`, `push_rejected` or `remote_failed`.
   */
  push(taskId: string, replaces?: string): Promise<PushResponse> {
    return this.request('POST', `/api/tasks/${taskId}/push`, once(replaces ? { replaces } : {}));
  }

  /**
   * Opens the pull request of a task's branch, or changes the open one. The branch must be pushed. It fails with code
   * `busy` while a turn is open, `no_remote`, `conflict`, `remote_failed` or `too_many_requests`.
   */
  pullRequest(taskId: string, request: PullRequestRequest): Promise<PullRequestResponse> {
    return this.request('POST', `/api/tasks/${taskId}/pull-request`, once(request));
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

const queued = (taskId: string, messageId: string) => `/api/tasks/${taskId}/queue/${encodeURIComponent(messageId)}`;

function search(query: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length > 0 ? `?${new URLSearchParams(given)}` : '';
}
