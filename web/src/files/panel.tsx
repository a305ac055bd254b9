import { useQueryClient } from '@tanstack/react-query';
import { useState, type CSSProperties } from 'react';
import type { Task } from '../app/types.ts';
import { Edge, useWidth } from '../diff/resize.tsx';
import { useSetting } from '../settings/choice.ts';
import { IconButton } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Icon } from '../ui/icon.tsx';
import { useMedia } from '../ui/media.ts';
import { Empty, Loading } from '../ui/page.tsx';
import { filesKey, useDirectory } from './api.ts';
import { FoundLines, FoundNames, SearchForm, type Where } from './search.tsx';
import { Tree } from './tree.tsx';
import { Viewer } from './viewer.tsx';
import panelStyles from '../diff/diff.module.css';
import treeStyles from '../diff/filetree.module.css';
import styles from './files.module.css';

interface Props {
  task: Task;
  /** The file that is shown; "" shows none. */
  path: string;
  line: number | undefined;
  onOpen: (path: string, line?: number) => void;
  onClose: () => void;
}

/** The files of a task's workspace beside its conversation. React.lazy requires the default export. */
export default function FilesPanel({ task, path, line, onOpen, onClose }: Props) {
  const [percent, setPercent] = useWidth();
  const [ignored, setIgnored] = useSetting('files-ignored', ['shown', 'hidden']);
  const [where, setWhere] = useState<Where>('names');
  const [search, setSearch] = useState({ q: '', regexp: false, matchCase: false });
  const queries = useQueryClient();
  // Without room for both, the conversation and its heading are hidden.
  const alone = useMedia('(max-width: 1100px)');
  const Found = where === 'names' ? FoundNames : FoundLines;
  return (
    <aside className={panelStyles.panel} style={{ '--share': `${percent}%` } as CSSProperties} aria-label="Files">
      <Edge percent={percent} label="Width of the files" onChange={setPercent} />
      <header className={panelStyles.head}>
        {alone && <h1 className="visually-hidden">{task.title}</h1>}
        <h2>Files</h2>
        <span className={panelStyles.space} />
        <IconButton
          label="Show ignored files"
          aria-pressed={ignored === 'shown'}
          icon={<Icon name="archive" />}
          onClick={() => setIgnored(ignored === 'shown' ? 'hidden' : 'shown')}
        />
        <IconButton
          label="Read the files again"
          icon={<Icon name="retry" />}
          onClick={() => void queries.invalidateQueries({ queryKey: filesKey(task) })}
        />
        <IconButton label="Close files" icon={<Icon name="close" />} onClick={onClose} />
      </header>
      <SearchForm where={where} onWhere={setWhere} search={search} onSearch={setSearch} />
      <div className={treeStyles.columns}>
        {search.q.trim() === '' ? (
          <Directories task={task} path={path} withIgnored={ignored === 'shown'} onOpen={onOpen} />
        ) : (
          <Found task={task} search={search} onOpen={onOpen} />
        )}
        {path !== '' && <Viewer key={path} task={task} path={path} line={line} />}
      </div>
    </aside>
  );
}

interface DirectoriesProps {
  task: Task;
  path: string;
  withIgnored: boolean;
  onOpen: (path: string) => void;
}

function Directories({ task, path, withIgnored, onOpen }: DirectoriesProps) {
  const root = useDirectory(task, '');
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(parentsOf(path)));
  const [shown, setShown] = useState(path);
  if (shown !== path) {
    setShown(path);
    setOpen(new Set([...open, ...parentsOf(path)]));
  }
  if (root.isPending) return <Loading what="the files" />;
  if (root.error && !root.data)
    return (
      <div className={styles.failed}>
        <Failure what="The files could not be read" error={root.error} retry={() => void root.refetch()} />
      </div>
    );
  if (root.data?.pages[0]?.total === 0)
    return (
      <Empty icon="file" title="No files">
        <p>The agent’s directory is empty.</p>
      </Empty>
    );
  const toggle = (directory: string) => {
    const next = new Set(open);
    if (!next.delete(directory)) next.add(directory);
    setOpen(next);
  };
  return <Tree task={task} chosen={path} open={open} withIgnored={withIgnored} onToggle={toggle} onOpen={onOpen} />;
}

/** The directories above a file. */
function parentsOf(path: string): string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, i) => names.slice(0, i + 1).join('/'));
}
