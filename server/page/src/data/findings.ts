// What is wrong with the records, as the server has found it.
import { computed, effect, signal } from "@preact/signals";
import { ask, get, session, type Schemas } from "./api.ts";
import { load, status } from "./catalog.ts";
import { pointerNames } from "./json.ts";
import { toastError } from "../messages.tsx";
import { toastUndo } from "./undo.ts";

export type Finding = Schemas["Finding"];

const read = 1000; // findings

/** The first findings, null until they are known, and how many there are. */
export const findings = signal<Finding[] | null>(null),
  findingCount = signal(0);

/** Why they are not known. */
export const findingsError = signal<unknown>(null);

export async function loadFindings(): Promise<void> {
  try {
    const answer = await get(`/_/findings?_start=0&_end=${read}`);
    findings.value = answer.data as unknown as Finding[];
    findingCount.value = answer.total ?? findings.value.length;
    findingsError.value = null;
  } catch (error) {
    findingsError.value = error;
  }
}

effect(() => {
  const now = status.value?.findings; // it is read after each change
  if (now?.count || findings.peek() !== null) void loadFindings();
});

/** The edits of the file that have undone what clients had written. */
export const edits = computed(() => (findings.value ?? []).filter((finding) => finding.kind === "edit"));

/** Restores what an edit has undone, and nothing else that it has changed. */
export async function putBack({ rev, records }: Finding): Promise<void> {
  try {
    const answer = await ask("POST", "/_/undo", { body: JSON.stringify({ rev, only: records }), session: "" });
    toastUndo("Put back", answer.revision, undefined, "");
  } catch (error) {
    toastError("Could not put it back.", error);
  }
}

/** Has an edit no longer listed. */
export async function dismissEdit({ rev }: Finding): Promise<void> {
  try {
    await ask("DELETE", "/_/findings/" + encodeURIComponent(rev ?? ""));
  } catch (error) {
    toastError("Could not dismiss it.", error);
  }
  await load();
}

/** Returns the field that a finding is about, with its names from the record on. */
export const memberNames = (finding: Finding): string[] => pointerNames(finding.pointer ?? "").slice(2);

/** What is wrong with fields of records, by the collection and the id. */
const wrong = computed(() => {
  const all = new Map<string, Map<string, string>>();
  for (const finding of findings.value ?? []) {
    const [member] = memberNames(finding),
      key = finding.collection + "/" + finding.id;
    if (member !== undefined) all.set(key, (all.get(key) ?? new Map()).set(member, finding.detail));
  }
  return all;
});

/** Returns what is wrong with the fields of a record of the file. */
export const faultsOf = (collection: string, id: string): ReadonlyMap<string, string> | undefined =>
  session.value ? undefined : wrong.value.get(collection + "/" + id);
