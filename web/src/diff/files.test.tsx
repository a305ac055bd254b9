import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';
import { Files } from './files.tsx';

afterEach(cleanup);

const reviewed = { patches: [], anchors: [], viewed: [], gone: [] };

test('what the host left out is named, with the number of the rest', () => {
  const leftOut = [{ path: 'pipe', reason: 'is a FIFO' }];
  const diff = { files: [], patch: '', leftOut, leftOutCount: 3 };
  render(<Files taskId="t" diff={diff} layout="unified" reviewed={reviewed} />);
  expect(screen.getByRole('status').textContent).toContain('pipe is a FIFOand 2 more');
});

test('nothing is said if nothing was left out', () => {
  render(<Files taskId="t" diff={{ files: [], patch: '' }} layout="unified" reviewed={reviewed} />);
  expect(screen.queryByRole('status')).toBeNull();
});
