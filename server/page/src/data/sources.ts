// Records that somebody imports: comma-separated values or JSON, with the lines at
// which they begin.
import { isNumber, isObject, memberOf, parse, type Json, type Obj } from "./json.ts";
import { fieldOf, type Field, type Shape } from "./schema.ts";

/** A record of a source, by the names of its columns. Cells of a table are text. */
export interface SourceRecord {
  line: number;
  values: ReadonlyMap<string, Json>;
}

export interface Source {
  isTable: boolean;
  columns: string[];
  records: SourceRecord[];
}

/** Reads a text, or throws. */
export async function readSource(text: string): Promise<Source> {
  const whole = text.replace(/^\uFEFF/, "");
  if (/^\s*[[{]/.test(whole)) return readJSON(whole);
  const { readLines } = await import("./csv.ts");
  const [head, ...lines] = readLines(whole);
  if (!head) throw new Error("There is nothing in it.");
  const columns = head.cells.map((name, i) => name.trim() || `column ${i + 1}`);
  const twice = columns.find((name, i) => columns.indexOf(name) !== i);
  if (twice) throw new Error(`Line 1 has the column ${twice} twice.`);
  const records = lines.map(({ cells, line }) => {
    if (cells.length > columns.length)
      throw new Error(`Line ${line} has ${cells.length} values, and line 1 has ${columns.length} names.`);
    return {
      line,
      values: new Map(cells.map((cell, i): [string, Json] => [columns[i]!, cell]).filter(([, cell]) => cell !== "")),
    };
  });
  return { isTable: true, columns, records };
}

function readJSON(text: string): Source {
  const [items, lines] = itemsOf(text);
  const records = items.map((item, i): SourceRecord => {
    const line = lines[i] ?? 1;
    if (!isObject(item)) throw new Error(`Line ${line}: this element is no object.`);
    return { line, values: new Map(Object.entries(item)) };
  });
  const columns = [...new Set(records.flatMap(({ values }) => [...values.keys()]))];
  return { isTable: false, columns, records };
}

/** Returns the elements of an array, of the only one that an object has, or of lines, and where they begin. */
function itemsOf(text: string): [Json[], lines: number[]] {
  let data: Json;
  try {
    data = parse(text);
  } catch (error) {
    const lines = text.split("\n").flatMap((line, i) => (line.trim() ? [{ line, at: i + 1 }] : []));
    if (lines.length < 2) throw error;
    try {
      return [lines.map(({ line }) => parse(line)), lines.map(({ at }) => at)]; // one object a line
    } catch {
      throw error;
    }
  }
  if (Array.isArray(data)) return [data, linesAt(text, 1)];
  const lists = Object.values(data as Obj).filter((value) => Array.isArray(value));
  if (lists.length > 1) throw new Error("It has several lists. Import one at a time.");
  return lists[0] ? [lists[0], linesAt(text, 2)] : [[data], [1]];
}

/** Returns the lines at which the objects of a depth begin. */
function linesAt(text: string, depth: number): number[] {
  const lines: number[] = [];
  let line = 1,
    open = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]\n]/g)) {
    if (token === "\n") line++;
    else if (token === "{" || token === "[") {
      if (open === depth) lines.push(line);
      open++;
    } else if (token === "}" || token === "]") open--;
  }
  return lines;
}

/** Returns the field that a column is probably meant for, its own name if there is none. */
export function fieldFor(column: string, shape: Shape): string {
  const plain = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}.]/gu, "");
  const names = [shape.key, ...shape.fields.map((field) => field.name)];
  return names.find((name) => name === column) ?? names.find((name) => plain(name) === plain(column)) ?? column;
}

/** Returns a field that the texts of a column fit, for one that nobody has described. */
export function guessField(shape: Shape, name: string, { isTable, records }: Source, column: string): Field {
  const field = fieldOf(shape, name);
  if (!isTable || shape.fields.some((own) => own.name === name)) return field;
  const texts = records.flatMap(({ values }) => values.get(column) ?? []) as string[];
  const areAll = (test: (text: string) => boolean) => texts.length > 0 && texts.every(test);
  if (areAll((text) => text === "true" || text === "false")) return { ...field, kind: "boolean" };
  return { ...field, kind: areAll((text) => /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text)) ? "number" : "text" };
}

/** Returns a record with a value: a name with dots leads into objects. */
export function assign(record: Obj, field: Field, value: Json | undefined, shape: Shape): Obj {
  if (value === undefined) return record;
  const [head = "", ...path] = shape.fields.some(({ name }) => name === field.name)
    ? [field.name]
    : field.name.split(".");
  return { ...record, [head]: into(memberOf(record, head), path, value) };
}

function into(before: Json | undefined, [head, ...rest]: string[], value: Json): Json {
  if (head === undefined) return value;
  const object = isObject(before) && !isNumber(before) ? before : {};
  return { ...object, [head]: into(memberOf(object, head), rest, value) };
}
