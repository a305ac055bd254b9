import { expect, type Locator, type Page } from '@playwright/test';
import type { Api, Task } from './api.ts';

/** The pages of the console, by the names that a user sees on them. */
export class Console {
  readonly thread: Locator;
  readonly dock: Locator;
  readonly message: Locator;
  readonly allow: Locator;
  /** The task's last turn when this page sent a message; `done` waits for a later one. */
  #before: string | undefined;

  constructor(
    readonly page: Page,
    readonly api: Api,
  ) {
    this.thread = page.getByRole('log', { name: 'Conversation' });
    this.dock = page.getByRole('region', { name: 'The agent asks you' });
    this.message = page.locator('[data-composer]');
    this.allow = this.dock.getByRole('button', { name: 'Allow once' });
  }

  /** Starts a task from the first page and returns its id. */
  async newTask(message: string): Promise<string> {
    await this.page.goto('/');
    await this.page.getByRole('textbox', { name: 'First message' }).fill(message);
    await this.page.keyboard.press('Enter');
    await this.page.waitForURL('**/tasks/*');
    return this.taskId();
  }

  taskId(): string {
    return new URL(this.page.url()).pathname.split('/').at(-1) ?? '';
  }

  async open(task: Pick<Task, 'id'> | string): Promise<void> {
    await this.page.goto(`/tasks/${typeof task === 'string' ? task : task.id}`);
    await expect(this.message).toBeVisible();
  }

  /** Leaves the console, so that it requests nothing while the test removes what it showed. */
  async leave(): Promise<void> {
    await this.page.goto('about:blank');
  }

  async send(message: string): Promise<void> {
    this.#before = (await this.api.task(this.taskId())).lastTurn?.id;
    await this.message.fill(message);
    await this.message.press('Enter');
  }

  /** Requests a route of the broker with the session of the page. */
  async request(method: string, path: string, body?: unknown): Promise<unknown> {
    return this.page.evaluate(
      async ([method, path, body]) => {
        const headers = { 'content-type': 'application/json' };
        const response = await fetch(path, { method, headers, body });
        if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`);
        return (await response.json()) as unknown;
      },
      [method, path, JSON.stringify(body)] as const,
    );
  }

  /** Waits until the turn of the message that was sent last has ended, on the page and at the broker. */
  async done(): Promise<void> {
    const id = this.taskId();
    const open = async () => {
      const { lastTurn, openTurn } = await this.api.task(id);
      return lastTurn && lastTurn.id !== this.#before ? openTurn : 'not begun';
    };
    await expect.poll(open, { timeout: 90_000 }).toBeNull();
    await expect(this.stop).toBeHidden();
  }

  get stop(): Locator {
    return this.page.getByRole('button', { name: /^Stop( Esc)?$/ });
  }

  /** The agent's part of each turn, without the user's message. */
  get answers(): Locator {
    return this.thread.getByRole('heading', { name: 'Answer', exact: true }).locator('..');
  }

  /** Returns the answer of the last turn as text. */
  async answer(): Promise<string> {
    return (await this.thread.getByRole('article').last().innerText()).trim();
  }

  /** Returns all the words w1 w2 … that the thread shows, in their order. */
  async words(): Promise<string[]> {
    return (await this.thread.innerText()).match(/w\d+/g) ?? [];
  }
}
