import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test as withTwoHosts } from './kit/far.ts';
import { signIn } from './kit/session.ts';
import { expect, test } from './kit/test.ts';

/** A program of this machine that serves pages, such as a development server that an agent has started. */
class OtherProgram {
  readonly requests: IncomingMessage[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      this.requests.push(request);
      response.writeHead(200, { 'content-type': 'text/html' }).end('<title>another program</title>');
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

test('a program at another port gets no cookie of the console', async ({ signedOut: page, world, guard }) => {
  guard.allow(/request off the machine: http:\/\/(shop\.)?localhost:/);
  const other = await new OtherProgram().start();
  try {
    // An address, as in a bookmark.
    await page.goto(world.broker);
    await page.getByLabel('E-mail').fill(world.email);
    await page.getByLabel('Password').fill(world.password);
    await page.keyboard.press('Enter');
    await expect(page.getByRole('link', { name: 'Settings' })).toBeVisible();
    expect.soft(page.url()).toBe(`${world.console}/`);
    expect(await page.evaluate(() => isSecureContext), 'notifications need a secure context').toBe(true);
    for (const name of ['127.0.0.1', 'localhost', 'shop.localhost']) {
      await page.goto(`http://${name}:${other.port}/`);
      await expect(page).toHaveTitle('another program');
    }
    expect(other.requests.length).toBeGreaterThanOrEqual(3);
    expect(other.requests.map((request) => request.headers.cookie).filter(Boolean)).toEqual([]);
    await page.goto(world.broker);
    await expect(page.getByRole('link', { name: 'Settings' })).toBeVisible();
  } finally {
    await page.goto('about:blank');
    await other.stop();
  }
});

test('a session at an address ends, because other ports may have its cookie', async ({
  signedOut: page,
  context,
  world,
}) => {
  const earlier = await signIn(world, world.broker);
  await context.addCookies(earlier);
  const session = { headers: { cookie: earlier.map(({ name, value }) => `${name}=${value}`).join('; ') } };
  expect((await fetch(`${world.broker}/api/auth/me`, session)).status).toBe(200);
  await page.goto(world.broker);
  await expect(page.getByRole('heading', { name: 'Sign in to Bellhop' })).toBeVisible();
  expect(await context.cookies()).toEqual([]);
  expect((await fetch(`${world.broker}/api/auth/me`, session)).status).toBe(401);
});

withTwoHosts('an agent cannot link to another port of the console', async ({ bell, far, world }) => {
  const port = Number(new URL(world.console).port) + 1;
  const shared = `http://bellhop.localhost:${port}/`;
  const preview = `http://localhost:${port}/`;
  await bell.open(await world.api.newTask('links', { hostId: far.id, agent: 'mischief' }));
  await bell.send(`say ${shared} ${preview}`);
  await bell.done();
  const answer = bell.answers.last();
  await expect(answer.getByRole('link', { name: preview })).toBeVisible();
  await expect(answer).toContainText(shared);
  await expect(answer.getByRole('link')).toHaveCount(1);
});
