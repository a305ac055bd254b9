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
    const { mediaType, url, filename = '' } = part;
    const [, data] = url.split(/^data:image\/[^,]*;base64,/);
    if (data) attachments.push({ type: 'image', mediaType, data });
    else artifacts.push({ type: 'FILE', content: { mediaType, url, filename } });
  }
  // A message may be an image alone, a check-in needs words.
  return { text: text.join('\n') || (attachments[0] || artifacts[0] ? '(attachment)' : ''), attachments, artifacts };
}

interface Approval {
  id: string;
  approved: boolean;
  reason?: string | undefined;
}

/** The permissions of a message, of all states or of one. Approvals are not in the types of the AI SDK 5. */
export function approvalsIn(message: UIMessage, wanted?: string): Approval[] {
  return message.parts.flatMap((part) => {
    const { state, approval } = part as unknown as { state?: string; approval?: Approval };
    return approval && (!wanted || state === `approval-${wanted}`) ? [approval] : [];
  });
}

/** The answers of a message's reader that were not sent. */
export function answersIn(message: UIMessage): Approval[] {
  return approvalsIn(message, 'responded').filter(({ id }) => !sent.has(`${message.id} ${id}`));
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
  return last?.role === 'assistant' && !approvalsIn(last, 'requested')[0] && !!answersIn(last)[0];
}
