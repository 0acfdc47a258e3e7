// The second bundle: the tools, and the dialogs of the other screens. It is loaded
// after the first screen, or when something of it is shown.
import type { ComponentChild } from "preact";
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { isSignedOut } from "./api.ts";
import { load } from "./catalog.ts";
import { toastError } from "./messages.tsx";

type Bundle = typeof import("./tools.tsx");

export const bundle = signal<Bundle | null>(null);

/** What is shown over the screen. */
export const isPaletteOpen = signal(false),
  isHelpOpen = signal(false);

let isLoading = false;

export function loadTools(): void {
  if (bundle.value || isLoading) return;
  isLoading = true;
  import("./tools.tsx")
    .then((loaded) => {
      bundle.value = loaded;
    })
    .catch(async (error: unknown) => {
      await load(); // finds out whether the user is signed out
      if (!isSignedOut.value) toastError("A part of the page could not be loaded.", error);
    })
    .finally(() => {
      isLoading = false;
    });
}

interface LaterProps {
  show: (bundle: Bundle) => ComponentChild;
  wait?: ComponentChild;
}

/** Shows something of the second bundle as soon as it is loaded. */
export function Later({ show, wait = null }: LaterProps) {
  useEffect(loadTools, []);
  return <>{bundle.value ? show(bundle.value) : wait}</>;
}
