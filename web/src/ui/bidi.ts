/** Makes the characters visible that turn the order of writing around: with them, text can read as what it is not. */
export function unturned(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '�');
}
