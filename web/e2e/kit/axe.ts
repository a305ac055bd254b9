import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, type Page } from '@playwright/test';
import type { AxeResults, RunOptions } from 'axe-core';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Reports accessibility violations that stay. The test continues and fails at its end. */
export async function accessible(page: Page, what: string): Promise<void> {
  await expect
    .configure({ soft: true })
    .poll(() => violations(page), `axe: ${what}`)
    .toEqual([]);
}

async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(source);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run: (options: RunOptions) => Promise<AxeResults> } };
    const { violations } = await axe.run({ resultTypes: ['violations'] });
    return violations.map(
      (v) =>
        `${v.id} (${v.impact}): ${v.help}: ${v.nodes.map((n) => `${n.html} ${n.failureSummary ?? ''}`).join('\n')}`,
    );
  });
}
