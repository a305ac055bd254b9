import { Dialog } from '../ui/dialog.tsx';
import { NewTaskForm } from './form.tsx';

export function NewTaskDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="New task" onClose={onClose}>
      <NewTaskForm onDone={onClose} />
    </Dialog>
  );
}
