// Undo of changes that this tab has made.
import { ask, Refused } from "./api.ts";
import { announce, dismiss, toast, toastError } from "../messages.tsx";

interface Made {
  message: number;
  session: string | undefined; // instead of the page's, "" for the file
}

const made = new Map<string, Made>(); // the latest revisions, the newest last
const kept = 100; // revisions

/**
 * Reverts a revision, and withdraws the message about it. A revision that can never be
 * reverted, because its records have changed since, is not in the way of those before it.
 */
export async function undo(revision: string): Promise<void> {
  const own = made.get(revision);
  made.delete(revision);
  try {
    await ask("POST", "/_/undo", { body: JSON.stringify({ rev: revision }), session: own?.session });
  } catch (error) {
    const isFinal = error instanceof Refused && [409, 410].includes(error.status);
    if (own && !isFinal) made.set(revision, own);
    throw error;
  }
  if (own) dismiss(own.message);
}

/** Reports a change that this tab has made, with a button that undoes it. revision is "" if nothing has changed. */
export function toastUndo(text: string, revision: string, onDone?: () => void, session?: string): void {
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
      toastError("Could not undo.", error);
    }
  };
  made.set(revision, { message: toast(text, { action: { name: "Undo", run } }), session });
  for (const old of made.keys()) if (made.size > kept) made.delete(old);
}

/** Forgets the changes of a session that has ended. */
export function forgetSession(name: string): void {
  for (const [revision, { session }] of made) if (session === name) made.delete(revision);
}

/** Undoes the last change that this tab has made. */
export async function undoLast(): Promise<void> {
  const revision = [...made.keys()].at(-1);
  if (!revision) {
    announce("Nothing to undo");
    return;
  }
  try {
    await undo(revision);
    toast("Undone");
  } catch (error) {
    toastError("Could not undo.", error);
  }
}
