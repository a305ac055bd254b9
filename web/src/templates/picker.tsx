import type { FilledTemplate, Template, TemplateVariable } from '@bellhop/client';
import { useId, useState } from 'react';
import { Button } from '../ui/button.tsx';
import { isComposing } from '../ui/composing.ts';
import { Failure } from '../ui/failure.tsx';
import { Field } from '../ui/field.tsx';
import { useFillTemplate, useTemplates } from './api.ts';
import { TemplatesDialog } from './dialog.tsx';
import styles from './templates.module.css';

/** Chooses a template, asks for its variables, and gives the prompt that they make. */
export function TemplatePicker({ onFilled }: { onFilled: (filled: FilledTemplate) => void }) {
  const templates = useTemplates().data ?? [];
  const [chosen, setChosen] = useState('');
  const [managing, setManaging] = useState(false);
  const [gone, setGone] = useState<FilledTemplate['gone']>([]);
  const template = templates.find((t) => t.id === chosen);
  const filled = (result: FilledTemplate) => {
    setGone(result.gone);
    setChosen('');
    onFilled(result);
  };
  return (
    <div className={styles.picker}>
      <div className={styles.row}>
        {templates.length > 0 && (
          <Field label="Template">
            {(id) => (
              <select
                id={id}
                value={chosen}
                onChange={(e) => {
                  setGone([]);
                  setChosen(e.target.value);
                }}
              >
                <option value="">None</option>
                {templates.map((t) => (
                  <option key={t.id} value={t.id}>
                    {t.forAll ? `${t.name} (for all)` : t.name}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
        <Button small kind="quiet" onClick={() => setManaging(true)}>
          {templates.length > 0 ? 'Edit templates' : 'New template'}
        </Button>
      </div>
      {template && <Values key={template.id} template={template} onFilled={filled} />}
      {gone.length > 0 && (
        <p role="status" className={styles.gone}>
          {gone.map((g) => `The ${names[g.member] ?? g.member} ${g.value} of the template is gone`).join('. ')}. Choose
          another one below.
        </p>
      )}
      {managing && <TemplatesDialog onClose={() => setManaging(false)} />}
    </div>
  );
}

const names: Record<string, string> = { agent: 'agent', model: 'model', project: 'project', hostId: 'host' };

/** The form of a template's variables. */
function Values({ template, onFilled }: { template: Template; onFilled: (filled: FilledTemplate) => void }) {
  const variables = template.variables ?? [];
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(variables.map((v) => [v.name, v.default ?? ''])),
  );
  const fill = useFillTemplate();
  const missing = variables.some((v) => v.required && !values[v.name]);
  const use = () => fill.mutate({ id: template.id, values }, { onSuccess: onFilled });
  return (
    <fieldset className={styles.values}>
      <legend>{template.name}</legend>
      {variables.map((v) => (
        <Value
          key={v.name}
          variable={v}
          value={values[v.name] ?? ''}
          onChange={(value) => setValues({ ...values, [v.name]: value })}
          onEnter={() => !missing && use()}
        />
      ))}
      {fill.error && <Failure what="The template was not used" error={fill.error} />}
      <div>
        <Button small disabled={missing || fill.isPending} onClick={use}>
          Use template
        </Button>
      </div>
    </fieldset>
  );
}

function Value({
  variable: { name, required, choices = [] },
  value,
  onChange,
  onEnter,
}: {
  variable: TemplateVariable;
  value: string;
  onChange: (value: string) => void;
  onEnter: () => void;
}) {
  const id = useId();
  const label = required ? `${name} (required)` : name;
  return (
    <div className={styles.value}>
      <label htmlFor={id}>{label}</label>
      {choices.length > 0 ? (
        <select id={id} value={value} onChange={(e) => onChange(e.target.value)}>
          {(!required || value === '') && <option value="">None</option>}
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          value={value}
          dir="auto"
          onChange={(e) => onChange(e.target.value)}
          onKeyDown={(e) => {
            if (e.key === 'Enter' && !isComposing(e)) onEnter();
          }}
        />
      )}
    </div>
  );
}
