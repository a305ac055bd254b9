import type { UIMessage } from 'ai';
import type { Interaction, Message, ToolUse } from '../app/types.ts';

/** Rows and messages for tests. */
export function row(change: Partial<Message> & { seq: number }): Message {
  return {
    id: `m${change.seq}`,
    rev: change.seq,
    taskId: 'task',
    turnId: 'turn',
    role: 'ASSISTANT',
    status: 'SENT',
    message: 'text',
    artifacts: [],
    eventId: '',
    createdAt: '2026-01-02T03:04:05Z',
    ...change,
  };
}

export function toolRow(seq: number, use: Partial<ToolUse>): Message {
  const content: ToolUse = {
    toolCallId: 'call',
    toolName: 'run_command',
    input: { command: 'make' },
    output: null,
    isError: false,
    state: 'running',
    ...use,
  };
  return row({ seq, message: '', artifacts: [{ id: `a${seq}`, type: 'TOOL_USE', content }] });
}

export function assistant(parts: UIMessage['parts'], id = 'turn'): UIMessage {
  return { id, role: 'assistant', parts };
}

export const text = (content: string, state: 'streaming' | 'done' = 'done') => ({
  type: 'text' as const,
  text: content,
  state,
});

export function confirm(change: Partial<Interaction> = {}): Interaction {
  return {
    id: 'q1',
    taskId: 'task',
    taskTitle: 'A task',
    turnId: 'turn',
    state: 'open',
    kind: 'confirm',
    prompt: 'Run this command?',
    toolName: 'run_command',
    args: { command: 'rm -rf build && make' },
    level: 'WARN',
    createdAt: '2026-01-02T03:04:05Z',
    ...change,
  };
}
