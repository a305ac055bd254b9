import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { urlOf } from '../app/config.ts';
import { client, describe } from '../app/http.ts';
import type { Task, WorkspaceState } from '../app/types.ts';
import { useShares } from '../shares/api.ts';
import { ShareDialog } from '../shares/dialog.tsx';
import type { TemplateInput } from '../templates/api.ts';
import { SaveTemplateDialog } from '../templates/dialog.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { saveFrom } from '../ui/save.ts';
import { toast } from '../ui/toast.tsx';
import styles from '../ui/table.module.css';
import { WorkspaceDetails } from '../workspaces/details.tsx';
import { TaskUsageDialog } from './spent.tsx';

const exportTask = (task: Task) => saveFrom(urlOf(`/api/tasks/${task.id}/export`), 'bellhop-task.md');

const failed = (error: unknown) => toast(`The first message was not read: ${describe(error).message}`);

/** A template of a task: its first message, and where and how it runs. */
async function templateOf(task: Task): Promise<TemplateInput> {
  const { messages } = await client.messages(task.id, { after: 0, limit: 1 });
  const { agent, model = '', project, branch = '', hostId, permissionMode } = task;
  return {
    name: task.title.slice(0, 100),
    prompt: messages.find((m) => m.role === 'USER')?.message ?? '',
    agent,
    model,
    project,
    branch,
    hostId,
    ...(permissionMode && { permissionMode }),
  };
}

/** The menu of a task's header. Restarting the agent ends the open turn, so that it asks first when there is one. */
export function TaskMenu({ task, workspace }: { task: Task; workspace: WorkspaceState | null }) {
  const [asking, setAsking] = useState(false);
  const [detailed, setDetailed] = useState(false);
  const [counted, setCounted] = useState(false);
  const [sharing, setSharing] = useState(false);
  const [template, setTemplate] = useState<TemplateInput | null>(null);
  const restart = useMutation({
    mutationFn: () => client.restart(task.id),
    onSuccess: () => toast('The agent is restarted. The next message continues the conversation.'),
    onError: (error) => {
      const { message, hint } = describe(error);
      toast(`Not restarted: ${[message, hint].filter(Boolean).join('. ')}`);
    },
  });
  const links = useShares(task.id).data?.length ?? 0;
  const ofHost: MenuItem[] = [
    { label: 'Workspace', icon: 'branch', run: () => setDetailed(true) },
    { label: 'Usage', icon: 'pulse', run: () => setCounted(true) },
    { label: 'Restart agent', icon: 'retry', run: () => (task.openTurn ? setAsking(true) : restart.mutate()) },
  ];
  return (
    <>
      <Menu
        label="Actions for this task"
        items={[
          ...(task.basicHost ? [] : ofHost), // such a host has no workspaces and cannot restart agents
          { label: links > 0 ? `Share (${links})` : 'Share', icon: 'out', run: () => setSharing(true) },
          { label: 'Save as template', icon: 'copy', run: () => templateOf(task).then(setTemplate, failed) },
          { label: 'Export as Markdown', icon: 'file', run: () => exportTask(task) },
        ]}
      />
      {template && <SaveTemplateDialog initial={template} onClose={() => setTemplate(null)} />}
      {sharing && <ShareDialog task={task} onClose={() => setSharing(false)} />}
      {detailed && <WorkspaceDetails task={task} state={workspace} onClose={() => setDetailed(false)} />}
      {counted && <TaskUsageDialog task={task} onClose={() => setCounted(false)} />}
      {asking && (
        <Dialog title="Restart the agent?" onClose={() => setAsking(false)}>
          <p>The agent works on a message. That turn ends, and what it has not finished stays undone.</p>
          <div className={styles.row}>
            <Button onClick={() => setAsking(false)}>Cancel</Button>
            <Button
              kind="danger"
              onClick={() => {
                setAsking(false);
                restart.mutate();
              }}
            >
              End the turn and restart
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}
