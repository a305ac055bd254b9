import { useState } from 'react';
import { useTitle } from '../inbox/attention.ts';
import { NewTaskDialog } from '../tasks/dialog.tsx';
import { Empty, Loading, Page } from '../ui/page.tsx';
import { Steps } from './checklist.tsx';
import { useSteps } from './facts.ts';

/** The first steps on a page of their own: a phone has no room for them beside its list of tasks. */
export function FirstStepsPage() {
  useTitle('First steps');
  const steps = useSteps();
  const [writing, setWriting] = useState(false);
  return (
    <Page title="First steps" lead="From an installed agent to its first changes. What is done ticks itself.">
      {!steps && <Loading what="the first steps" />}
      {steps?.every((s) => s.done) && (
        <Empty icon="check" title="All done">
          <p>Nothing is left to set up.</p>
        </Empty>
      )}
      {steps && <Steps steps={steps} onStart={() => setWriting(true)} />}
      {writing && <NewTaskDialog onClose={() => setWriting(false)} />}
    </Page>
  );
}
