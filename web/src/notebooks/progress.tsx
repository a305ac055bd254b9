import { useEffect, useState } from 'react';
import { Badge } from '../ui/badge.tsx';
import { duration } from '../ui/time.tsx';
import type { FollowupMetadata, FollowupProgress } from '@bellhop/client';

/** The time, updated every second while it is shown. */
function useSeconds(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** How far a question is on its way to the agent. */
export function Delivery({ metadata, agentName }: { metadata: FollowupMetadata; agentName: string }) {
  if (metadata.failure)
    return (
      <Badge tone="bad" icon="warn">
        {metadata.delivered ? `${agentName} refused it: ${metadata.failure}` : metadata.failure}
      </Badge>
    );
  if (metadata.read)
    return (
      <Badge tone="good" icon="check">
        Answered
      </Badge>
    );
  if (metadata.delivered) return <Badge tone="busy">Delivered, waiting for an answer</Badge>;
  if (metadata.progress) return <Progress progress={metadata.progress} />;
  return <Badge tone="soft">Waiting for the agent</Badge>;
}

function Progress({ progress }: { progress: FollowupProgress }) {
  switch (progress.state) {
    case 'sending':
      return <Badge tone="busy">{progress.attempts > 0 ? 'Sending again …' : 'Sending …'}</Badge>;
    case 'retrying':
      return <Retrying progress={progress} />;
    case 'waiting':
      return <Badge tone="soft">Waits behind another question</Badge>;
    case 'held':
      return (
        <Badge tone="wait" icon="warn">
          Held back: the agent's webhook is disabled
        </Badge>
      );
  }
}

function Retrying({ progress }: { progress: FollowupProgress }) {
  const left = Date.parse(progress.nextAttemptAt ?? '') - useSeconds();
  const next = left > 0 ? `next in ${duration(left)}` : 'now';
  return (
    <Badge tone="wait" icon="retry">
      Retrying, {next}
      {progress.lastError && ` (last: ${progress.lastError})`}
    </Badge>
  );
}
