// The dialogs that every screen can open.
import type { ComponentChild } from "preact";
import { signal } from "@preact/signals";

/** Whether the palette or the list of the keys is open. */
export const isPaletteOpen = signal(false),
  isHelpOpen = signal(false);

/** Another dialog, or a menu. */
export const dialog = signal<ComponentChild>(null);

export function closeDialog(): void {
  dialog.value = null;
}
