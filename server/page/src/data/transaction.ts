// Changes of several records in one transaction, which is undone as one.
import { computed } from "@preact/signals";
import { ask, Refused, type Answer, type Problem, type RequestOptions, type Schemas } from "./api.ts";
import { status } from "./catalog.ts";
import { memberOf, pointerNames, stringify, type Json, type Obj } from "./json.ts";
import { toastUndo } from "./undo.ts";

/** The number of records that one transaction changes. A cluster, which has no file, takes fewer. */
export const mostChanged = computed(() => (status.value?.file || status.value?.session ? 10_000 : 4_000));

/** An operation of a transaction. */
export type Operation = Omit<Schemas["Transaction"][number], "record" | "if"> & { record?: Obj; if?: Obj };

/** Makes operations, all or none. */
export const transact = (operations: Operation[], options: RequestOptions = {}): Promise<Answer> =>
  ask("POST", "/_/transaction", { body: stringify(operations as unknown as Json), isMinimal: true, ...options });

/** Makes operations, and says what was done. */
export async function changeRecords(operations: Operation[], done: string): Promise<void> {
  const answer = await transact(operations);
  toastUndo(done, answer.revision);
}

/** Deletes the records with some ids. */
export const deleteRecords = (collection: string, ids: ReadonlySet<string>, done: string): Promise<void> =>
  changeRecords(
    [...ids].map((id) => ({ op: "delete", collection, id })),
    done,
  );

/** What a record is to become. */
export interface RecordChange {
  id: string; // "" of a new one
  seen: Obj; // as it was shown
  values: ReadonlyMap<string, Json | undefined>; // by field; undefined removes it
}

/** What keeps a change from being stored. */
export interface Fault {
  change: RecordChange;
  field: string; // "" for the whole record
  text?: string; // what was typed, if it is no value
  detail: string;
}

/**
 * Changes records, each on condition that it has the values that were seen. It returns
 * what breaks the rules; then nothing has changed. With isTrial nothing does.
 */
export async function writeRecords(
  collection: string,
  changes: RecordChange[],
  done: string,
  isTrial = false,
): Promise<Fault[]> {
  if (changes.length > mostChanged.value) {
    throw new Error(`At most ${mostChanged.value.toLocaleString("en")} records can be changed at once.`);
  }
  try {
    const answer = await transact(
      changes.map((change) => operationOf(collection, change)),
      { isTrial },
    );
    if (!isTrial) toastUndo(done, answer.revision);
    return [];
  } catch (error) {
    const faults = error instanceof Refused ? faultsIn(collection, error.problem, changes) : [];
    if (faults.length === 0) throw error;
    return faults;
  }
}

function operationOf(collection: string, change: RecordChange): Operation {
  const { id, seen, values } = change,
    fields = [...values],
    record = Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as Obj;
  if (id === "") return { op: "create", collection, record };
  const before = Object.fromEntries(fields.map(([name]) => [name, memberOf(seen, name) ?? null])) as Obj;
  return { op: "update", collection, id, record, unset: removedFields(change), if: before };
}

const removedFields = ({ values }: RecordChange): string[] =>
  [...values].filter(([, value]) => value === undefined).map(([name]) => name);

/** Returns the faults of a transaction by the changes that they are in. */
function faultsIn(collection: string, { errors = [] }: Problem, changes: RecordChange[]): Fault[] {
  return errors.flatMap(({ pointer: at = "", detail }) => {
    const [n = "", part, name = ""] = pointerNames(at),
      change = changes[Number(n)];
    if (!change) return [];
    if (part === "if")
      throw new Error(`Somebody else has changed ${name} of ${collection} ${change.id}. Nothing was written.`);
    if (part === "id") throw new Error(`${collection} ${change.id} no longer exists.`);
    if (part === "unset") return [{ change, field: removedFields(change)[Number(name)] ?? "", detail }];
    return part === "collection" ? [] : [{ change, field: name, detail }];
  });
}
