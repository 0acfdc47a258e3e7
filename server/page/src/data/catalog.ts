// What the file has: collections, objects, their shapes, and the labels of
// records that others refer to.
import { computed, signal } from "@preact/signals";
import { get, pathOf, prefix, read, type Schemas } from "./api.ts";
import { Cache } from "./cache.ts";
import { memberOf, type Obj } from "./json.ts";
import { broken, follow, onChange, onNews, onReset } from "./live.ts";
import { shownName } from "../route.ts";
import { labelOf, shapeOf, withFormats, type Field, type Shape } from "./schema.ts";

export type Status = Schemas["Status"];

export const status = signal<Status | null>(null);

/** Why the page cannot begin. */
export const failure = signal<unknown>(null);

export const collections = computed(() => status.value?.collections ?? []);
export const objects = computed(() => status.value?.objects ?? []);
export const relations = computed(() => status.value?.relations ?? []);

/** Whether the server is read-only, or the user may only read. */
export const isReadOnly = computed(() => status.value?.mode.readOnly === true);

/** Whether somebody can change a field of records. */
export const canWrite = (shape: Shape, field: Field): boolean =>
  !isReadOnly.value && !field.readOnly && field.name !== shape.key;

/**
 * Why nothing can be written on this screen at the moment, "" if it can: in a folder, only
 * the broken file cannot. Who may only read sees nothing that writes.
 */
export const whyOff = computed(() => {
  const file = status.value?.file,
    own = file?.collection;
  if (!broken.value || file?.state === "missing" || (own && own !== shownName.value)) return "";
  if (file?.line === undefined) return broken.value;
  return `${own ? own + ".json" : "The file"} does not parse, so nothing can be written${own ? " to it" : ""}.`;
});

/** Whether the page can write, and otherwise why not. */
export const whyLocked = computed(() => (isReadOnly.value ? "You have read-only access." : whyOff.value));

export const keyOf = (collection: string): string => collections.value.find((c) => c.name === collection)?.key ?? "id";

export const hasCollection = (name: string): boolean => collections.value.some((c) => c.name === name);
export const hasObject = (name: string): boolean => objects.value.some((o) => o.name === name);

/** Returns the id of a record as text. */
export const idOf = (collection: string, record: Obj): string => String(memberOf(record, keyOf(collection)) ?? "");

/** Returns the name of a record for people, its id if it has none. */
export const nameOf = (collection: string, record: Obj): string =>
  labelOf(record, keyOf(collection)) || idOf(collection, record);

const schemas = new Cache<Obj>(async (name) => [
  await read<Obj>("/_/schemas/" + encodeURIComponent(name)).catch(() => ({})), // records are shown without it
]);
const samples = signal<ReadonlyMap<string, Obj[]>>(new Map()); // the first records of collections
let known: ReadonlyMap<string, Shape> = new Map(); // also of collections that are gone for a moment

/** The shapes of all that the file has, as far as their schemas are known. */
export const shapes = computed(() => {
  const now = new Map(known);
  for (const { name } of [...collections.value, ...objects.value]) {
    const schema = schemas.get(name);
    if (schema) now.set(name, shapeWith(name, schema));
  }
  return (known = now);
});

export const shapeFor = (name: string): Shape => shapes.value.get(name) ?? shapeWith(name, {});

/** Returns a shape with what the records say where no schema does. */
function shapeWith(name: string, schema: Obj): Shape {
  const record = collections.value.find((c) => c.name === name)?.record,
    shape = shapeOf(name, schema, keyOf(name), relations.value, record);
  return status.value?.rules || !status.value?.file ? shape : withFormats(shape, samples.value.get(name) ?? []);
}

/** Takes the first records of a collection, which say what its texts are if there is no schema. */
export function learn(name: string, records: Obj[]): void {
  samples.value = new Map(samples.value).set(name, records);
}

let loads = 0;

/** Reads the status. The first time it also reads the schemas and opens the stream. */
export async function load(): Promise<void> {
  const first = status.value === null,
    own = ++loads;
  try {
    const answer = await get("/_/status"),
      now = answer.data as unknown as Status;
    if (own !== loads) return; // a later one knows more
    show(now);
    if (first) follow(answer.revision, now.mode.requests);
    failure.value = null;
  } catch (error) {
    if (first) failure.value = error;
  }
}

function show(now: Status): void {
  const before = status.value;
  status.value = now;
  prefix.value = now.prefix ?? "";
  broken.value = now.file?.detail ?? "";
  if (before && JSON.stringify([before.rules, before.relations]) !== JSON.stringify([now.rules, now.relations]))
    schemas.invalidate();
  void shapes.value; // asks for the schemas that are not known
  if (now.findings?.pending) setTimeout(loadSoon, pendingFor);
}

let reload = 0;
const pendingFor = 1000; // ms after which the server may have counted the findings

/** Reads the status soon. Many changes read it once. */
function loadSoon(): void {
  reload ||= window.setTimeout(() => {
    reload = 0;
    void load();
  }, 150);
}

onChange(loadSoon);
onReset(loadSoon);
onNews(loadSoon);

const maxAsked = 200; // records in one request
const labels = new Cache<string>(async (collection, ids) => {
  const records = await readRecords(collection, ids);
  const names = new Map(records.map((record) => [idOf(collection, record), nameOf(collection, record)]));
  return ids.map((id) => names.get(id) ?? "");
}, 5000);

/** Returns the name of a record that others refer to: undefined until it is known, "" if there is no such record. */
export const labelFor = (collection: string, id: string): string | undefined =>
  id === "" ? undefined : labels.get(collection, id);

/** Asks for the labels of all records that these refer to, so that a block of a list needs one request. */
export function wantLabels(shape: Shape, records: Obj[]): void {
  for (const field of shape.fields) {
    if (field.kind !== "reference") continue;
    for (const record of records) {
      const id = memberOf(record, field.name);
      if (typeof id === "string" || typeof id === "number") labelFor(field.collection, String(id));
    }
  }
}

/** Reads the records with these ids, as far as they exist. */
export async function readRecords(collection: string, ids: string[]): Promise<Obj[]> {
  const key = encodeURIComponent(keyOf(collection)),
    found: Obj[] = [];
  for (let i = 0; i < ids.length; i += maxAsked) {
    const query = ids.slice(i, i + maxAsked).map((id) => key + "=" + encodeURIComponent(id));
    found.push(...(await read<Obj[]>(pathOf(collection) + "?" + query.join("&"))));
  }
  return found;
}
