export function HostsPage() { return null; }
