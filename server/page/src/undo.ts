// Undo of changes that this tab has made.
import { ask } from "./api.ts";
import { announce, dismiss, toast, toastError } from "./messages.tsx";

const made = new Map<string, number>(); // the latest revisions with their messages, the newest last
const kept = 100; // revisions

/** Reverts a revision, and withdraws the message about it. */
export async function undo(revision: string): Promise<void> {
  await ask("POST", "/_/undo", { body: JSON.stringify({ rev: revision }) });
  const message = made.get(revision);
  if (message) dismiss(message);
  made.delete(revision);
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
