import type { FinishReason, Task, TurnReason } from '../app/types.ts';
import type { IconName } from '../ui/icon.tsx';
import type { Tone } from '../ui/badge.tsx';

export interface Status {
  kind: 'waiting' | 'busy' | 'quiet' | 'offline' | 'failed' | 'stopped' | 'done' | 'new';
  label: string;
  tone: Tone;
  icon?: IconName;
}

interface End {
  label: string;
  failed: boolean;
}

/** What users read about the reasons that Bellhop itself gives. A new reason needs a row: the compiler asks for it. */
const ends: Record<TurnReason, End> = {
  aborted: { label: 'Stopped by you', failed: false },
  'host-restarted': { label: 'The agent host restarted during this turn', failed: true },
  'host-lost': { label: 'The agent host lost this turn', failed: true },
  'agent-exited': { label: 'The agent program ended during this turn', failed: true },
  'agent-restarted': { label: 'The agent was restarted during this turn', failed: false },
  'agent-stopped': { label: 'The operator stopped the agent during this turn', failed: true },
  'not-started': { label: 'This turn never started', failed: true },
};

const isTurnReason = (reason: string): reason is TurnReason => Object.hasOwn(ends, reason);

/** Describes for people how a turn ended; null when it simply stopped. */
export function endOf(finishReason: FinishReason, reason: string): End | null {
  if (isTurnReason(reason)) return ends[reason];
  if (reason === 'no-finish')
    return finishReason === 'stop' ? null : { label: 'The agent host sent nothing for this turn', failed: true };
  switch (finishReason) {
    case 'error':
      return { label: reason || 'The turn ended with an error', failed: true };
    case 'length':
      return { label: 'The answer reached its length limit', failed: false };
    case 'content-filter':
      return { label: 'The answer was stopped by a content filter', failed: true };
    case 'other':
      return { label: reason || 'The turn ended early', failed: true };
    default:
      return null;
  }
}

/** Whether a basic server has been silent behind a complete text: it may go on, and does not say that it will not. */
export const isQuiet = (task: Task) =>
  task.basicHost === true &&
  task.openTurn !== null &&
  task.agentStatus === 'idle' &&
  task.reason === 'waiting' &&
  task.openInteractions === 0;

/** The one state of a task that matters most. */
export function statusOf(task: Task, offlineHosts: ReadonlySet<string>): Status {
  if (task.openInteractions > 0) return { kind: 'waiting', label: 'Waiting for you', tone: 'wait', icon: 'bell' };
  if (offlineHosts.has(task.hostId)) return { kind: 'offline', label: 'Host offline', tone: 'bad', icon: 'host' };
  if (task.agentStatus === 'busy' || (task.openTurn && task.reason !== 'waiting'))
    return { kind: 'busy', label: 'Working', tone: 'busy' };
  if (isQuiet(task)) return { kind: 'quiet', label: 'Quiet', tone: 'soft' };
  const end = task.lastTurn && endOf(task.lastTurn.finishReason, task.lastTurn.reason);
  if (end?.failed) return { kind: 'failed', label: 'Failed', tone: 'bad', icon: 'warn' };
  if (end) return { kind: 'stopped', label: 'Stopped', tone: 'soft', icon: 'stop' };
  if (task.lastTurn) return { kind: 'done', label: 'Done', tone: 'good', icon: 'check' };
  return { kind: 'new', label: 'New', tone: 'soft' };
}

/** Marking a task as read increments its rev, so an unread task is more than one ahead of readRev. */
export const isUnread = (task: Task) => task.rev > task.readRev + 1 && task.lastTurn !== null;
