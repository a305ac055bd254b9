import { type RefObject, useEffect, useRef, useState } from 'react';
import type { Answer, Interaction } from '../../app/types.ts';
import { Badge } from '../../ui/badge.tsx';
import { spellHidden } from '../../ui/bidi.ts';
import { Button } from '../../ui/button.tsx';
import { argumentsOf, summarise } from '../tool/summary.ts';
import { dockKey, useArmed } from './armed.ts';
import { isInView } from './inview.ts';
import styles from './dock.module.css';

export interface DockProps {
  interaction: Interaction;
  count: number;
  pending: boolean;
  onAnswer: (answer: Answer) => void;
}

const levels: Record<string, { label: string; tone: 'soft' | 'wait' | 'bad' }> = {
  INFO: { label: 'Low risk', tone: 'soft' },
  WARN: { label: 'Check first', tone: 'wait' },
  CRITICAL: { label: 'Dangerous', tone: 'bad' },
};

const mac = /Mac|iPhone|iPad/.test(navigator.platform);

export function Permission({ interaction, count, pending, onAnswer, keys }: DockProps & { keys: boolean }) {
  const [givingReason, setGivingReason] = useState(false);
  const armed = useArmed(interaction.id);
  const ready = armed && !pending;
  const command = argumentsOf(interaction.args);
  const { verb } = summarise(interaction.toolName ?? '', interaction.args);
  const severity = (interaction.level ?? '').toUpperCase();
  const level = levels[severity];
  const card = useRef<HTMLDivElement>(null);
  const aimed = useArmed(keys ? interaction.id : '');
  useDockKeys(card, keys && aimed && ready, onAnswer);

  return (
    <div className={styles.question} ref={card}>
      <header data-question>
        <strong id={`ask-${interaction.id}`}>
          Allow {interaction.toolName ? <code>{interaction.toolName}</code> : 'this'}?
        </strong>
        {level && (
          <Badge tone={level.tone} icon={level.tone === 'soft' ? 'check' : 'warn'}>
            {level.label}
          </Badge>
        )}
        {count > 1 && <span className={styles.count}>1 of {count}</span>}
      </header>
      {shortPrompt(interaction.prompt, command) && (
        <p className={styles.prompt} dir="auto">
          {shortPrompt(interaction.prompt, command)}
        </p>
      )}
      {interaction.warning && (
        <p className={styles.prompt} dir="auto" role="note">
          {interaction.warning}
        </p>
      )}
      {command && (
        <pre className={styles.command} tabIndex={0} dir="ltr" aria-label={`${verb}, in full`}>
          {spellHidden(command)}
        </pre>
      )}
      {interaction.options && interaction.options.length > 0 && (
        <div className={styles.options} role="group" aria-label="What the agent takes beyond this call">
          {interaction.options.map((o) => (
            <Button key={o} disabled={!ready} onClick={() => onAnswer({ text: o })} dir="auto">
              {o}
            </Button>
          ))}
        </div>
      )}
      {givingReason ? (
        <DenyReason
          pending={!ready}
          onCancel={() => setGivingReason(false)}
          onDeny={(reason) => onAnswer({ approved: false, ...(reason && { reason }) })}
        />
      ) : (
        <div className={styles.buttons} data-answers>
          <Button
            kind="primary"
            disabled={!ready}
            onClick={() => onAnswer({ approved: true })}
            aria-keyshortcuts={keys ? 'Control+Enter Meta+Enter' : undefined}
          >
            Allow once {keys && <kbd aria-hidden="true">{mac ? '⌘⏎' : 'Ctrl Enter'}</kbd>}
          </Button>
          {/* A host asks about each dangerous call, whatever was allowed before. */}
          {severity !== 'CRITICAL' && (
            <Button
              disabled={!ready}
              onClick={() => onAnswer({ approved: true, remember: 'session' })}
              title="Calls of this shape until this session ends: the same program, options and kind of place"
            >
              Allow for this session
            </Button>
          )}
          <span className={styles.gap} />
          <Button
            kind="danger"
            disabled={!ready}
            onClick={() => onAnswer({ approved: false })}
            aria-keyshortcuts={keys ? 'Control+Shift+Backspace Meta+Shift+Backspace' : undefined}
          >
            Deny {keys && <kbd aria-hidden="true">{mac ? '⌘⇧⌫' : 'Ctrl Shift ⌫'}</kbd>}
          </Button>
          <Button kind="quiet" disabled={!ready} onClick={() => setGivingReason(true)}>
            Deny with reason
          </Button>
        </div>
      )}
    </div>
  );
}

function DenyReason({
  pending,
  onCancel,
  onDeny,
}: {
  pending: boolean;
  onCancel: () => void;
  onDeny: (reason: string) => void;
}) {
  const [reason, setReason] = useState('');
  return (
    <form
      className={styles.reason}
      onSubmit={(e) => {
        e.preventDefault();
        onDeny(reason.trim());
      }}
    >
      <input
        aria-label="Reason for denying"
        placeholder="Tell the agent why, or what to do instead"
        autoFocus
        dir="auto"
        value={reason}
        onChange={(e) => setReason(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === 'Escape') {
            e.stopPropagation();
            onCancel();
          }
        }}
      />
      <Button kind="danger" type="submit" disabled={pending}>
        Deny
      </Button>
      <Button kind="quiet" onClick={onCancel}>
        Cancel
      </Button>
    </form>
  );
}

/** Whether a key belongs to a program in the terminal. */
const isInTerminal = ({ target }: KeyboardEvent) => target instanceof Element && target.closest('[data-terminal]');

function useDockKeys(card: RefObject<Element | null>, ready: boolean, onAnswer: (answer: Answer) => void) {
  const latest = useRef(onAnswer);
  latest.current = onAnswer;
  useEffect(() => {
    if (!ready) return;
    const onKey = (event: KeyboardEvent) => {
      const key = dockKey(event);
      if (!key || document.querySelector('dialog[open]') || isInTerminal(event)) return;
      if (!card.current || !isInView(card.current)) return;
      event.preventDefault();
      event.stopPropagation();
      latest.current({ approved: key === 'allow' });
    };
    addEventListener('keydown', onKey, true);
    return () => removeEventListener('keydown', onKey, true);
  }, [card, ready]);
}

/** The prompt without the command, which is shown below it. */
function shortPrompt(prompt: string, command: string): string {
  const lines = prompt.split('\n').filter((l) => l.trim() !== '' && !(command && l.includes(command)));
  return lines.join('\n');
}
