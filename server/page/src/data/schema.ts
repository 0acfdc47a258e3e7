// A JSON Schema of records, as a table and a form need it.
import { isNumber, isObject, memberOf, parse, type Json, type Obj } from "./json.ts";

export type Kind =
  | "text"
  | "number"
  | "boolean"
  | "choice"
  | "time"
  | "date"
  | "email"
  | "link"
  | "reference"
  | "references"
  | "object"
  | "array"
  | "any";

export interface Field {
  name: string;
  kind: Kind;
  description: string;
  required: boolean;
  requiredOnCreate: boolean;
  readOnly: boolean;
  choices: Json[];
  historic: Json[]; // choices that no new record may have
  collection: string; // that a reference leads to
  isTyped: boolean; // its values are of one type, apart from null
  isNumeric: boolean; // its values are numbers, also as a reference
  isTextual: boolean; // its values may be strings
  isNullable: boolean; // the rules name null as a value
  example: Json | undefined;
}

export interface Shape {
  name: string;
  title: string;
  description: string;
  key: string; // the field with the id
  fields: Field[];
}

/** A reference from a field of one collection to another collection. */
export interface Reference {
  from: string;
  member: string;
  to: string;
}

/** Returns the field of a name, also of one that the schema does not have. */
export function fieldOf(shape: Shape, name: string): Field {
  return shape.fields.find((field) => field.name === name) ?? makeField(name, {}, {}, "");
}

/** Replaces a reference to a definition by the definition. Keywords next to $ref win. */
function resolve(schema: Obj, root: Obj): Obj {
  let found = schema;
  for (let i = 0; i < 20 && typeof found["$ref"] === "string"; i++) {
    const definitions = root["$defs"];
    const name = found["$ref"].replace("#/$defs/", "").replaceAll("~1", "/").replaceAll("~0", "~");
    const target = isObject(definitions) ? memberOf(definitions, name) : undefined;
    if (!isObject(target)) break;
    const { $ref: _, ...own } = found;
    found = { ...target, ...own };
  }
  return found;
}

function stringsOf(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.filter((item) => typeof item === "string");
  return typeof value === "string" ? [value] : [];
}

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");

/** Returns the shape of the records that a schema describes; references are those of its collection. */
export function shapeOf(name: string, schema: Obj, key: string, references: Reference[], record = name): Shape {
  let root = resolve(schema, schema);
  // Records that break the rules add a second alternative. Forms show the first, the rules.
  const alternatives = root["anyOf"] ?? root["oneOf"];
  if (Array.isArray(alternatives) && isObject(alternatives[0])) {
    root = { ...resolve(alternatives[0], schema), description: root["description"] ?? "" };
  }
  const required = new Set(stringsOf(root["required"])),
    onCreate = new Set(stringsOf(root["x-required-on-create"]));
  const members = isObject(root["properties"]) ? root["properties"] : {};
  const fields = Object.entries(members).map(([member, rule]) => {
    const to = references.find((r) => r.from === name && r.member === member)?.to ?? "";
    const field = makeField(member, isObject(rule) ? resolve(rule, schema) : {}, schema, to, member === key);
    // The service makes the id of a record that has none.
    return { ...field, required: required.has(member) && member !== key, requiredOnCreate: onCreate.has(member) };
  });
  fields.sort((a, b) => Number(b.name === key) - Number(a.name === key));
  const title = textOf(root["title"]) || record.slice(0, 1).toUpperCase() + record.slice(1);
  return { name, key, fields, title, description: textOf(root["description"]) };
}

function makeField(name: string, rule: Obj, root: Obj, to: string, isKey = false): Field {
  const choices = rule["enum"],
    historic = rule["x-historic"],
    examples = rule["examples"];
  const types = stringsOf(rule["type"]).filter((type) => type !== "null");
  const field: Field = {
    name,
    isTyped: types.length === 1,
    isNumeric: types.length > 0 && types.every((type) => type === "number" || type === "integer"),
    isTextual: types.length === 0 || types.includes("string"),
    isNullable: stringsOf(rule["type"]).includes("null") || (Array.isArray(choices) && choices.includes(null)),
    required: false,
    requiredOnCreate: false,
    kind: "any",
    collection: to,
    description: textOf(rule["description"]),
    readOnly: rule["readOnly"] === true,
    choices: Array.isArray(choices) ? choices.filter((choice) => choice !== null) : [],
    historic: Array.isArray(historic) ? historic : [],
    example: Array.isArray(examples) ? examples[0] : undefined,
  };
  field.kind = kindOf(field, rule, root, isKey);
  return field;
}

