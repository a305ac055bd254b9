import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, type Page } from '@playwright/test';
import { accessible } from './axe.ts';
import type { Console } from './console.ts';
import { saveNotebook } from './notebook.ts';
import type { World } from './world.ts';

const shots = fileURLToPath(new URL('../shots/', import.meta.url));

interface Stop {
  name: string;
  go: () => Promise<void>;
}

interface Samples {
  talk: string;
  asks: string;
  failed: string;
  notebook: string;
  source: string;
}

const made = new WeakMap<World, Promise<Samples>>();

/** Creates one item of each kind, once for each user, so that no page is empty. */
export function samplesOf(world: World): Promise<Samples> {
  const samples = made.get(world) ?? createSamples(world);
  made.set(world, samples);
  return samples;
}

async function createSamples(world: World): Promise<Samples> {
  const ended = async (id: string) =>
    expect.poll(async () => ((await world.api.task(id)).lastTurn ? 'ended' : 'open')).toBe('ended');
  const talk = await world.api.newTask('What can you do?');
  await world.api.prompt(talk.id, 'help then list then slow 12');
  await ended(talk.id);
  const failed = await world.api.newTask('Migrate the booking tables');
  await world.api.prompt(failed.id, 'read missing.txt then fail');
  await ended(failed.id);
  const asks = await world.api.newTask('Fix the flaky lobby test');
  await world.api.prompt(asks.id, 'list then run go test -race -count=20 ./lobby/... 2>&1 | tail -40');
  await expect.poll(() => world.api.interactions(asks.id)).toHaveLength(1);
  const { notebook, source } = await saveNotebook(world.api, 'tour');
  return { talk: talk.id, asks: asks.id, failed: failed.id, notebook: notebook.id, source: source.id };
}

/** Every page of the console, and the dialogs on them. */
export function tour(bell: Console, known: Samples): Stop[] {
  const { page } = bell;
  const heading = (name: string | RegExp) => expect(page.getByRole('heading', { name, level: 1 })).toBeVisible();
  const dialog = async (path: string, button: string) => {
    await page.goto(path);
    await page.getByRole('button', { name: button }).first().click();
    await expect(page.getByRole('dialog')).toBeVisible();
  };
  return [
    {
      name: 'home',
      go: async () => {
        await page.goto('/');
        await expect(page.getByRole('button', { name: 'New task' })).toBeVisible();
        await expect(page.getByText(/Loading/)).toHaveCount(0);
      },
    },
    {
      name: 'task',
      go: async () => {
        await bell.open(known.talk);
        await expect(bell.thread).toContainText('1 2 3 4 5');
      },
    },
    {
      name: 'permission',
      go: async () => {
        await bell.open(known.asks);
        await expect(bell.allow).toBeEnabled();
      },
    },
    {
      name: 'failed',
      go: async () => {
        await bell.open(known.failed);
        await expect(bell.thread).toContainText('fail');
      },
    },
    {
      name: 'inbox',
      go: async () => {
        await page.goto('/inbox');
        await heading('Inbox');
        await expect(bell.allow.first()).toBeEnabled();
      },
    },
    {
      name: 'notebooks',
      go: async () => {
        await page.goto('/notebooks');
        await heading('Notebooks');
        await expect(page.getByText('Strings of the lobby').first()).toBeVisible();
      },
    },
    {
      name: 'notebook',
      go: async () => {
        await page.goto(`/notebooks/${known.notebook}`);
        await expect(page.getByText('Reverse a string')).toBeVisible();
      },
    },
    {
      name: 'source',
      go: async () => {
        await page.goto(`/sources/${known.source}`);
        await expect(page.getByRole('textbox', { name: 'Question' })).toBeVisible();
      },
    },
    {
      name: 'deliveries',
      go: async () => {
        await page.goto('/deliveries');
        await heading('Deliveries');
        await expect(page.getByText(/Loading/)).toHaveCount(0);
      },
    },
    {
      name: 'hosts',
      go: async () => {
        await page.goto('/hosts');
        await heading('Agent hosts');
        await expect(page.getByRole('table')).toBeVisible();
        await expect(page.getByText(/^(Complete|With gaps|None)$/).first(), 'the level of the sandbox').toBeVisible();
      },
    },
    {
      name: 'doctor',
      go: async () => {
        await page.goto('/doctor');
        await heading('Doctor');
        await expect(page.getByText(/checks passed$/)).toBeVisible();
      },
    },
    {
      name: 'users',
      go: async () => {
        await page.goto('/users');
        await heading('Users');
        await expect(page.getByRole('table')).toContainText('administrator');
      },
    },
    {
      name: 'audit',
      go: async () => {
        await page.goto('/audit');
        await heading('Audit log');
        await expect(page.getByRole('table')).toBeVisible();
      },
    },
    {
      name: 'workspaces',
      go: async () => {
        await page.goto('/workspaces');
        await heading('Workspaces');
        await expect(page.getByRole('heading', { name: 'No workspace yet' })).toBeVisible();
      },
    },
    {
      name: 'tokens',
      go: async () => {
        await page.goto('/tokens');
        await heading('API tokens');
        await expect(page.getByRole('table')).toBeVisible();
      },
    },
    {
      name: 'settings',
      go: async () => {
        await page.goto('/settings');
        await heading('Settings');
      },
    },
    {
      name: 'not-found',
      go: async () => {
        await page.goto('/nowhere');
        await heading('Not found');
      },
    },
    { name: 'dialog-host', go: () => dialog('/hosts', 'Add host') },
    { name: 'dialog-token', go: () => dialog('/tokens', 'New token') },
    { name: 'dialog-webhook', go: () => dialog('/deliveries', 'Add webhook') },
    { name: 'dialog-confirm', go: () => dialog('/tokens', 'Revoke') },
    {
      name: 'dialog-keys',
      go: async () => {
        await page.goto('/inbox');
        await heading('Inbox');
        await page.keyboard.press('?');
        await expect(page.getByRole('dialog')).toBeVisible();
      },
    },
    {
      name: 'dialog-palette',
      go: async () => {
        await page.goto('/settings');
        await heading('Settings');
        await page.keyboard.press('Control+k');
        await expect(page.getByRole('listbox', { name: 'Results' }).getByRole('option').first()).toBeVisible();
      },
    },
    {
      name: 'dialog-task',
      go: async () => {
        await page.goto('/settings');
        await heading('Settings');
        await page.keyboard.press('c');
        await expect(page.getByRole('dialog')).toBeVisible();
      },
    },
  ];
}

/** Visits all pages, saves a picture of each, and fails where axe finds a violation. */
export async function visit(page: Page, stops: Stop[], suffix: string): Promise<void> {
  for (const { name, go } of stops) {
    await go();
    await shoot(page, `${name}-${suffix}`);
    await accessible(page, `${name} ${suffix}`);
    expect
      .soft(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
        `${name} ${suffix} scrolls sideways by`,
      )
      .toBeLessThanOrEqual(0);
  }
}

/** Saves a picture of a page, if BELLHOP_SHOTS is set: no test reads it. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (!process.env.BELLHOP_SHOTS) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: `${shots}${name}.png`, animations: 'disabled' });
}
