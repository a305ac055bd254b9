import type { Template, TemplateVariable } from '@bellhop/client';
import { useState, type FormEvent } from 'react';
import { useMe } from '../auth/session.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Field, TextField } from '../ui/field.tsx';
import table from '../ui/table.module.css';
import { useSaveTemplate, type TemplateInput } from './api.ts';
import styles from './templates.module.css';
import { usedVariables } from './variables.ts';

/** What a template consists of, without what the server adds. */
export const inputOf = ({ id: _id, createdAt: _created, updatedAt: _updated, ...input }: Template): TemplateInput =>
  input;

/** Writes a template. The variables are those that the prompt has in braces. */
export function TemplateEditor({
  id,
  initial,
  onDone,
}: {
  /** Of the template that is changed; undefined for a new one. */
  id?: string | undefined;
  initial: TemplateInput;
  onDone: () => void;
}) {
  const [input, setInput] = useState(initial);
  const admin = useMe().data?.admin ?? false;
  const save = useSaveTemplate();
  const variables = usedVariables(input.prompt, input.variables ?? []);
  const change = (next: Partial<TemplateInput>) => setInput({ ...input, ...next });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate({ id, input: { ...input, variables } }, { onSuccess: onDone });
  };
  return (
    <form className={table.form} onSubmit={submit}>
      <TextField label="Name" maxLength={100} value={input.name} onChange={(name) => change({ name })} />
      <Field label="Prompt" hint="A name in double braces, such as {{issue}}, is asked for when the template is used.">
        {(field) => (
          <textarea
            id={field}
            className={styles.prompt}
            required
            dir="auto"
            value={input.prompt}
            onChange={(e) => change({ prompt: e.target.value })}
          />
        )}
      </Field>
      {variables.map((v) => (
        <Variable
          key={v.name}
          variable={v}
          onChange={(next) => change({ variables: variables.map((other) => (other.name === v.name ? next : other)) })}
        />
      ))}
      <Places input={input} onClear={(places) => change(places)} />
      {admin && !id && (
        <label className={styles.check}>
          <input
            type="checkbox"
            checked={input.forAll ?? false}
            onChange={(e) => change({ forAll: e.target.checked })}
          />
          For all users
        </label>
      )}
      {save.error && <Failure what="The template was not saved" error={save.error} />}
      <div className={table.row}>
        <Button onClick={onDone}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={save.isPending}>
          Save template
        </Button>
      </div>
    </form>
  );
}

function Variable({ variable, onChange }: { variable: TemplateVariable; onChange: (next: TemplateVariable) => void }) {
  const { name, choices = [] } = variable;
  return (
    <fieldset className={styles.values}>
      <legend>{name}</legend>
      <div className={styles.variable}>
        <Field label="Default">
          {(id) => (
            <input
              id={id}
              value={variable.default ?? ''}
              onChange={(e) => onChange({ ...variable, default: e.target.value })}
            />
          )}
        </Field>
        <Field label="Choices, one a line">
          {(id) => (
            <textarea
              id={id}
              rows={2}
              defaultValue={choices.join('\n')}
              onChange={(e) =>
                onChange({ ...variable, choices: e.target.value.split('\n').filter((line) => line.trim() !== '') })
              }
            />
          )}
        </Field>
        <label className={styles.check}>
          <input
            type="checkbox"
            checked={variable.required ?? false}
            onChange={(e) => onChange({ ...variable, required: e.target.checked })}
          />
          Required
        </label>
      </div>
    </fieldset>
  );
}

/** Where its tasks run, as it was when the template was made. */
function Places({ input, onClear }: { input: TemplateInput; onClear: (none: Partial<TemplateInput>) => void }) {
  const { agent, model, project, branch, permissionMode } = input;
  const places = [agent, model, project, branch, permissionMode].filter(Boolean);
  if (places.length === 0 && !input.hostId) return null;
  return (
    <p className={table.soft}>
      Its tasks run with: {places.join(', ')}
      {input.hostId && (places.length > 0 ? ', on one host' : 'one host')}.{' '}
      <Button
        small
        kind="quiet"
        onClick={() =>
          onClear({ agent: '', model: '', project: '', branch: '', hostId: '', permissionMode: undefined })
        }
      >
        Leave it open
      </Button>
    </p>
  );
}
