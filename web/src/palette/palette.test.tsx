import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { Palette } from './palette.tsx';

vi.mock('@tanstack/react-router', () => ({ useNavigate: () => () => Promise.resolve() }));
vi.mock('../auth/session.ts', () => ({
  useMe: () => ({ data: null }),
  useSignOut: () => ({ mutate: () => undefined }),
}));
vi.mock('../tasks/api.ts', () => ({
  useTasks: () => ({ data: undefined, isPending: false }),
  useHiddenTasks: () => new Set(),
}));
HTMLDialogElement.prototype.showModal = () => undefined;
HTMLDialogElement.prototype.close = () => undefined;
Element.prototype.scrollIntoView = () => undefined;

afterEach(cleanup);

test('Enter chooses an entry, but not while it ends a composition', () => {
  const onClose = vi.fn();
  render(<Palette onClose={onClose} onNew={() => undefined} onHelp={() => undefined} />);
  const field = screen.getByRole('combobox', { hidden: true });
  fireEvent.keyDown(field, { key: 'Enter', isComposing: true });
  fireEvent.keyDown(field, { key: 'Enter', keyCode: 229 }); // Safari
  expect(onClose).not.toHaveBeenCalled();
  fireEvent.keyDown(field, { key: 'Enter' });
  expect(onClose).toHaveBeenCalledOnce();
});
