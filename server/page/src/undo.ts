// Undo of changes that this tab has made.
import { ask, Refused } from "./api.ts";
import { announce, dismiss, toast, toastError } from "./messages.tsx";

const made = new Map<string, number>(); // the latest revisions with their messages, the newest last
const kept = 100; // revisions

/**
 * Reverts a revision, and withdraws the message about it. A revision that can never be
 * reverted, because its records have changed since, is not in the way of those before it.
 */
export async function undo(revision: string): Promise<void> {
  const message = made.get(revision);
  made.delete(revision);
  try {
    await ask("POST", "/_/undo", { body: JSON.stringify({ rev: revision }) });
  } catch (error) {
    const isFinal = error instanceof Refused && [409, 410].includes(error.status);
    if (message && !isFinal) made.set(revision, message);
    throw error;
  }
  if (message) dismiss(message);
}

/** Reports a change that this tab has made, with a button that undoes it. revision is "" if nothing has changed. */
export function toastUndo(text: string, revision: string, onDone?: () => void): void {
  if (!revision) {
    toast(text);
    return;
  }
  const run = async () => {
    try {
      await undo(revision);
      announce("Undone");
      onDone?.();
    } catch (error) {
      toastError("Not undone.", error);
    }
  };
  made.set(revision, toast(text, { action: { name: "Undo", run } }));
  for (const old of made.keys()) if (made.size > kept) made.delete(old);
}

/** Undoes the last change that this tab has made. */
export async function undoLast(): Promise<void> {
  const revision = [...made.keys()].at(-1);
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
