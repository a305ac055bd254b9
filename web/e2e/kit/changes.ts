import type { Locator, Page } from '@playwright/test';
import { fulfill } from './fulfill.ts';

export interface ChangedFile {
  path: string;
  oldPath?: string;
  status?: string;
  /** The file's part of the patch, without the line "diff --git". */
  patch: string;
  /** The name in the patch, if git would quote it. */
  quoted?: string;
  binary?: boolean;
}

/** What pages are shown. They keep one route, because a request between two would be answered by the host. */
const shown = new WeakMap<Page, object>();

/** Answers requests for a task's changes by these files, from the next one on. */
export async function showChanges(page: Page, files: readonly ChangedFile[]): Promise<void> {
  const count = (patch: string, sign: string) =>
    patch.split('\n').filter((l) => l.startsWith(sign) && !l.startsWith(sign.repeat(3))).length;
  const content = {
    base: '',
    truncated: false,
    files: files.map(({ path, oldPath, status, patch, binary }) => ({
      path,
      ...(oldPath !== undefined && { oldPath }),
      status: status ?? 'modified',
      additions: count(patch, '+'),
      deletions: count(patch, '-'),
      ...(binary && { binary }),
    })),
    patch: files.map((f) => `diff --git ${f.quoted ?? `a/${f.oldPath ?? f.path} b/${f.path}`}\n${f.patch}`).join(''),
  };
  const routed = shown.has(page);
  shown.set(page, content);
  if (routed) return;
  await page.route('**/api/agent/diff', (route) =>
    fulfill(route, {
      json: { message: { id: 'd', artifacts: [{ id: 'd', type: 'DIFF', content: shown.get(page) }] } },
    }),
  );
}

/** The part of a patch for a file that exists before and after. */
export const modified = (path: string, hunks: string) => `--- a/${path}\n+++ b/${path}\n${hunks}`;

/** New files of some lines, the last of which names its file. */
export const newFiles = (count: number, lines: number): ChangedFile[] =>
  Array.from({ length: count }, (_, i) => {
    const path = `src/part${i % 7}/file${String(i + 1).padStart(4, '0')}.ts`;
    const body = Array.from({ length: lines - 1 }, (_, n) => `+export const value${n} = ${n}; // of ${path}`);
    const patch = `new file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,${lines} @@\n${body.join('\n')}\n`;
    return { path, status: 'added', patch: `${patch}+// the end of file ${i + 1}\n` };
  });

export const paneOf = (page: Page): Locator => page.getByRole('complementary', { name: 'Changes' });

/** Opens the changes of the task that is shown. */
export async function openChanges(page: Page): Promise<Locator> {
  await page.getByRole('button', { name: 'Changes', exact: true }).click();
  return paneOf(page);
}

/** The button that begins a comment on a line of a file. */
export const commentOn = (pane: Locator, line: number, file = 'src/greeting.ts', removed = ''): Locator =>
  pane
    .getByRole('region', { name: `Changes in ${file}` })
    .getByRole('button', { name: `Comment on ${removed}line ${line}`, exact: true });

/** The field of the comment that is being written. */
export const commentForm = (pane: Locator): Locator => pane.getByRole('textbox', { name: /^Comment on/ });
