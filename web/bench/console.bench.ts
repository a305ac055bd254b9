import { newFiles, paneOf, showChanges } from '../e2e/kit/changes.ts';
import { expect, test } from '../e2e/kit/far.ts';
import { describe, heap, probe, probed, quantile, type Probed } from './probe.ts';

const note = (type: string, description: string) => void test.info().annotations.push({ type, description });
const noteAll = (measured: Probed) => {
  for (const [type, text] of describe(measured)) note(type, text);
};

test('this machine: an empty page', async ({ page }) => {
  await page.goto('about:blank');
  await probe(page);
  await page.evaluate(() => new Promise<void>((resolve) => setTimeout(resolve, 5000)));
  noteAll(await probed(page));
});

test('from send to the first text on screen', async ({ bell, far, world }) => {
  const task = await world.api.newTask('first text', { hostId: far.id, agent: 'mischief' });
  await bell.open(task);
  const shown: number[] = [];
  const bare: number[] = [];
  for (let i = 0; i < 12; i++) {
    const text = `answer-${i}-`;
    await bell.message.fill(`say ${text}`);
    const took = await bell.page.evaluate(
      (text) =>
        new Promise<number>((resolve) => {
          const field = document.querySelector<HTMLTextAreaElement>('textarea[aria-label="Message"]');
          const log = document.querySelector('[role="log"]');
          const from = performance.now();
          // The user's message has the text once; its second occurrence is the answer.
          const observer = new MutationObserver(() => {
            if ((log?.textContent ?? '').split(text).length < 3) return;
            observer.disconnect();
            requestAnimationFrame(() => resolve(performance.now() - from));
          });
          if (log) observer.observe(log, { subtree: true, childList: true, characterData: true });
          field?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
        }),
      text,
    );
    if (i >= 2) shown.push(took);
    await bell.done();
  }
  for (let i = 0; i < 12; i++) {
    const took = await world.api.firstText(task.id, `say bare-${i}`);
    if (i >= 2) bare.push(took);
    await bell.done();
  }
  note('page, p50 / max', `${quantile(shown, 0.5).toFixed(0)} / ${quantile(shown, 1).toFixed(0)} ms`);
  note(
    'the same two requests without a page',
    `${quantile(bare, 0.5).toFixed(0)} / ${quantile(bare, 1).toFixed(0)} ms`,
  );
});

test('an answer of 60 KiB in 960 pieces', async ({ bell, far, world }) => {
  const task = await world.api.newTask('60 KiB', { hostId: far.id, agent: 'mischief' });
  await bell.open(task);
  await bell.send('say warm');
  await bell.done();
  const before = await heap(bell.page);
  await probe(bell.page);
  await bell.send('prose 60 8');
  await expect(bell.thread).toContainText('Step 1');
  await bell.done();
  noteAll(await probed(bell.page));
  note('heap before / after', `${before.toFixed(1)} / ${(await heap(bell.page)).toFixed(1)} MB`);
});

