import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import type { OfferingHost } from '../app/types.ts';
import { useIsAdmin, useMe } from '../auth/session.ts';
import { InstallDialog } from '../hosts/install.tsx';
import { pushSupported, useTurnOn } from '../inbox/push.ts';
import { useOffers } from '../tasks/api.ts';
import { Button } from '../ui/button.tsx';
import { Copy } from '../ui/copy.tsx';
import { Failure } from '../ui/failure.tsx';
import { Icon } from '../ui/icon.tsx';
import { toast } from '../ui/toast.tsx';
import { useFirstSteps, useSteps } from './facts.ts';
import { installingHosts, missingKeys, realAgents, type Step, type StepId } from './steps.ts';
import styles from './firststeps.module.css';

/** The first steps with an act for each open one. Without an open step, or when it is hidden, it shows nothing. */
export function Checklist({ onStart }: { onStart: () => void }) {
  const [shown, show] = useFirstSteps();
  const steps = useSteps();
  const wasOpen = useRef(false); // the last tick is shown until the user leaves the page
  wasOpen.current ||= steps?.some((s) => !s.done) ?? false;
  if (shown === 'hidden' || !steps || !wasOpen.current) return null;
  const hide = () => {
    show('hidden');
    toast('The first steps are hidden. The settings bring them back', { label: 'Undo', run: () => show('shown') });
  };
  return (
    <section className={styles.card} aria-label="First steps">
      <header className={styles.head}>
        <h2>First steps</h2>
        <span className={styles.soft}>
          {steps.filter((s) => s.done).length} of {steps.length} done
        </span>
        <Button small kind="quiet" onClick={hide}>
          Hide
        </Button>
      </header>
      <Steps steps={steps} onStart={onStart} />
    </section>
  );
}

/** The steps in their order; a done one has no act. */
export function Steps({ steps, onStart }: { steps: readonly Step[]; onStart: () => void }) {
  // The act of a step is gone as soon as the step is done; the dialog stays and shows the end.
  const [installing, setInstalling] = useState<readonly OfferingHost[] | null>(null);
  return (
    <>
      <ol className={styles.steps}>
        {steps.map((step) => (
          <li key={step.id} data-done={step.done || undefined}>
            <span className={styles.sign}>{step.done && <Icon name="check" size={13} />}</span>
            <div className={styles.what}>
              <strong>{step.title}</strong>
              <span className="visually-hidden">{step.done ? ' (done)' : ' (open)'}</span>
              <p>{step.text}</p>
              {!step.done && <Act of={step.id} onStart={onStart} onInstall={setInstalling} />}
            </div>
          </li>
        ))}
      </ol>
      {installing && <InstallDialog hosts={installing} onClose={() => setInstalling(null)} />}
    </>
  );
}

interface ActProps {
  of: StepId;
  onStart: () => void;
  onInstall: (hosts: readonly OfferingHost[]) => void;
}

function Act({ of, onStart, onInstall }: ActProps) {
  switch (of) {
    case 'agent':
      return <Install onInstall={onInstall} />;
    case 'key':
      return <Keys />;
    case 'project':
      return (
        <HowTo label="How to add one">
          <p>Start it with the directory of a repository:</p>
          <Code text="make dev ARGS='--project /path/of/a/repository'" />
          <p>Of another host, its configuration file lists them:</p>
          <Code text={'projects:\n  shop: /path/of/a/repository'} />
        </HowTo>
      );
    case 'task':
      return (
        <Button small onClick={onStart}>
          Write the first message
        </Button>
      );
    case 'notifications':
      return <Notify />;
  }
}

function Install({ onInstall }: Pick<ActProps, 'onInstall'>) {
  const admin = useIsAdmin();
  const offers = useOffers().data;
  const navigate = useNavigate();
  if (!offers) return null;
  if (!admin) return <p>Your administrator installs one.</p>;
  if (offers.hosts.length === 0)
    return (
      <Button small onClick={() => void navigate({ to: '/hosts' })}>
        Add an agent host
      </Button>
    );
  if (installingHosts(offers).length === 0) return <ByHand program={realAgents(offers)[0]?.agent.id ?? 'opencode'} />;
  return (
    <Button small kind="primary" onClick={() => onInstall(installingHosts(offers))}>
      Install an agent
    </Button>
  );
}

/** How an operator installs an agent on a host that does not let administrators do it. */
function ByHand({ program }: { program: string }) {
  return (
    <HowTo label="How to install one">
      <p>On the machine of the host:</p>
      <Code text={`bellhop agents install ${program}`} />
      <p>
        A host that is started with <code>BELLHOP_HOST_ALLOW_INSTALLS=true</code> lets administrators do it here.
      </p>
    </HowTo>
  );
}

function Keys() {
  const offers = useOffers().data;
  const missing = offers ? missingKeys(offers) : [];
  if (missing.length === 0) return <p>It is asked for once an agent is installed.</p>;
  return (
    <HowTo label="How to give one">
      <p>
        Write the key into a file that only you can read. Name the file in the host’s environment, and start it again:
      </p>
      {missing.map(({ agent, variable }) => (
        <div key={agent}>
          <p>{agent}:</p>
          <Code text={`export ${variable}_FILE=/path/of/the/file`} />
        </div>
      ))}
      <p>
        The variable without <code>_FILE</code> holds the key itself. The broker and this page never see it.
      </p>
    </HowTo>
  );
}

function Notify() {
  const me = useMe().data;
  const turnOn = useTurnOn();
  const navigate = useNavigate();
  if (!pushSupported())
    return (
      <Button small onClick={() => void navigate({ to: '/settings' })}>
        See the settings
      </Button>
    );
  return (
    <>
      <Button small disabled={turnOn.isPending} onClick={() => me && turnOn.mutate(me.id)}>
        Notify this browser
      </Button>
      {turnOn.error && <Failure what="This browser will not be notified" error={turnOn.error} />}
    </>
  );
}

function HowTo({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <details className={styles.how}>
      <summary>{label}</summary>
      {children}
    </details>
  );
}

function Code({ text }: { text: string }) {
  return (
    <div className={styles.code}>
      <pre tabIndex={0}>{text}</pre>
      <Copy text={text} label={`Copy ${text.split('\n', 1)[0] ?? ''}`} />
    </div>
  );
}
