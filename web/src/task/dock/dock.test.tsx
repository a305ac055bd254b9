import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { confirm } from '../kit.ts';
import type { Interaction } from '../../app/types.ts';
import { armAfter, dockKey } from './armed.ts';
import { Dock } from './dock.tsx';

const calls: { url: string; body: unknown }[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Element.prototype, 'getBoundingClientRect').mockReturnValue(new DOMRect(0, 0, 100, 100));
  calls.length = 0;
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    calls.push({ url, body: JSON.parse(String(init.body)) });
    return Response.json(confirm({ state: 'resolved' }));
  });
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function show(interactions: Interaction[]) {
  return render(
    <QueryClientProvider client={new QueryClient()}>
      <Dock interactions={interactions} />
      <textarea aria-label="Message" />
    </QueryClientProvider>,
  );
}

const arm = () => act(() => vi.advanceTimersByTimeAsync(armAfter));
const settle = () => act(() => vi.advanceTimersByTimeAsync(0));
const allow = () => screen.getByRole<HTMLButtonElement>('button', { name: /Allow once/ });

describe('the permission dock', () => {
  it('shows the complete command, its level and the number of open questions', () => {
    show([confirm({ warning: 'It deletes files.' }), confirm({ id: 'q2' })]);
    expect(screen.getByText('It deletes files.')).toBeTruthy();
    expect(screen.getByText('rm -rf build && make')).toBeTruthy();
    expect(screen.getByText('Check first')).toBeTruthy();
    expect(screen.getByText('1 of 2')).toBeTruthy();
  });
  it('does not take the focus', () => {
    show([]);
    screen.getByLabelText('Message').focus();
    cleanup();
    const { rerender } = show([]);
    const field = screen.getByLabelText('Message');
    field.focus();
    rerender(
      <QueryClientProvider client={new QueryClient()}>
        <Dock interactions={[confirm()]} />
        <textarea aria-label="Message" />
      </QueryClientProvider>,
    );
    expect(document.activeElement).toBe(screen.getByLabelText('Message'));
  });
  it('ignores keys and clicks until the user could read it', async () => {
    show([confirm()]);
    await act(() => vi.advanceTimersByTimeAsync(armAfter - 1));
    expect(allow().disabled).toBe(true);
    fireEvent.keyDown(window, { key: 'Enter', ctrlKey: true });
    fireEvent.click(allow());
    await settle();
    expect(calls).toEqual([]);
    await act(() => vi.advanceTimersByTimeAsync(1));
    expect(allow().disabled).toBe(false);
  });
  it('arms again for the next question', async () => {
    show([confirm(), confirm({ id: 'q2', args: { command: 'second' } })]);
    await arm();
    fireEvent.click(allow());
    await settle();
    expect(screen.getByText('second')).toBeTruthy();
    expect(allow().disabled).toBe(true);
  });
  it('is not answered by typing', async () => {
    show([confirm()]);
    await arm();
    const field = screen.getByLabelText('Message');
    for (const key of [' ', 'Enter', 'y', 'a', 'Backspace', 'Escape']) fireEvent.keyDown(field, { key });
    fireEvent.keyDown(field, { key: 'Enter', shiftKey: true });
    await settle();
    expect(calls).toEqual([]);
  });
  it.each([
    ['Ctrl Enter', { key: 'Enter', ctrlKey: true }, { approved: true }],
    ['⌘ Enter', { key: 'Enter', metaKey: true }, { approved: true }],
    ['Ctrl Shift Backspace', { key: 'Backspace', ctrlKey: true, shiftKey: true }, { approved: false }],
  ])('is answered once by %s, even from the composer', async (_name, key, body) => {
    show([confirm()]);
    await arm();
    fireEvent.keyDown(screen.getByLabelText('Message'), key);
    await settle();
    fireEvent.keyDown(screen.getByLabelText('Message'), key);
    await settle();
    expect(calls).toEqual([{ url: expect.stringContaining('/api/interactions/q1'), body }]);
  });
  it('allows for the session only by its own button', async () => {
    show([confirm()]);
    await arm();
    fireEvent.click(screen.getByRole('button', { name: 'Allow for this session' }));
    await settle();
    expect(calls[0]?.body).toEqual({ approved: true, remember: 'session' });
  });
  it('does not offer to allow dangerous calls for the session, because a host asks about each', () => {
    show([confirm({ level: 'CRITICAL' })]);
    expect(screen.getByText('Dangerous')).toBeTruthy();
    expect(allow()).toBeTruthy();
    expect(screen.queryByRole('button', { name: 'Allow for this session' })).toBeNull();
  });
  it('denies with a reason', async () => {
    show([confirm()]);
    await arm();
    fireEvent.click(screen.getByRole('button', { name: 'Deny with reason' }));
    fireEvent.change(screen.getByLabelText('Reason for denying'), { target: { value: 'use make clean' } });
    fireEvent.click(screen.getByRole('button', { name: 'Deny' }));
    await settle();
    expect(calls[0]?.body).toEqual({ approved: false, reason: 'use make clean' });
  });
  it('shows invisible characters as escapes', () => {
    show([confirm({ args: { command: 'echo \u202egnp.exe' } })]);
    expect(screen.getByText('echo \\u202egnp.exe')).toBeTruthy();
  });
  it('gives a permission by the name of what the agent offers', async () => {
    show([confirm({ options: ['Always allow', 'Never'] })]);
    await arm();
    fireEvent.click(screen.getByRole('button', { name: 'Always allow' }));
    await settle();
    expect(calls[0]?.body).toEqual({ text: 'Always allow' });
  });
  it('says why an answer was not taken, and keeps the question', async () => {
    const error = 'The agent takes no yes for only this call. It offers: "Always allow"';
    vi.stubGlobal('fetch', async () => Response.json({ error, code: 'invalid' }, { status: 400 }));
    show([confirm({ options: ['Always allow'] })]);
    await arm();
    fireEvent.click(allow());
    await settle();
    expect(screen.getByRole('alert').textContent).toContain(error);
    expect(screen.getByText('Your answer was not taken')).toBeTruthy();
    expect(screen.queryByRole('button', { name: 'Retry' })).toBeNull();
    expect(allow()).toBeTruthy();
  });
  it('answers a question with one of its options', async () => {
    show([confirm({ kind: 'ask', prompt: 'Which one?', options: ['left', 'right'] })]);
    await arm();
    fireEvent.click(screen.getByRole('button', { name: 'right' }));
    await settle();
    expect(calls[0]?.body).toEqual({ text: 'right' });
  });
});

describe('dockKey', () => {
  const key = {
    key: 'Enter',
    ctrlKey: true,
    metaKey: false,
    shiftKey: false,
    altKey: false,
    repeat: false,
    isComposing: false,
  };
  it.each([
    ['a held key', { ...key, repeat: true }],
    ['a key of an input method', { ...key, isComposing: true }],
    ['Enter alone', { ...key, ctrlKey: false }],
    ['Ctrl Shift Enter', { ...key, shiftKey: true }],
    ['Ctrl Backspace, which deletes a word', { ...key, key: 'Backspace' }],
  ])('does not take %s', (_name, event) => expect(dockKey(event)).toBeNull());
});
