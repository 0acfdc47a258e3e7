// What a person types stays as it is typed, also where the value that it means would be spelled in
// another way.
import { useState } from "preact/hooks";

/**
 * Returns the text of an input: what was typed, until the input is left or its value changes
 * from elsewhere. set takes what was typed, and null when the input is left.
 */
export function useOwnText(value: string): [text: string, set: (typed: string | null) => void] {
  const [own, setOwn] = useState<{ text: string; means?: string } | null>(null);
  if (own && own.means === undefined) own.means = value;
  const isOwn = own !== null && own.means === value;
  return [isOwn ? own.text : value, (text) => setOwn(text === null ? null : { text })];
}