test('a history of 5 000 messages', async ({ bell, far, world }) => {
  const task = await world.api.newTask('5 000 messages', { hostId: far.id, agent: 'mischief' });
  for (let turn = 0; turn < 50; turn++) {
    const last = (await world.api.task(task.id)).lastTurn?.id;
    await world.api.prompt(task.id, 'work 49');
    await expect
      .poll(async () => (await world.api.task(task.id)).lastTurn?.id, { timeout: 60_000, intervals: [50] })
      .not.toBe(last);
  }
  const before = Date.now();
  await bell.open(task);
  await expect(bell.thread.getByRole('article').last()).toContainText('step 49');
  note('address to newest messages on screen', `${Date.now() - before} ms`);
  note('heap with the newest page', `${(await heap(bell.page)).toFixed(1)} MB`);

  await probe(bell.page);
  // Wait inside the page: polling it from outside would dominate the measurement.
  const pages = await bell.thread.evaluate(async (log) => {
    const older = () =>
      [...log.querySelectorAll('button')].find((b) => /^Show earlier|^Loading/.test(b.textContent ?? ''));
    const took: number[] = [];
    for (let button = older(); button; button = older()) {
      const from = performance.now();
      const changed = new Promise<void>((resolve) => {
        let began = false;
        const observer = new MutationObserver(() => {
          began ||= older()?.disabled ?? false;
          if (!began || older()?.disabled) return;
          observer.disconnect();
          requestAnimationFrame(() => resolve());
        });
        observer.observe(log, { subtree: true, childList: true, attributes: true, characterData: true });
      });
      button.click();
      await changed;
      took.push(performance.now() - from);
    }
    return took;
  });
  expect(pages.length, 'pages of older messages').toBeGreaterThan(40);
  note('one page of 100 more, p50 / max', `${quantile(pages, 0.5).toFixed(0)} / ${quantile(pages, 1).toFixed(0)} ms`);
  noteAll(await probed(bell.page));
  note('heap with all', `${(await heap(bell.page)).toFixed(1)} MB`);

  await probe(bell.page);
  await bell.thread.evaluate(
    (box) =>
      new Promise<void>((resolve) => {
        box.scrollTop = 0;
        let left = 600;
        // The height of a turn is a guess until it is near the screen, so measure the remaining distance each time.
        requestAnimationFrame(function scroll() {
          box.scrollTop += (box.scrollHeight - box.clientHeight - box.scrollTop) / left--;
          if (left > 0) requestAnimationFrame(scroll);
          else resolve();
        });
      }),
  );
  note('scrolling through all', '');
  noteAll(await probed(bell.page));

  await probe(bell.page);
  await bell.message.pressSequentially('typing while five thousand messages are shown', { delay: 30 });
  note('typing', '');
  noteAll(await probed(bell.page));
});

test('the changes of 400 files and 50 000 lines', async ({ bell, world }) => {
  const task = await world.api.newTask('400 files');
  await showChanges(bell.page, newFiles(400, 125));
  await bell.open(task);
  // Wait inside the page: polling it from outside would dominate the measurement.
  const shown = await bell.page.evaluate(
    () =>
      new Promise<[number, number]>((resolve) => {
        const button = document.querySelector<HTMLElement>('button[aria-label="Changes"]');
        const from = performance.now();
        const observer = new MutationObserver(() => {
          if (!document.querySelector('aside table td')) return;
          observer.disconnect();
          requestAnimationFrame(() => {
            const answers = performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/api/agent/diff'));
            const answered = (answers.at(-1) as PerformanceResourceTiming | undefined)?.responseEnd ?? from;
            resolve([performance.now() - from, performance.now() - answered]);
          });
        });
        observer.observe(document.body, { subtree: true, childList: true });
        button?.click();
      }),
  );
  note('press to first lines on screen', `${shown[0].toFixed(0)} ms`);
  note('… of it since the broker has answered', `${shown[1].toFixed(0)} ms`);
  await expect(paneOf(bell.page).getByRole('region')).toHaveCount(400);
  await probe(bell.page);
  await paneOf(bell.page)
    .getByRole('region')
    .first()
    .evaluate(async (region) => {
      let box: Element | null = region;
      while (box && getComputedStyle(box).overflowY !== 'auto') box = box.parentElement;
      const list = box;
      if (!list) throw new Error('nothing scrolls');
      await new Promise<void>((resolve) => {
        let left = 600;
        requestAnimationFrame(function scroll() {
          list.scrollTop += (list.scrollHeight - list.clientHeight - list.scrollTop) / left--;
          if (left > 0) requestAnimationFrame(scroll);
          else resolve();
        });
      });
    });
  note('scrolling through all', '');
  noteAll(await probed(bell.page));
  note('heap with all', `${(await heap(bell.page)).toFixed(1)} MB`);
});
