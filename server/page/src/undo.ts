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

/** Reports a change that this tab has made, with a button that undoes it. */
export function toastUndo(text: string, revision: string, onDone?: () => void): void {
  made.push(revision);
  const run = async () => {
    try {
      await undo(revision);
      announce("Undone");
      onDone?.();
    } catch (error) {
      toastError("Not undone.", error);
    }
  };
  toast(text, { action: { name: "Undo", run } });
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
