import { createContext } from 'react';
import type { WorkspaceFile } from './file.ts';

/** How tool calls link to the files of the workspace. */
export interface FileLinks {
  /** The directory in which the agent works; '' while it is unknown. */
  dir: string;
  href: (file: WorkspaceFile) => string;
  open: (file: WorkspaceFile) => void;
}

/** Without it, as on a shared task, nothing is linked. */
export const FileLinksContext = createContext<FileLinks | null>(null);
