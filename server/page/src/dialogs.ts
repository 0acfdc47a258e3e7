// The dialogs that every screen can open.
import { signal } from "@preact/signals";

/** Whether the palette or the list of the keys is open. */
export const isPaletteOpen = signal(false),
  isHelpOpen = signal(false);
