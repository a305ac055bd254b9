import type { Template } from '@bellhop/client';
import { useState } from 'react';
import { useMe } from '../auth/session.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { Table } from '../ui/table.tsx';
import styles from '../ui/table.module.css';
import { useDeleteTemplate, useTemplates, type TemplateInput } from './api.ts';
import { inputOf, TemplateEditor } from './editor.tsx';

const empty: TemplateInput = { name: '', prompt: '' };

/** Lists the templates of the user, and changes them. */
export function TemplatesDialog({ onClose }: { onClose: () => void }) {
  const query = useTemplates();
  const remove = useDeleteTemplate();
  const admin = useMe().data?.admin ?? false;
  const [editing, setEditing] = useState<Template | 'new' | null>(null);
  if (editing !== null) {
    return (
      <Dialog title={editing === 'new' ? 'New template' : 'Edit the template'} onClose={() => setEditing(null)}>
        <TemplateEditor
          id={editing === 'new' ? undefined : editing.id}
          initial={editing === 'new' ? empty : inputOf(editing)}
          onDone={() => setEditing(null)}
        />
      </Dialog>
    );
  }
  return (
    <Dialog title="Templates" onClose={onClose}>
      <QueryStatus query={query} loading="templates" failed="The templates could not be loaded" />
      {remove.error && <Failure what="The template was not deleted" error={remove.error} />}
      {query.data?.length === 0 && <p className={styles.soft}>There is no template yet.</p>}
      {query.data && query.data.length > 0 && (
        <Table label="Templates" columns={['Name', 'For']} actions>
          {query.data.map((t) => (
            <tr key={t.id}>
              <td>
                <bdi>{t.name}</bdi>
              </td>
              <td data-label="For">{t.forAll ? 'all users' : 'you'}</td>
              <td>
                {(admin || !t.forAll) && (
                  <>
                    <Button small aria-label={`Edit ${t.name}`} onClick={() => setEditing(t)}>
                      Edit
                    </Button>{' '}
                    <ConfirmButton
                      label="Delete"
                      title={`Delete ${t.name}?`}
                      action="Delete template"
                      onConfirm={() => remove.mutate(t.id)}
                      text={<p>Tasks that were made from it stay.</p>}
                    />
                  </>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      <div className={styles.row}>
        <Button kind="primary" onClick={() => setEditing('new')}>
          New template
        </Button>
      </div>
    </Dialog>
  );
}

/** Makes a template of a task: of its first message, and of where it runs. */
export function SaveTemplateDialog({ initial, onClose }: { initial: TemplateInput; onClose: () => void }) {
  return (
    <Dialog title="Save as a template" onClose={onClose}>
      <TemplateEditor initial={initial} onDone={onClose} />
    </Dialog>
  );
}
