import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { NewTaskForm } from './form.tsx';

vi.mock('@tanstack/react-router', () => ({ useNavigate: () => () => Promise.resolve() }));

afterEach(() => vi.unstubAllGlobals());

it('starts a task with Enter, but not with the one that ends a composition', async () => {
  const created: string[] = [];
  vi.stubGlobal('fetch', async (url: string, init?: RequestInit) => {
    const request = new Request(new URL(url, location.href), init);
    if (request.method === 'POST') created.push(await request.text());
    return Response.json({ agents: [], hosts: [], templates: [] });
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <NewTaskForm />
    </QueryClientProvider>,
  );
  const field = screen.getByRole('textbox', { name: 'First message' });
  fireEvent.change(field, { target: { value: '日本' } });
  fireEvent.keyDown(field, { key: 'Enter', isComposing: true });
  fireEvent.keyDown(field, { key: 'Enter', keyCode: 229 }); // Safari
  fireEvent.keyDown(field, { key: 'Enter', shiftKey: true });
  fireEvent.change(field, { target: { value: '日本語' } });
  fireEvent.keyDown(field, { key: 'Enter' });
  await waitFor(() => expect(created).toEqual([JSON.stringify({ title: '日本語' })]));
});