function kindOf(field: Field, rule: Obj, root: Obj, isKey: boolean): Kind {
  const types = stringsOf(rule["type"]).filter((type) => type !== "null"),
    format = textOf(rule["format"]);
  const isOnly = (...allowed: string[]) => types.length > 0 && types.every((type) => allowed.includes(type));
  if (field.collection) {
    const items = isObject(rule["items"]) ? resolve(rule["items"], root) : {};
    return isOnly("array") || items["x-ref"] !== undefined ? "references" : "reference";
  }
  if (field.choices.length > 0) return "choice";
  if (isOnly("boolean")) return "boolean";
  if (field.isNumeric) return "number";
  if (isOnly("object")) return "object";
  if (isOnly("array")) return "array";
  if (format.includes("date-time")) return "time";
  if (format === "date") return "date";
  if (format === "email") return "email";
  if (format.startsWith("uri")) return "link";
  return isOnly("string") || isKey ? "text" : "any";
}

const formats: [kind: Kind, pattern: RegExp][] = [
  ["time", /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/],
  ["date", /^\d{4}-\d\d-\d\d$/],
  ["link", /^https?:\/\/\S+$/],
  ["email", /^[^\s@<>]+@[^\s@<>]+\.[a-z]+$/i],
];

/** Returns a shape whose texts are times, dates, links and e-mail addresses where those of some records all are. */
export function withFormats(shape: Shape, records: Json[]): Shape {
  const fields = shape.fields.map((field) => {
    if (field.kind !== "text" || field.name === shape.key) return field;
    const texts = records
      .map((record) => (isObject(record) ? memberOf(record, field.name) : undefined))
      .filter((value) => typeof value === "string");
    const kind = texts.length > 0 && formats.find(([, pattern]) => texts.every((text) => pattern.test(text)))?.[0];
    return kind ? { ...field, kind } : field;
  });
  return fields.some((field, i) => field !== shape.fields[i]) ? { ...shape, fields } : shape;
}

/** Whether a value is edited as JSON. */
export const isStructured = (field: Field, value: Json | undefined): boolean =>
  field.kind === "object" ||
  field.kind === "array" ||
  field.kind === "references" ||
  (typeof value === "object" && value !== null && !isNumber(value));

/**
 * Returns the value that a person has typed into a field, undefined for none. A field
 * that may hold several types keeps the type that it has, and a reference without one
 * gets that of the id which was picked. It throws if the text has to be a value of
 * another type and is not.
 */
export function valueOf(field: Field, typed: string, before: Json | undefined, id?: Json): Json | undefined {
  if (typed === "" && !holdsEmptyText(field, before)) return nothingOf(field, before);
  if (isStructured(field, before)) return parse(typed);
  switch (field.kind) {
    case "number":
      if (!number.test(typed)) throw new Error(`“${typed}” is not a number such as 12 or -1.5.`);
      return parse(typed.trim());
    case "boolean":
      return typed === "true" ? true : typed === "false" ? false : typed;
    case "choice":
      return field.choices.find((choice) => typedOf(choice) === typed) ?? typed;
    case "reference":
      if ((field.isNumeric || isNumber(before)) && /^-?(0|[1-9]\d*)$/.test(typed)) return parse(typed);
      return id === undefined || field.isTyped || typeof before === "string" ? typed : id;
    case "any":
      return typeof before === "string" ? typed : parseLoosely(typed);
  }
  return typed;
}

const number = /^\s*-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?\s*$/i;

/** Whether an empty input means an empty text. */
function holdsEmptyText(field: Field, before: Json | undefined): boolean {
  if (!field.isTextual || before === undefined || before === null) return false;
  return field.kind === "text" || field.choices.includes("") || (field.kind === "any" && typeof before === "string");
}

/** Returns what an empty input means where that is no text: null if the rules allow it, or no value. */
export function nothingOf(field: Field, before: Json | undefined): null | undefined {
  if (before === undefined) return undefined;
  if (before === null || field.isNullable) return null;
  if (field.required) throw new Error("A value is required.");
  return undefined;
}

/** Returns the JSON value of a text, or the text. */
function parseLoosely(typed: string): Json {
  try {
    return parse(typed);
  } catch {
    return typed;
  }
}

/** Returns a value as text to edit. */
export function typedOf(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" && !isNumber(value) ? JSON.stringify(value, null, 2) : String(value);
}

const firstNames = ["name", "title", "label", "subject"];
const lastNames = ["email", "description", "text", "body"];

/** Whether a field names its record for people. */
export const isNaming = (name: string): boolean => firstNames.includes(name) || /name$|title$/i.test(name);

/** Returns a short name of a record, or "". */
export function labelOf(record: Obj, key = "id"): string {
  const members = Object.keys(record);
  const isText = (name: string) => typeof memberOf(record, name) === "string" && memberOf(record, name) !== "";
  const found =
    firstNames.find(isText) ??
    members.find((name) => isNaming(name) && isText(name)) ??
    lastNames.find(isText) ??
    members.find((name) => name !== key && !/id$/i.test(name) && isText(name));
  const text = found ? String(record[found]) : "";
  return text.length > 200 ? text.slice(0, 200) + "…" : text;
}
