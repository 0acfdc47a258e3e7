// Records that a reference can name, found by their ids and names.
import { ask, get, pathOf } from "./api.ts";
import { hasCollection, idOf, keyOf, nameOf, shapeFor } from "./catalog.ts";
import { memberOf, type Json, type Obj } from "./json.ts";
import { valueOf, type Field } from "./schema.ts";

export interface Choice {
  id: string;
  name: string;
  picked: PickedRecord;
}

/** A record that somebody picks. */
export interface PickedRecord {
  id?: Json | undefined; // as the record has it; not known yet if only a name was typed
}

const offered = 50; // records

/** Returns the choices that match a text: that with this id first, then names that begin with it. */
export function matching(choices: Choice[], text: string): Choice[] {
  const word = text.trim().toLowerCase();
  const rank = ({ id, name }: Choice) => {
    if (id.toLowerCase() === word) return 0;
    const at = name.toLowerCase().indexOf(word);
    return at === 0 ? 1 : at > 0 || id.toLowerCase().includes(word) ? 2 : 3;
  };
  return choices.filter((choice) => rank(choice) < 3).sort((a, b) => rank(a) - rank(b));
}

/** Reads records of a collection, and whether they are all that it has. */
export async function readChoices(collection: string, text: string, signal: AbortSignal): Promise<[Choice[], boolean]> {
  const list = (query = "") => get(`${pathOf(collection)}?_start=0&_end=${offered}${query}`, signal);
  const word = encodeURIComponent(text.trim()),
    key = encodeURIComponent(keyOf(collection));
  const answers = await Promise.all(text ? [list(`&${key}=${word}`), list("&q=" + word)] : [list()]);
  const found = new Map<string, Choice>();
  for (const record of answers.flatMap((answer) => answer.data as Obj[])) {
    const id = idOf(collection, record);
    const picked = { id: memberOf(record, keyOf(collection)) };
    if (id !== "") found.set(id, { id, name: nameOf(collection, record), picked });
  }
  return [[...found.values()], !text && (answers[0]?.total ?? 0) <= offered];
}

/** Returns the record that a text names: the first that its list would offer. */
async function find(collection: string, text: string): Promise<Choice> {
  const [choices] = await readChoices(collection, text, new AbortController().signal);
  const [first] = matching(choices, text);
  if (!first) throw new Error(`${collection} has no record “${text}”.`);
  return first;
}

/** What a person has typed into a field. */
export interface FieldInput {
  field: Field;
  text: string;
  picked?: PickedRecord | undefined; // of a reference
}

/** Whether a text is the name of a record whose id is not known yet. */
export const isName = (picked: PickedRecord | undefined): boolean => picked !== undefined && picked.id === undefined;

/** Returns the value of what was typed. It throws if that is none. */
export async function resolveInput(
  { field, text, picked }: FieldInput,
  before: Json | undefined,
): Promise<Json | undefined> {
  if (!isName(picked)) return valueOf(field, text, before, picked?.id);
  const found = await find(field.collection, text);
  return valueOf(field, found.id, before, found.picked.id);
}

const askedAtOnce = 500; // texts

/**
 * Reads which records the texts of references name. It returns what makes a value of
 * such a text, or of any other: an id is taken as it is, and the name of exactly one
 * record as that record's. It throws as valueOf does, and if several have the name.
 */
export async function readReferences(
  cells: { field: Field; text: string }[],
): Promise<(field: Field, text: string, before: Json | undefined) => Json | undefined> {
  const texts = new Map<string, Set<string>>(), // by collection
    found = new Map<string, Map<string, Obj[]>>();
  for (const { field, text } of cells) {
    if (field.kind !== "reference" || text === "" || !hasCollection(field.collection)) continue;
    texts.set(field.collection, (texts.get(field.collection) ?? new Set()).add(text));
  }
  for (const [collection, own] of texts) found.set(collection, await recordsOf(collection, [...own]));
  return (field, text, before) => {
    const [record, ...others] = found.get(field.collection)?.get(text) ?? [];
    if (!record || field.kind !== "reference") return valueOf(field, text, before);
    const { collection } = field;
    if (others.length > 0) {
      const ids = [record, ...others].map((own) => idOf(collection, own));
      throw new Error(
        `${ids.length} records of ${collection} have this name. Use an id: ` +
          ids.slice(0, 5).join(", ") +
          (ids.length > 5 ? ", …" : "."),
      );
    }
    return valueOf(field, idOf(collection, record), before, memberOf(record, keyOf(collection)));
  };
}

/** Returns the records that texts name, by text: the one with this id, or all with this name. */
async function recordsOf(collection: string, texts: string[]): Promise<Map<string, Obj[]>> {
  const key = keyOf(collection),
    fields = shapeFor(collection).fields.filter((field) => field.isTextual && field.name !== key),
    byID = new Map<string, Obj[]>(),
    byName = new Map<string, Obj[]>();
  for (let i = 0; i < texts.length; i += askedAtOnce) {
    const some = texts.slice(i, i + askedAtOnce);
    const or = [key, ...fields.map((field) => field.name)].slice(0, 200).map((name) => ({ [name]: { in: some } }));
    for (const record of (await ask("QUERY", pathOf(collection), { body: JSON.stringify({ or }) })).data as Obj[]) {
      const name = nameOf(collection, record);
      byID.set(idOf(collection, record), [record]);
      byName.set(name, [...(byName.get(name) ?? []), record]);
    }
  }
  return new Map([...byName, ...byID]);
}
