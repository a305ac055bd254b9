export function NotebooksPage() { return null; }
