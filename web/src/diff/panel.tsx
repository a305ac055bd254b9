import type { Diff } from '../app/types.ts'; export default function DiffPanel(_: { taskId: string; chosen: Diff | null; onClose: () => void }) { return null; }
