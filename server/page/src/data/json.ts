// JSON that keeps the spelling of numbers: 1.10 and 12345678901234567890 are
// written back as they were read.

export type Json = null | boolean | number | string | Num | Json[] | Obj;
export interface Obj {
  [name: string]: Json;
}

/** A number that JavaScript would spell in another way. */
export class Num {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
  toJSON(): unknown {
    return "rawJSON" in JSON ? (JSON as unknown as RawJSON).rawJSON(this.text) : Number(this.text);
  }
}

interface RawJSON {
  rawJSON(text: string): unknown;
}

/** A text is not JSON. Browsers say so in different words, and not all of them where. */
export class NotJSON extends Error {
  constructor(
    what: string,
    text: string,
    readonly at: number,
  ) {
    const lines = text.slice(0, at).split("\n");
    super(`${what} at line ${lines.length}, column ${lines.at(-1)!.length + 1}.`);
  }
}

const space = /[ \t\r\n]*/y,
  token =
    /[{}[\],:]|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-f]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)/iy;

/** Returns where a text that is not JSON is wrong. */
function faultIn(text: string): NotJSON {
  const open: string[] = []; // the brackets that are not closed yet
  let want: "value" | "name" | "colon" | "next" = "value",
    isFirst = false; // in its brackets, which may be empty
  for (let at = 0; ;) {
    space.lastIndex = at;
    token.lastIndex = at += space.exec(text)![0].length;
    const found = token.exec(text)?.[0] ?? "",
      end = open.at(-1) === "{" ? "}" : "]";
    at += found.length;
    if (found === end && open.length > 0 && (want === "next" || (isFirst && want !== "colon"))) {
      open.pop();
      want = "next";
    } else if (want === "value" && /^[{[]$/.test(found)) {
      open.push(found);
      want = found === "{" ? "name" : "value";
      isFirst = true;
      continue;
    } else if (want === "value" && /^["\-\dtfn]/.test(found)) want = "next";
    else if (want === "name" && found.startsWith('"')) want = "colon";
    else if (want === "colon" && found === ":") want = "value";
    else if (want === "next" && found === "," && open.length > 0) want = end === "}" ? "name" : "value";
    else {
      const or = isFirst ? " or " + end : "";
      const missing = {
        value: "A value" + or,
        name: "A name in double quotes" + or,
        colon: "A colon",
        next: "A comma or " + end,
      };
      at -= found.length;
      if (want === "next" && open.length === 0) return new NotJSON("There is more than one value", text, at);
      return new NotJSON(missing[want] + " is missing", text, at);
    }
    isFirst = false;
  }
}

/** Returns why a text is not JSON, or "". A text of spaces is not faulty. */
export function jsonFault(text: string): string {
  try {
    if (text.trim()) parse(text);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

export function parse(text: string): Json {
  try {
    return parseExactly(text);
  } catch {
    throw faultIn(text);
  }
}

function parseExactly(text: string): Json {
  return JSON.parse(text, (_name: string, value: unknown, context?: { source?: string }) => {
    const spelled = context?.source;
    return typeof value === "number" && spelled !== undefined && String(value) !== spelled ? new Num(spelled) : value;
  }) as Json;
}

/** Returns a name that an object in valid JSON has twice. */
export function repeatedName(text: string): string | undefined {
  const open: Set<string>[] = [];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g)) {
    if (/^[{[]/.test(token)) open.push(new Set());
    else if (/^[}\]]/.test(token)) open.pop();
    else if (token.endsWith(":")) {
      const name = JSON.parse(token.slice(0, -1)) as string;
      if (open.at(-1)?.has(name)) return name;
      open.at(-1)?.add(name);
    }
  }
  return undefined;
}

export function stringify(value: Json | undefined, indent?: number): string {
  return value === undefined ? "" : JSON.stringify(value, null, indent);
}

export function isJSON(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns JSON with line breaks, and other text as it is. */
export const layOut = (text: string): string => (isJSON(text) ? stringify(parse(text), 2) : text);

export const isNumber = (value: Json | undefined): value is number | Num =>
  typeof value === "number" || value instanceof Num;

export const isObject = (value: Json | undefined): value is Obj =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Num);

export const isEqual = (a: Json | undefined, b: Json | undefined): boolean => a === b || stringify(a) === stringify(b);

/** Returns the field of a record. A name such as "constructor" is a field like any other. */
export const memberOf = (record: Obj | undefined, name: string): Json | undefined =>
  isObject(record) && Object.hasOwn(record, name) ? record[name] : undefined;

/** Returns a record without a field, or with a new value of it. */
export function withMember(record: Obj, name: string, value: Json | undefined): Obj {
  const entries = Object.entries(record).filter(([other]) => other !== name || value !== undefined);
  const at = entries.findIndex(([other]) => other === name);
  if (value !== undefined) entries.splice(at < 0 ? entries.length : at, at < 0 ? 0 : 1, [name, value]);
  return Object.fromEntries(entries);
}

export interface Operation {
  op: "add" | "replace" | "remove" | "test";
  path: string;
  value?: Json;
}

/** Returns a JSON Pointer (RFC 6901). */
export const pointer = (...names: (string | number)[]): string =>
  names.map((name) => "/" + String(name).replaceAll("~", "~0").replaceAll("/", "~1")).join("");

/** Returns the names that a JSON Pointer has. */
export const pointerNames = (text: string): string[] =>
  text
    .split("/")
    .slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));

/** Returns the names of the fields that differ. */
export function differing(from: Obj | undefined, to: Obj | undefined): string[] {
  const names = new Set([...Object.keys(from ?? {}), ...Object.keys(to ?? {})]);
  return [...names].filter((name) => !isEqual(memberOf(from, name), memberOf(to, name)));
}

/** Returns the JSON Patch from one object to another, field by field, so that other fields keep their bytes. */
export function difference(from: Obj, to: Obj): Operation[] {
  return differing(from, to).map((name) => {
    const value = memberOf(to, name),
      path = pointer(name);
    if (value === undefined) return { op: "remove", path };
    return { op: Object.hasOwn(from, name) ? "replace" : "add", path, value };
  });
}
