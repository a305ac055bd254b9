import type { HostWorkspaceList, OfferList } from '../app/types.ts';
import { Field } from '../ui/field.tsx';
import { placeOf, workspaceChoices } from '../workspaces/choices.ts';
import { BranchPicker } from './branch.tsx';
import { branchesOf, choicesOf, defaultAgent, scriptedNote, type Choice, type Picks } from './choices.ts';
import { ModeSelect } from './mode.tsx';
import { lastBranch } from './picks.ts';
import styles from './form.module.css';

/** Chooses where and how a new task runs, from what the hosts offer. */
export function Pickers({
  offers,
  workspaces,
  picks,
  onChange,
}: {
  /** undefined while they are being read. */
  offers: OfferList | undefined;
  /** undefined while they are being read, or if they cannot be read. */
  workspaces: HostWorkspaceList | undefined;
  picks: Picks;
  onChange: (change: Partial<Picks>) => void;
}) {
  const offered = offers ?? { agents: [], hosts: [] };
  const { agents, models, projects, hosts } = choicesOf(offered, picks);
  const branches = branchesOf(offered, picks);
  const unset = defaultAgent(offered, picks.hostId);
  const pick = (key: keyof Picks, label: string, unset: string, choices: Choice[]) => (
    <Picker
      label={label}
      unset={unset}
      value={picks[key]}
      choices={choices}
      onChange={(value) => onChange({ [key]: value })}
    />
  );
  const existing = workspaces ? workspaceChoices(workspaces, picks) : [];
  return (
    <div className={styles.options}>
      <Picker
        label="Agent"
        unset={unset ? `Default (${unset.title})` : 'Default'}
        unsetNote={unset?.scripted ? scriptedNote : undefined}
        value={picks.agent}
        choices={agents}
        onChange={(agent) => onChange({ agent, model: '' })}
      />
      {models.length > 0 && pick('model', 'Model', 'Default', models)}
      <Picker
        label="Project"
        unset="None: an empty directory"
        value={picks.project}
        choices={projects}
        onChange={(project) => onChange({ project, branch: lastBranch(project) })}
      />
      {branches && (
        <BranchPicker branches={branches} value={picks.branch} onChange={(branch) => onChange({ branch })} />
      )}
      {hosts.length > 1 && pick('hostId', 'Host', 'Least busy', hosts)}
      {workspaces && existing.length > 0 && (
        <Picker
          label="Workspace"
          unset="A new one"
          value={picks.workspace}
          choices={existing}
          onChange={(value) => onChange(placeOf(workspaces, value))}
        />
      )}
      <Field label="Permissions">
        {(id) => <ModeSelect id={id} value={picks.mode} onChange={(mode) => onChange({ mode })} />}
      </Field>
    </div>
  );
}

function Picker({
  label,
  unset,
  unsetNote,
  value,
  choices,
  onChange,
}: {
  label: string;
  /** What "" means. */
  unset: string;
  unsetNote?: string | undefined;
  value: string;
  choices: Choice[];
  onChange: (value: string) => void;
}) {
  const chosen = choices.find((c) => c.value === value);
  return (
    <Field label={label} hint={chosen ? chosen.note : unsetNote}>
      {(id) => (
        <select id={id} value={chosen ? value : ''} onChange={(e) => onChange(e.target.value)}>
          <option value="">{unset}</option>
          {choices.map((c) => (
            <option key={c.value} value={c.value} disabled={c.disabled} title={c.note}>
              {c.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
