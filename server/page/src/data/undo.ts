// Undo of changes that this tab has made.
import { ask, Refused, type Answer } from "./api.ts";
import { onDuplicate } from "./tab.ts";
import { announce, dismiss, toast, toastError } from "../messages.tsx";

interface Made {
  message: number;
  session: string | undefined; // instead of the page's, "" for the file
}

const made = new Map<string, Made>(readMade()), // the latest revisions, the newest last
  undone: [revision: string, Made][] = []; // those that reverted them
const kept = 100; // revisions

/** Returns the revisions that this tab had made before the page was loaded anew. */
function readMade(): [revision: string, made: Made][] {
  const list = JSON.parse(sessionStorage.getItem("pickup.made") ?? "[]") as [string, string | null][];
  return list.map(([revision, session]) => [revision, { message: 0, session: session ?? undefined }]);
}

function keepMade(): void {
  const list = [...made].slice(-kept).map(([revision, { session }]) => [revision, session ?? null]);
  sessionStorage.setItem("pickup.made", JSON.stringify(list));
}

onDuplicate(() => {
  made.clear();
  keepMade();
});

const revert = (revision: string, own: Made | undefined): Promise<Answer> =>
  ask("POST", "/_/undo", { body: JSON.stringify({ rev: revision }), session: own?.session });

/**
 * Reverts a revision, and withdraws the message about it. A revision that can never be
 * reverted, because its records have changed since, is not in the way of those before it.
 */
export async function undo(revision: string): Promise<void> {
  const own = made.get(revision);
  made.delete(revision);
  try {
    const answer = await revert(revision, own);
    if (own && answer.revision) undone.push([answer.revision, own]);
  } catch (error) {
    const isFinal = error instanceof Refused && [409, 410].includes(error.status);
    if (own && !isFinal) made.set(revision, own);
    throw error;
  } finally {
    keepMade();
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
  undone.length = 0;
  made.set(revision, { message: toast(text, { action: { name: "Undo", run } }), session });
  for (const old of made.keys()) if (made.size > kept) made.delete(old);
  keepMade();
}

let latest = Promise.resolve();

/** Runs an undo or a redo after those before it, which may be about the same record. */
function inTurn(run: () => Promise<void>): Promise<void> {
  return (latest = latest.then(run));
}

/** Makes the change again that this tab has undone last. */
export const redoLast = (): Promise<void> => inTurn(redo);

async function redo(): Promise<void> {
  const last = undone.pop();
  if (!last) {
    toast("Nothing to redo in this tab");
    return;
  }
  const [revision, own] = last;
  try {
    const answer = await revert(revision, own);
    made.set(answer.revision, { ...own, message: toast("Done again") });
    keepMade();
  } catch (error) {
    toastError("Could not redo.", error);
  }
}

/** Forgets the changes of a session that has ended. */
export function forgetSession(name: string): void {
  for (const [revision, { session }] of made) if (session === name) made.delete(revision);
}

/** Undoes the last change that this tab has made. */
export const undoLast = (): Promise<void> => inTurn(undoNewest);

async function undoNewest(): Promise<void> {
  const revision = [...made.keys()].at(-1);
  if (!revision) {
    toast("Nothing to undo in this tab");
    return;
  }
  try {
    await undo(revision);
    toast("Undone");
  } catch (error) {
    toastError("Could not undo.", error);
  }
}
