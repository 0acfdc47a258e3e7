// What the file has: collections, objects, their shapes, and the labels of
// records that others refer to.
import { computed, signal } from "@preact/signals";
import { get, pathOf, prefix, read, type Schemas } from "./api.ts";
import { memberOf, type Obj } from "./json.ts";
import { broken, follow, onChange, onNews, onReset, type Revision } from "./live.ts";
import { shownName } from "../route.ts";
import { labelOf, shapeOf, withFormats, type Field, type Shape } from "./schema.ts";

export type Status = Schemas["Status"];

export const status = signal<Status | null>(null);
export const shapes = signal<ReadonlyMap<string, Shape>>(new Map());

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

export const shapeFor = (name: string): Shape => shapes.value.get(name) ?? shapeWith(name, {});

function shapeWith(name: string, schema: Obj): Shape {
  const record = collections.value.find((c) => c.name === name)?.record;
  return shapeOf(name, schema, keyOf(name), relations.value, record);
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
  const names = [...now.collections, ...now.objects].map((item) => item.name);
  const rulesChanged = before !== null && JSON.stringify(before.rules) !== JSON.stringify(now.rules);
  const isOld = (name: string) =>
    rulesChanged || !shapes.value.has(name) || referencesOf(before, name) !== referencesOf(now, name);
  void loadShapes(names.filter(isOld));
  if (now.findings?.pending) setTimeout(loadSoon, pendingFor);
}

const referencesOf = (status: Status | null, name: string): string =>
  JSON.stringify(status?.relations?.filter((relation) => relation.from === name) ?? []);

const samples = new Map<string, Obj[]>(); // the first records of collections

/** Returns a shape with what the records say where no schema does. */
function guess(name: string, shape: Shape): Shape {
  return status.value?.rules || !status.value?.file ? shape : withFormats(shape, samples.get(name) ?? []);
}

/** Takes the first records of a collection, which say what its texts are if there is no schema. */
export function learn(name: string, records: Obj[]): void {
  samples.set(name, records);
  const shape = shapes.value.get(name);
  if (!shape) return;
  const better = guess(name, shape);
  if (better !== shape) shapes.value = new Map(shapes.value).set(name, better);
}

async function loadShapes(names: string[]): Promise<void> {
  await Promise.all(
    names.map(async (name) => {
      try {
        const schema = await read<Obj>("/_/schemas/" + encodeURIComponent(name));
        shapes.value = new Map(shapes.value).set(name, guess(name, shapeWith(name, schema)));
      } catch {
        shapes.value = new Map(shapes.value).set(name, shapeWith(name, {})); // records are shown without it
      }
    }),
  );
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

onChange((revisions) => {
  loadSoon();
  // Any write may bring fields that no rules name and the inferred schema did not have.
  void loadShapes([...new Set(revisions.flatMap(namesIn))].filter((name) => hasCollection(name) || hasObject(name)));
});

onReset(() => {
  loadSoon();
  void loadShapes([...collections.value, ...objects.value].map((item) => item.name));
});

const namesIn = (revision: Revision): string[] =>
  revision.changes ? revision.changes.map((change) => change.collection) : Object.keys(revision.collections ?? {});

onNews(loadSoon);

// Labels are asked for once each, and many in one request.
const labels = signal<Record<string, string>>({});
const wanted = new Map<string, Set<string>>(),
  asked = new Set<string>();
const maxAsked = 200, // records in one request
  maxLabels = 5000;
let asking = 0;

/** Returns the name of a record that others refer to: undefined until it is known, "" if there is no such record. */
export function labelFor(collection: string, id: string): string | undefined {
  want(collection, id);
  return labels.value[collection + "/" + id];
}

function want(collection: string, id: string): void {
  const key = collection + "/" + id;
  if (id === "" || asked.has(key)) return;
  asked.add(key);
  wanted.set(collection, (wanted.get(collection) ?? new Set()).add(id));
  asking ||= window.setTimeout(() => void askLabels(), 16);
}

/** Asks for the labels of all records that these refer to, so that a block of a list needs one request. */
export function wantLabels(shape: Shape, records: Obj[]): void {
  for (const field of shape.fields) {
    if (field.kind !== "reference") continue;
    for (const record of records) {
      const id = memberOf(record, field.name);
      if (typeof id === "string" || typeof id === "number") want(field.collection, String(id));
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

async function askLabels(): Promise<void> {
  asking = 0;
  if (asked.size > maxLabels) forgetLabels((key) => key in labels.peek()); // those that are shown are requested again
  const found: Record<string, string> = {};
  for (const [collection, ids] of [...wanted]) {
    const part = [...ids].slice(0, maxAsked);
    for (const id of part) ids.delete(id);
    if (ids.size === 0) wanted.delete(collection);
    else asking ||= window.setTimeout(() => void askLabels(), 16);
    try {
      const records = await readRecords(collection, part);
      for (const id of part) found[collection + "/" + id] = "";
      for (const record of records) found[collection + "/" + idOf(collection, record)] = nameOf(collection, record);
    } catch {
      for (const id of part) asked.delete(collection + "/" + id); // the link works without a label
    }
  }
  labels.value = { ...labels.value, ...found };
}

function forgetLabels(isStale: (key: string) => boolean): void {
  const kept = Object.entries(labels.peek()).filter(([key]) => !isStale(key));
  for (const key of [...asked]) if (isStale(key)) asked.delete(key);
  labels.value = Object.fromEntries(kept);
}

onReset(() => forgetLabels(() => true));
onChange((revisions) => {
  for (const revision of revisions) {
    if (revision.changes) {
      const changed = new Set(revision.changes.map((change) => change.collection + "/" + (change.id ?? "")));
      forgetLabels((key) => changed.has(key));
    } else forgetLabels((key) => Object.keys(revision.collections ?? {}).some((name) => key.startsWith(name + "/")));
  }
});
