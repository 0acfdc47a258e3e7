// The latest changes with their values before and after. They are read when a
// screen shows them, and then brought up to date.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { read, Refused } from "./api.ts";
import { onChange, onReset, type Revision } from "./live.ts";

export const history = signal<Revision[] | null>(null); // the newest first
export const historyError = signal<unknown>(null);

export const kept = 300; // revisions
let last = ""; // the latest revision that was read
let readers = 0;
let reading: Promise<void> | null = null;
let isStale = false;

/** Whether a revision has changed a record: an edit of white space has not. */
export const hasChanged = ({ changes, collections = {} }: Revision): boolean =>
  changes === null || changes.length > 0 || Object.keys(collections).length > 0;

/** Has the history read while a screen shows it. */
export function useHistory(): void {
  useEffect(() => {
    readers++;
    update();
    return () => {
      readers--;
    };
  }, []);
}

function update(): void {
  if (reading) isStale = true;
  else {
    reading = readNew().finally(() => {
      reading = null;
      if (!isStale) return;
      isStale = false;
      update();
    });
  }
}

async function readNew(): Promise<void> {
  if (!history.value) last = "";
  try {
    const since = last ? "&_since=" + encodeURIComponent(last) : "";
    const revisions = await read<Revision[]>(`/_/changes?_limit=${kept}${since}`);
    last = revisions[0]?.rev ?? last;
    history.value = [...revisions.filter(hasChanged), ...(history.value ?? [])].slice(0, kept);
    historyError.value = null;
  } catch (error) {
    const isGone = error instanceof Refused && error.status === 410; // the server was restarted
    history.value = isGone ? null : history.value;
    historyError.value = isGone ? null : error;
    if (isGone) await readNew();
  }
}

onChange(() => {
  if (readers > 0) update();
});
onReset(() => {
  history.value = null;
  if (readers > 0) update();
});
