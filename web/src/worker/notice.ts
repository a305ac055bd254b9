/** What the broker sends to a browser (protocol section 3, "Notifications"). */
export interface Notice {
  id: string;
  event: 'question' | 'finished' | 'failed' | 'followup';
  taskId: string;
  interactionId: string;
  sourceId: string;
  title: string;
  text: string;
  answerable: boolean;
}

const events = ['question', 'finished', 'failed', 'followup'];
const idPattern = /^[\w.:-]{1,200}$/;
const maxText = 1000;

/** Reads a message. Whatever it contains, the result is a notice: a browser must show one for every message. */
export function readNotice(raw: string): Notice {
  let from: Record<string, unknown> = {};
  try {
    const value: unknown = JSON.parse(raw);
    if (typeof value === 'object' && value !== null) from = value as Record<string, unknown>;
  } catch {
    // Shown without details.
  }
  const id = (name: string) => (idPattern.test(String(from[name] ?? '')) ? String(from[name]) : '');
  const text = (name: string) => (typeof from[name] === 'string' ? from[name].slice(0, maxText) : '');
  const event = events.find((name) => name === from.event) as Notice['event'] | undefined;
  const notice: Notice = {
    id: id('id'),
    event: event ?? 'finished',
    taskId: id('taskId'),
    interactionId: id('interactionId'),
    sourceId: id('sourceId'),
    title: text('title') || 'Bellhop',
    text: text('text') || 'Something has changed',
    answerable: false,
  };
  notice.answerable =
    from.answerable === true && event === 'question' && notice.interactionId !== '' && notice.taskId !== '';
  return notice;
}

/** One notification is shown for each task: a later message replaces the earlier one. */
export const tagOf = (notice: Notice) => `bellhop-${notice.taskId || notice.sourceId || notice.id}`;

/** The page that a tap opens, below the console's path. */
export function pathOf(notice: Notice): string {
  if (notice.taskId) return `tasks/${encodeURIComponent(notice.taskId)}`;
  if (notice.sourceId) return `sources/${encodeURIComponent(notice.sourceId)}`;
  return '';
}

/** Options of showNotification that TypeScript's library does not know yet. */
export interface Options extends NotificationOptions {
  actions?: { action: string; title: string }[];
  renotify?: boolean;
  data: Notice;
}

/** How a notice looks. `again` says that the same message is shown already: it does not ring twice. */
export function optionsOf(notice: Notice, base: string, again: boolean): Options {
  return {
    body: notice.text,
    tag: tagOf(notice),
    icon: `${base}icon-192.png`,
    badge: `${base}icon-192.png`,
    data: notice,
    renotify: !again,
    silent: again,
    requireInteraction: notice.event === 'question',
    ...(notice.answerable && {
      actions: [
        { action: 'allow', title: 'Allow once' },
        { action: 'deny', title: 'Deny' },
      ],
    }),
  };
}
