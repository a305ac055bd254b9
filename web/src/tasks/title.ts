const longest = 80;

/** Makes a title from a message: its first line with text, without markdown, cut at a word. */
export function titleOf(message: string): string {
  const line =
    message
      .split('\n')
      .map((l) =>
        l
          .replace(/^[#>*\-\s`]+/, '')
          .replace(/`/g, '')
          .trim(),
      )
      .find((l) => l !== '') ?? 'New task';
  const characters = [...line];
  if (characters.length <= longest) return line;
  const cut = characters.slice(0, longest).join('');
  const space = cut.lastIndexOf(' ');
  return `${space > longest / 2 ? cut.slice(0, space) : cut}…`;
}
