import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accessible } from './kit/axe.ts';
import { expect, test } from './kit/test.ts';
import { workspaceOf } from './kit/world.ts';

for (const viewport of [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
]) {
  test(`tool calls lead to the files that they name, ${viewport.width} wide`, async ({ bell, world }) => {
    const { page } = bell;
    const task = await world.api.newTask('Links');
    await world.api.prompt(task.id, 'list');
    await bell.open(task);
    await bell.done();
    const dir = workspaceOf(world, task.id);
    mkdirSync(join(dir, 'src'));
    writeFileSync(join(dir, 'src', 'greet.md'), 'one\ntwo\nthree\n');
    await page.setViewportSize(viewport);
    await bell.send(
      `read src/greet.md then read ${join(dir, 'src', 'greet.md')}:3 then read /etc/hostname then read ../other.md`,
    );
    const link = (name: string) => bell.thread.getByRole('link', { name: `Open ${name} in the files` });
    await expect(link('src/greet.md')).toHaveCount(1);
    await expect(link('src/greet.md:3')).toHaveCount(1);
    await bell.done();
    await expect(bell.thread.getByRole('button', { name: /hostname/ })).toBeVisible();
    await expect(bell.thread.getByRole('link', { name: /in the files$/ })).toHaveCount(2);
    await accessible(page, `tool calls with links, ${viewport.width}`);
    const box = await link('src/greet.md:3').boundingBox();
    if (viewport.width < 720) expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(44);
    expect(await link('src/greet.md:3').getAttribute('href')).toMatch(/\/tasks\/.*file=src%2Fgreet\.md&line=3/);

    await link('src/greet.md:3').click();
    const content = page.getByRole('region', { name: 'Content of src/greet.md' });
    await expect(content.locator('[data-line="3"]')).toHaveText('3three');
    expect(new URL(page.url()).searchParams.get('line')).toBe('3');
    await page.getByRole('button', { name: 'Close files' }).click();
    await link('src/greet.md').click();
    await expect(content).toContainText('two');
    expect(new URL(page.url()).searchParams.has('line')).toBe(false);
    await bell.leave();
  });
}
