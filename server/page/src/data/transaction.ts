// Changes of several records in one transaction, which is undone as one.
import { computed } from "@preact/signals";
import { ask, pathOf, prefix, read, Refused, type Answer, type Problem } from "./api.ts";
import { hasCollection, keyOf, readRecords, status } from "./catalog.ts";
import { isEqual, memberOf, pointer, pointerNames, stringify, withMember, type Json, type Obj, type Operation } from "./json.ts";
import { toastUndo } from "./undo.ts";

const maxOperations = 10_000; // of a patch

/** The number of records that one transaction changes. A cluster, which has no file, takes fewer. */
export const mostChanged = computed(() => (status.value?.file || status.value?.session ? 5_000 : 4_000));

interface PlacedRecord {
  path: string;
  key: Json;
}

/**
 * Returns where the records of a collection are. A patch of the database names them
 * by their places, so it tests that each place has the id that it had.
 */
async function placesOf(collection: string): Promise<Map<string, PlacedRecord>> {
  const key = keyOf(collection),
    places = new Map<string, PlacedRecord>();
  const records = await read<Obj[]>(`${pathOf(collection)}?_fields=${encodeURIComponent(key)}`);
  for (const [i, record] of records.entries()) {
    const id = memberOf(record, key);
    if (id !== undefined) places.set(String(id), { path: pointer(collection, i), key: id });
  }
  return places;
}

/** Changes the records with some ids by the operations that change returns for the path of one. */
export async function changeRecords(
  collection: string,
  ids: ReadonlySet<string>,
  change: (path: string, id: string) => Operation[],
  done: string,
): Promise<void> {
  const places = [...(await placesOf(collection))].filter(([id]) => ids.has(id));
  if (places.length !== ids.size) throw new Error("Some of these records no longer exist.");
  places.reverse(); // from the end, so that a removal moves no place that follows
  const tests = places.map(([, place]) => testOf(collection, place));
  const answer = await patch([...tests, ...places.flatMap(([id, { path }]) => change(path, id))]);
  toastUndo(done, answer.revision);
}

const testOf = (collection: string, { path, key }: PlacedRecord): Operation => ({
  op: "test",
  path: path + pointer(keyOf(collection)),
  value: key,
});

async function patch(operations: Operation[], isTrial = false): Promise<Answer> {
  if (hasCollection("db")) throw new Error("The page cannot change several records at once, because a collection is called db.");
  return ask("PATCH", prefix.value + "/db", {
    body: stringify(operations as unknown as Json),
    type: "application/json-patch+json",
    isMinimal: true,
    isTrial,
  });
}

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
  const isOld = changes.some(({ id }) => id !== "");
  const places = isOld ? await placesOf(collection) : new Map<string, PlacedRecord>();
  const placed = changes.map((change) => {
    const place = places.get(change.id);
    if (change.id !== "" && !place) throw new Error(`${collection} ${change.id} no longer exists.`);
    return { change, place };
  });
  const size = ({ place, change: { values } }: (typeof placed)[number]) => (place ? 1 + 2 * values.size : 1);
  const isLong = placed.reduce((sum, p) => sum + size(p), 0) > maxOperations;
  // No test says that a record lacks a field, so the whole record is tested then.
  const isWhole = ({ place, change: { seen, values } }: (typeof placed)[number]) =>
    place !== undefined && (isLong || [...values].some(([name, value]) => memberOf(seen, name) === undefined && value !== undefined));
  const whole = placed.filter(isWhole).map(({ change }) => change.id);
  const now = new Map((await readRecords(collection, whole)).map((record) => [String(memberOf(record, keyOf(collection))), record]));

  const operations: Operation[] = [],
    owners: RecordChange[] = [];
  for (const { change, place } of placed) {
    const record = now.get(change.id);
    if (record) assertSeen(collection, change, record);
    const own = place ? changeOf(testOf(collection, place), place.path, change, record, isLong) : creationOf(collection, change);
    operations.push(...own);
    owners.push(...own.map(() => change));
  }
  try {
    const answer = await patch(operations, isTrial);
    if (!isTrial) toastUndo(done, answer.revision);
    return [];
  } catch (error) {
    const faults = error instanceof Refused ? faultsIn(collection, error.problem, operations, owners) : [];
    if (faults.length === 0) throw error;
    return faults;
  }
}

const creationOf = (collection: string, { values }: RecordChange): Operation[] => [
  { op: "add", path: pointer(collection, "-"), value: Object.fromEntries([...values].filter(([, v]) => v !== undefined)) as Obj },
];

/** Returns the operations that change a record. now is the record if the whole of it is tested. */
function changeOf(test: Operation, path: string, { seen, values }: RecordChange, now: Obj | undefined, isLong: boolean): Operation[] {
  if (now && isLong) {
    const next = [...values].reduce((record, [name, value]) => withMember(record, name, value), now);
    return [{ op: "test", path, value: now }, { op: "replace", path, value: next }];
  }
  const tests: Operation[] = now ? [{ op: "test", path, value: now }] : [test],
    changes: Operation[] = [];
  for (const [name, value] of values) {
    const field = path + pointer(name),
      was = memberOf(seen, name);
    if (!now && was !== undefined) tests.push({ op: "test", path: field, value: was });
    if (value !== undefined) changes.push({ op: "add", path: field, value });
    else if (was !== undefined) changes.push({ op: "remove", path: field });
  }
  return [...tests, ...changes];
}

function assertSeen(collection: string, { id, seen, values }: RecordChange, now: Obj): void {
  for (const name of values.keys()) {
    if (!isEqual(memberOf(seen, name), memberOf(now, name))) throw changedElsewhere(collection, id, name);
  }
}

const changedElsewhere = (collection: string, id: string, field = ""): Error =>
  new Error(`Somebody else has changed ${field && field + " of "}${collection} ${id}. Nothing was written.`);

/** Returns the faults of a patch by the changes that they are in. */
function faultsIn(collection: string, { errors = [] }: Problem, operations: Operation[], owners: RecordChange[]): Fault[] {
  return errors.flatMap(({ pointer: at = "", member = "", detail }) => {
    const [n = "", , ...rest] = pointerNames(at),
      operation = operations[Number(n)],
      change = owners[Number(n)];
    if (!operation || !change) return [];
    const path = pointerNames(operation.path).slice(2);
    if (operation.op === "test") throw changedElsewhere(collection, change.id, path[0]);
    return [{ change, field: pointerNames(member)[0] ?? path[0] ?? rest[0] ?? "", detail }];
  });
}
