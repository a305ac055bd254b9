import type { Interaction } from '../../app/types.ts';

/** What became of a question, in words. `unanswered` means that no user and no rule decided. */
export interface Outcome {
  kind: 'allowed' | 'denied' | 'answered' | 'unanswered';
  label: string;
  /** The user's own words: an answer, or why something was denied. */
  words: string;
}

/** The prefix of the reason of an answer that a rule gave. The rule's name follows. */
const rulePrefix = 'policy: ';

/** Reasons that a host gives when a turn ends, or its agent leaves, with the question open. */
const unanswered: Record<string, string> = {
  expired: 'it expired',
  interrupted: 'the turn was stopped first',
  'turn-ended': 'the turn ended first',
  withdrawn: 'the agent withdrew it',
  'host-restarted': 'the agent host restarted first',
  'host-lost': 'the agent host lost the turn',
  'agent-exited': 'the agent program ended first',
  'agent-restarted': 'the agent was restarted first',
  'agent-stopped': 'the operator stopped the agent first',
};

/** The outcome of a question; null while it is open. */
export function outcomeOf({ state, kind, answer }: Interaction): Outcome | null {
  if (state === 'open') return null;
  if (state === 'expired' || !answer) return { kind: 'unanswered', label: 'Not answered before it expired', words: '' };
  const { approved, text = '', reason = '', by = '' } = answer;
  const why = by === '' && approved === false && Object.hasOwn(unanswered, reason) ? unanswered[reason] : undefined;
  if (why) return { kind: 'unanswered', label: `Not answered: ${why}`, words: '' };
  const byRule = reason.startsWith(rulePrefix);
  const who = byRule ? ` by the rule ${reason.slice(rulePrefix.length)}` : answererOf(by);
  const words = byRule ? '' : reason;
  if (kind === 'ask') return { kind: 'answered', label: `Answered${who}`, words: text };
  if (!approved) return { kind: 'denied', label: `Denied${who}`, words };
  return { kind: 'allowed', label: `Allowed${who}${answer.remembered ? ', for this session' : ''}`, words };
}

/** A task belongs to one user, so that an answer through the broker is this user's. */
function answererOf(by: string): string {
  switch (by) {
    case '':
      return ''; // the host did not say who answered
    case 'local':
      return ' on the agent host';
    case 'stream-token':
      return ' by a program that reads the stream';
    default:
      return ' by you';
  }
}
