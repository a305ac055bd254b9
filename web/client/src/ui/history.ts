import type { UIMessage } from 'ai';
import { isToolUse, type Message, type ToolUse } from '../wire.js';

type Part = UIMessage['parts'][number];

/**
 * A task's messages as a chat shows them: one assistant message per turn, whose id is the turn's. A resumed stream has the
 * same id, so it replaces what history knows of an open turn.
 */
export function toUIMessages(messages: readonly Message[]): UIMessage[] {
  const shown: UIMessage[] = [];
  for (const row of messages) {
    if (row.role === 'USER') {
      shown.push({ id: row.id, role: 'user', parts: [{ type: 'text', text: row.message }] });
      continue;
    }
    const parts = partsOf(row);
    if (parts.length === 0) continue;
    const id = row.turnId || row.id;
    const known = shown.find((message) => message.role === 'assistant' && message.id === id);
    if (known) known.parts.push(...parts);
    else shown.push({ id, role: 'assistant', parts });
  }
  return shown;
}

function partsOf(row: Message): Part[] {
  const parts: Part[] = row.message === '' ? [] : [{ type: 'text', text: row.message, state: 'done' }];
  for (const artifact of row.artifacts) {
    if (isToolUse(artifact)) parts.push(toolPart(artifact.content));
    else parts.push({ type: `data-${artifact.type.toLowerCase()}`, id: artifact.id, data: artifact.content });
  }
  return parts;
}

function toolPart({ toolCallId, toolName, input, output, state }: ToolUse): Part {
  const call = { type: 'dynamic-tool' as const, toolCallId, toolName, input, providerExecuted: true };
  switch (state) {
    case 'running':
      return { ...call, state: 'input-available' };
    case 'done':
      return { ...call, state: 'output-available', output };
    default:
      // The AI SDK 5 has no state for a denial, and later versions want the approval, which history does not keep.
      return { ...call, state: 'output-error', errorText: typeof output === 'string' ? output : JSON.stringify(output ?? state) };
  }
}
