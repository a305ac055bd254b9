/** Has the browser save the answer of a link. */
export function saveFrom(href: string, name: string) {
  const link = document.createElement('a');
  link.href = href;
  link.download = name;
  link.click();
}

export function saveBlob(blob: Blob, name: string) {
  const url = URL.createObjectURL(blob);
  saveFrom(url, name);
  // The browser reads the blob after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
