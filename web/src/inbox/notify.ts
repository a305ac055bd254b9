import { config } from '../app/config.ts';
import type { Task, TaskHint } from '../app/types.ts';
import { readSetting, writeSetting } from '../settings/store.ts';
import { isQuiet } from '../tasks/status.ts';

const supported = () => typeof Notification !== 'undefined';

/** The setting with the id of the user who wants this browser to be notified while the console is closed. */
export const wantedBy = 'notified-user';

/** Whether the service worker notifies this browser, so that its tabs need not. */
export const notifiedByWorker = () => readSetting(wantedBy) !== null;

/** Whether the user has enabled notifications and the browser permits them. */
export const notificationsOn = () =>
  supported() && Notification.permission === 'granted' && readSetting('notifications') === 'on';

/** Asks the browser for permission. Returns whether notifications are enabled afterwards. */
export async function setNotifications(on: boolean): Promise<boolean> {
  if (!on || !supported()) {
    writeSetting('notifications', null);
    return false;
  }
  const granted = (await Notification.requestPermission()) === 'granted';
  writeSetting('notifications', granted ? 'on' : null);
  return granted;
}

/** The notification for a change of a task; null when the change needs none. */
export function notice(before: Task | undefined, hint: TaskHint): string | null {
  if (!before || hint.rev <= before.rev) return null;
  if (hint.openInteractions > before.openInteractions) return 'Waiting for you';
  const worked = before.agentStatus === 'busy' || isQuiet(before);
  if (worked && hint.agentStatus === 'idle' && hint.reason !== 'waiting') return 'The turn is over';
  return null;
}

export function notifyChange(before: Task | undefined, hint: TaskHint) {
  if (document.visibilityState === 'visible' || !notificationsOn() || notifiedByWorker()) return;
  const text = notice(before, hint);
  if (!text || !before) return;
  const shown = new Notification(before.title, {
    body: text,
    tag: `bellhop-${hint.taskId}`,
    icon: `${config.base}icon.svg`,
  });
  shown.onclick = () => {
    window.focus();
    location.assign(`${config.base}tasks/${hint.taskId}`);
  };
}
