/** Takes the one-time link out of the address: it has no business in the history or in a bookmark. */
export function takeLink(location: Location, history: History): string | null {
  const link = new URLSearchParams(location.hash.slice(1)).get('link');
  if (link) history.replaceState(null, '', location.pathname + location.search);
  return link;
}
