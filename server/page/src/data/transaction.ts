// Changes of several records in one transaction, which is undone as one.
import { ask, pathOf, prefix, read } from "./api.ts";
import { hasCollection, keyOf } from "./catalog.ts";
import { memberOf, pointer, stringify, type Json, type Obj, type Operation } from "./json.ts";
import { toastUndo } from "./undo.ts";

/**
 * Changes the records with some ids by the operations that change returns for the
 * path of one. A patch of the database names records by their places, so it tests
 * that each place has the id that it had.
 */
export async function changeRecords(
  collection: string,
  ids: ReadonlySet<string>,
  change: (path: string, id: string) => Operation[],
  done: string,
): Promise<void> {
  if (hasCollection("db")) throw new Error("The page cannot change several records at once, because a collection is called db.");
  const key = keyOf(collection);
  const records = await read<Obj[]>(`${pathOf(collection)}?_fields=${encodeURIComponent(key)}`);
  const tests: Operation[] = [],
    operations: Operation[] = [];
  for (let i = records.length - 1; i >= 0; i--) {
    // from the end, so that a removal moves no place that follows
    const id = memberOf(records[i], key);
    if (id === undefined || !ids.has(String(id))) continue;
    const path = pointer(collection, i);
    tests.push({ op: "test", path: path + pointer(key), value: id });
    operations.push(...change(path, String(id)));
  }
  if (tests.length !== ids.size) throw new Error("Some of these records no longer exist.");
  const answer = await ask("PATCH", prefix.value + "/db", {
    body: stringify([...tests, ...operations] as unknown as Json),
    type: "application/json-patch+json",
    isMinimal: true,
  });
  toastUndo(done, answer.revision);
}
