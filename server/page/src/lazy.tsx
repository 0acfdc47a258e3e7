// The second bundle: the tools, and the dialogs of the other screens. It is loaded
// after the first screen, or when something of it is shown.
import type { ComponentChild } from "preact";
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { isSignedOut } from "./data/api.ts";
import { load } from "./data/catalog.ts";
import { toastError } from "./messages.tsx";

type Bundle = typeof import("./tools.tsx");

export const bundle = signal<Bundle | null>(null);

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
      if (!isSignedOut.value) toastError("Part of this page could not be loaded.", error);
    })
    .finally(() => {
      isLoading = false;
    });
}

/** Does something with the second bundle as soon as it is loaded. */
export function withTools(run: (bundle: Bundle) => unknown): void {
  loadTools();
  const stop = bundle.subscribe((loaded) => {
    if (!loaded) return;
    setTimeout(() => stop());
    run(loaded);
  });
}

interface LazyProps {
  show: (bundle: Bundle) => ComponentChild;
  wait?: ComponentChild;
}

/** Shows something of the second bundle as soon as it is loaded. */
export function Lazy({ show, wait = null }: LazyProps) {
  useEffect(loadTools, []);
  return <>{bundle.value ? show(bundle.value) : wait}</>;
}
