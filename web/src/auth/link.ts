/** Removes the one-time link from the address, so that neither the history nor a bookmark keeps it. */
export function takeLink(location: Location, history: History): string | null {
  const link = new URLSearchParams(location.hash.slice(1)).get('link');
  if (link) history.replaceState(null, '', location.pathname + location.search);
  return link;
}
