import { useState } from 'react';
import { readSetting, writeSetting } from './store.ts';

/** A setting that the browser remembers; the first value is the usual one. */
export function useSetting<T extends string>(name: string, values: readonly [T, T]): [T, (value: T) => void] {
  const [value, setValue] = useState<T>(() => (readSetting(name) === values[1] ? values[1] : values[0]));
  const change = (next: T) => {
    setValue(next);
    writeSetting(name, next);
  };
  return [value, change];
}
