import type { UIMessage } from 'ai';
import type { ArtifactInput, Attachment } from '../wire.js';

/** What a user's message says to an agent: images for its eyes, other files as artifacts. */
export function promptOf(message: UIMessage): { text: string; attachments: Attachment[]; artifacts: ArtifactInput[] } {
  const text: string[] = [];
  const attachments: Attachment[] = [];
  const artifacts: ArtifactInput[] = [];
  for (const part of message.parts) {
    if (part.type === 'text') text.push(part.text);
    if (part.type !== 'file') continue;
    const [, data] = /^data:image\/[^,]*;base64,(.*)$/s.exec(part.url) ?? [];
    if (data) attachments.push({ type: 'image', mediaType: part.mediaType, data });
    else artifacts.push({ type: 'FILE', content: { mediaType: part.mediaType, url: part.url, filename: part.filename ?? '' } });
  }
  // A message may be an image alone, a check-in needs words.
  return { text: text.join('\n') || (attachments.length + artifacts.length > 0 ? '(attachment)' : ''), attachments, artifacts };
}

interface Approval {
  id: string;
  approved: boolean;
  reason?: string;
}

/** The permissions a message's reader has answered. Approvals are not in the types of the AI SDK 5. */
export function answersIn(message: UIMessage): Approval[] {
  return message.parts.flatMap((part): Approval[] => {
    if (!('state' in part) || (part.state as string) !== 'approval-responded' || !('approval' in part)) return [];
    const { id, approved, reason } = part.approval as unknown as Approval;
    return [{ id, approved, ...(reason !== undefined && { reason }) }];
  });
}

/**
 * Permissions whose answer was sent, or comes too late, by message: the predicate is a plain function that only sees
 * messages. A message's id is its turn's, so that all chats of a page can share this.
 */
const sent = new Set<string>();

export function markSent(message: UIMessage, approvalId: string): void {
  sent.add(`${message.id} ${approvalId}`);
}

/**
 * For `sendAutomaticallyWhen`: true when the last message has an answer to a permission that was not sent, and no permission
 * without an answer. Unlike the SDK's own predicate it does not wait for tools that run in parallel: those wait for the
 * agent, not for the page.
 */
export function shouldSendAutomatically({ messages }: { messages: UIMessage[] }): boolean {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || last.parts.some((part) => 'state' in part && (part.state as string) === 'approval-requested')) return false;
  return answersIn(last).some(({ id }) => !sent.has(`${last.id} ${id}`));
}
