import type { UIMessage } from 'ai';
import { isToolUse } from './contract.js';
import type { Message, ToolUse } from './wire.js';

type Part = UIMessage['parts'][number];

/** Converts a task's messages to those of a chat: one assistant message per turn, with the turn's id. A resumed
 * stream uses the same id, so it replaces the open turn of history. */
export function toUIMessages(messages: readonly Message[]): UIMessage[] {
  const shown: UIMessage[] = [];
  for (const row of messages) {
    const role = row.role.toLowerCase() as 'user' | 'assistant';
    const user = role === 'user';
    const id = (!user && row.turnId) || row.id;
    const parts: Part[] = user ? [{ type: 'text', text: row.message }] : partsOf(row);
    const known = shown.find((message) => message.role === role && message.id === id);
    if (known) known.parts.push(...parts);
    else if (parts.length > 0) shown.push({ id, role, parts });
  }
  return shown;
}

function partsOf(row: Message): Part[] {
  const parts: Part[] = row.artifacts.map((artifact) =>
    isToolUse(artifact)
      ? toolPart(artifact.content)
      : { type: `data-${artifact.type.toLowerCase()}`, id: artifact.id, data: artifact.content },
  );
  return row.message === '' ? parts : [{ type: 'text', text: row.message, state: 'done' }, ...parts];
}

function toolPart({ output, state, isError: _, ...rest }: ToolUse): Part {
  const call = { type: 'dynamic-tool' as const, ...rest, providerExecuted: true };
  if (state === 'running') return { ...call, state: 'input-available' };
  if (state === 'done') return { ...call, state: 'output-available', output };
  if (state === 'unknown') {
    return { ...call, state: 'output-error', errorText: 'The turn ended before the result of this tool was known.' };
  }
  // The AI SDK 5 has no state for a denial, and later versions require the approval, which history does not keep.
  return {
    ...call,
    state: 'output-error',
    errorText: typeof output === 'string' ? output : JSON.stringify(output ?? state),
  };
}
