// Undo of changes that this tab has made.
import { ask } from "./api.ts";
import { announce, toast, toastError } from "./messages.tsx";

const made: string[] = []; // revisions, the newest last

/** Reverts a revision. */
export async function undo(revision: string): Promise<void> {
  await ask("POST", "/_/undo", { body: JSON.stringify({ rev: revision }) });
  const at = made.indexOf(revision);
  if (at >= 0) made.splice(at, 1);
}

/** Remembers a revision that this tab has made, and returns what undoes it. */
export function undoLater(revision: string, onDone: (error: unknown) => void): () => void {
  made.push(revision);
  return () => {
    undo(revision).then(
      () => {
        announce("Undone");
        onDone(null);
      },
      (error: unknown) => onDone(error),
    );
  };
}

/** Undoes the last change that this tab has made. */
export async function undoLast(): Promise<void> {
  const revision = made.at(-1);
  if (!revision) {
    announce("There is nothing to undo");
    return;
  }
  try {
    await undo(revision);
    toast("Undone");
  } catch (error) {
    toastError("Not undone.", error);
  }
}
