import type { KeyboardEvent } from 'react';

/**
 * Whether a key belongs to the composition of a character. Safari ends a composition before it reports the Enter key
 * that ended it, with the keyCode 229.
 */
export const isComposing = (event: KeyboardEvent): boolean => event.nativeEvent.isComposing || event.keyCode === 229;
