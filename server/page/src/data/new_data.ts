// Collections that did not exist: read from a text, or made up from the kinds of their fields.
import { ask, pathOf, prefix, read, Refused } from "./api.ts";
import { load, type Status } from "./catalog.ts";
import { isObject, memberOf, parse, type Json, type Obj } from "./json.ts";
import { shapeOf, valueOf } from "./schema.ts";
import { assign, guessField, readSource } from "./sources.ts";
import { transact, type Operation } from "./transaction.ts";
import { toastUndo } from "./undo.ts";

/** Returns the collections and objects of a text by name. A list that has no name gets the given one. */
export async function readData(text: string, name: string): Promise<Obj> {
  const database = readDatabase(text);
  if (database) return database;
  const source = await readSource(text),
    shape = shapeOf(name, {}, "id", []);
  const records = source.records.map(({ values }) => {
    let record: Obj = {};
    for (const [column, cell] of values) {
      const field = guessField(shape, column, source, column);
      record = assign(
        record,
        field,
        typeof cell === "string" && source.isTable ? valueOf(field, cell, undefined) : cell,
        shape,
      );
    }
    return record;
  });
  return { [name]: records };
}

/** Returns an object of which all members are lists or objects, and one is a list. */
function readDatabase(text: string): Obj | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  let data: Json;
  try {
    data = parse(text);
  } catch {
    return undefined; // it may be an object a line
  }
  const { $schema: _, ...members } = data as Obj,
    values = Object.values(members);
  const isDatabase = values.some(Array.isArray) && values.every((value) => Array.isArray(value) || isObject(value));
  return isDatabase ? members : undefined;
}

export const kinds = ["text", "number", "true or false", "date", "date and time", "email", "link"] as const;

/** A field of a collection that is to be made: one of the kinds, or the name of a collection that it refers to. */
export interface NewField {
  name: string;
  kind: string;
}

const times = ["2026-01-05", "2026-06-15", "2026-12-20"];

/** Returns values of a kind, which made-up ones resemble. */
function examplesOf({ kind }: NewField, ids: Json[]): Json[] {
  switch (kind) {
    case "text":
      return [""]; // so that the name decides
    case "number":
      return parse("[1, 40, 100]") as Json[];
    case "true or false":
      return [true, false, true];
    case "date":
      return times;
    case "date and time":
      return times.map((day) => day + "T09:30:00Z");
    case "email":
      return ["ann", "ben", "cleo"].map((person) => person + "@example.com");
    case "link":
      return ["a", "b", "c"].map((page) => location.origin + "/" + page);
  }
  return ids.length > 0 ? ids : [null];
}

/**
 * Returns made-up records with some fields. The server makes them in a session, which ends, so
 * that the file sees only one change.
 */
export async function makeRecords(collection: string, fields: NewField[], n: number): Promise<Json[]> {
  const session = "new-" + crypto.randomUUID().slice(0, 8);
  const examples = await Promise.all(fields.map(async (field) => examplesOf(field, await idsOf(field.kind))));
  const samples = [0, 1, 2].map((i) =>
    Object.fromEntries(fields.map(({ name }, j) => [name, examples[j]![i % examples[j]!.length]!])),
  );
  try {
    await transact([{ op: "set", collection, value: samples }], { session });
    await ask("POST", "/_/generate", { body: JSON.stringify({ collections: { [collection]: n } }), session });
    const { data } = await ask("GET", pathOf(collection), { session });
    return whole((data as Obj[]).slice(samples.length), fields);
  } finally {
    await ask("DELETE", "/_/sessions/" + session).catch(() => undefined);
  }
}

/** Returns records that have all fields, and no ids: a value that was left out is that of another. */
function whole(records: Obj[], fields: NewField[]): Json[] {
  const values = new Map(fields.map(({ name }) => [name, records.flatMap((record) => memberOf(record, name) ?? [])]));
  return records.map((record, i) =>
    Object.fromEntries(
      fields.map(({ name }) => {
        const others = values.get(name)!;
        return [name, memberOf(record, name) ?? others[i % others.length] ?? null];
      }),
    ),
  );
}

async function idsOf(collection: string): Promise<Json[]> {
  if ((kinds as readonly string[]).includes(collection)) return [];
  const records = await read<Obj[]>(`${pathOf(collection)}?_start=0&_end=3`);
  return records.map((record) => memberOf(record, "id") ?? null);
}

const mostTries = 10;

/** Makes collections and objects, unless the file has one of these names, and waits until the page knows them. */
export async function create(data: Obj): Promise<void> {
  const names = Object.keys(data);
  for (let tries = 1; ; tries++) {
    try {
      toastUndo(`${names.join(", ")} created`, await setAll(data));
      break;
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 412 || tries === mostTries) throw error; // others write, too
    }
  }
  await load();
}

/** Sets collections if the database is as it was when it had none of them, and returns the revision. */
async function setAll(data: Obj): Promise<string> {
  const { tag } = await ask("HEAD", prefix.value + "/db");
  const { collections, objects, values = [] } = await read<Status>("/_/status");
  const there = [...collections, ...objects].map((item) => item.name).concat(values),
    taken = Object.keys(data).find((name) => there.includes(name));
  if (taken) throw new Error(`The file has ${taken} already.`);
  const isDatabase = !there.includes("db"); // otherwise /db is that field
  const operations = Object.entries(data).map(([collection, value]): Operation => ({ op: "set", collection, value }));
  return (await transact(operations, { tag: isDatabase ? tag : undefined })).revision;
}

/** Returns what some data has, as in "posts with 3 records". */
export const describe = (data: Obj): string =>
  Object.entries(data)
    .map(([name, value]) => (Array.isArray(value) ? `${name} with ${value.length} records` : `the object ${name}`))
    .join(", ");
