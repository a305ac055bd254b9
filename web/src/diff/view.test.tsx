import { cleanup, render } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { parsePatch } from './parse.ts';
import { FileDiff } from './view.tsx';

const scroll = vi.fn();
Element.prototype.scrollIntoView = scroll;
vi.stubGlobal(
  'IntersectionObserver',
  class {
    observe = () => undefined;
    disconnect = () => undefined;
  },
);

afterEach(() => {
  cleanup();
  scroll.mockClear();
});

const [patch] = parsePatch('diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\n');
const file = (viewed: boolean) => (
  <FileDiff
    id="f"
    taskId="t"
    file={{ path: 'a.txt', status: 'modified', additions: 1, deletions: 1 }}
    patch={patch}
    layout="unified"
    viewed={viewed}
    anchors={{ byLine: new Map(), gone: [] }}
  />
);

test('the changes open at their first file, even if later ones were viewed', () => {
  render(file(true));
  expect(scroll).not.toHaveBeenCalled();
});

test('a file that is folded stays in sight', () => {
  const { rerender } = render(file(false));
  rerender(file(true));
  expect(scroll).toHaveBeenCalledOnce();
});
