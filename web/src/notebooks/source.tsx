export function SourcePage() { return null; }
