// What the inputs of all kinds of fields have in common.
import type { PickedRecord } from "../data/references.ts";

/** Takes what was typed: the text of a value, or the id or the name of a record. */
export type OnInput = (text: string, picked?: PickedRecord) => void;

export type Control = HTMLInputElement & HTMLSelectElement & HTMLTextAreaElement;

/** What all inputs have. */
export interface SharedProps {
  ref: { current: Control | null };
  id: string | undefined;
  "aria-label": string | undefined;
}
