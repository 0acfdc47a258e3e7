// What the keys of a table mean.
import { hasLetters } from "../keys.tsx";
import type { Place } from "./range.ts";

/** Whether a key types something, or begins to compose it. */
export const isTyped = (event: KeyboardEvent): boolean =>
  hasLetters.value &&
  event.key !== " " &&
  (event.key.length === 1 || event.key === "Process") &&
  (event.getModifierState("AltGraph") || !(event.ctrlKey || event.metaKey || event.altKey));

export const isMenuKey = (event: KeyboardEvent): boolean =>
  event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);

/** Returns where a key leads, or undefined. */
export function targetOf(
  key: string,
  control: boolean,
  from: Place,
  rows: number,
  last: number, // column
  page: number,
): Place | undefined {
  const { row, column } = from,
    far = Math.max(1, page);
  switch (key) {
    case "ArrowUp":
      return { row: control ? 0 : row - 1, column };
    case "ArrowDown":
      return { row: control ? rows - 1 : row + 1, column };
    case "ArrowLeft":
      return { row, column: control ? 0 : column - 1 };
    case "ArrowRight":
      return { row, column: control ? last : column + 1 };
    case "Home":
      return { row: control ? 0 : row, column: 0 };
    case "End":
      return { row: control ? rows - 1 : row, column: last };
    case "PageUp":
      if (control) break; // the tab to the left
      return { row: Math.max(0, row - far), column };
    case "PageDown":
      if (control) break;
      return { row: row + far, column };
  }
  return undefined;
}
