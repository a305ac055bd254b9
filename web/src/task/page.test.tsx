import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { useState } from 'react';
import { afterEach, expect, test, vi } from 'vitest';
import type { Diff } from '../app/types.ts';
import '../diff/panel.tsx'; // loaded before the page asks for it
import { TaskPage } from './page.tsx';

let taskId = 'one';

vi.mock('@tanstack/react-router', () => ({
  useNavigate: () => () => undefined,
  useParams: () => ({ taskId }),
  useRouter: () => ({}),
  useSearch: () => ({ diff: true }),
}));
vi.mock('../tasks/api.ts', () => ({ useTask: (id: string) => ({ data: { id, title: id, lastTurn: null } }) }));
vi.mock('../hosts/api.ts', () => ({ useOfflineHosts: () => new Set() }));
vi.mock('../workspaces/api.ts', () => ({ useTaskWorkspace: () => null }));
vi.mock('./header.tsx', () => ({ TaskHeader: () => null }));
vi.mock('./view.tsx', () => ({
  TaskView: ({ onDiff }: { onDiff: (diff: Diff) => void }) => (
    <button type="button" onClick={() => onDiff({ base: '', files: [], patch: 'chosen', truncated: false })}>
      Show
    </button>
  ),
}));
vi.mock('../diff/panel.tsx', () => ({
  default: function Panel({ chosen, task }: { chosen: Diff | null; task: { title: string } }) {
    const [first] = useState(task.title);
    return <p>{`${task.title} shows ${chosen?.patch ?? 'the present changes'}, opened for ${first}`}</p>;
  },
}));

afterEach(cleanup);

test('changes that were chosen in one task are not shown in another', async () => {
  const shows = (text: string) => expect(screen.getByText(text)).toBeTruthy();
  const { rerender } = render(<TaskPage />);
  await act(() => vi.dynamicImportSettled());
  shows('one shows the present changes, opened for one');
  fireEvent.click(screen.getByRole('button', { name: 'Show' }));
  shows('one shows chosen, opened for one');
  taskId = 'two'; // as the browser's Back button does
  rerender(<TaskPage />);
  shows('two shows the present changes, opened for two');
});
