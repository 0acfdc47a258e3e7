// The columns of a table: their order, which are hidden, and their widths. A
// person's choice is kept for each collection.
import { signal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { isObject, memberOf, type Obj } from "../data/json.ts";
import type { Rows } from "./rows.ts";
import { fieldOf, isNaming, typedOf, type Field, type Shape } from "../data/schema.ts";

interface Choice {
  hidden: string[];
  order: string[];
  widths: Record<string, number | undefined>;
}

const none: Choice = { hidden: [], order: [], widths: {} };
const choices = signal<Record<string, Choice>>(load());

function load(): Record<string, Choice> {
  try {
    return JSON.parse(localStorage.getItem("pickup.columns") ?? "{}") as Record<string, Choice>;
  } catch {
    return {};
  }
}

export const choiceOf = (collection: string): Choice => ({ ...none, ...choices.value[collection] });

export function choose(collection: string, part: Partial<Choice>): void {
  choices.value = { ...choices.value, [collection]: { ...choiceOf(collection), ...part } };
  localStorage.setItem("pickup.columns", JSON.stringify(choices.value));
}

const minWidth = 60; // px

/** Sets the width of a column; undefined makes it fit the records again. */
export function setWidth(collection: string, column: string, width: number | undefined): void {
  const { widths } = choiceOf(collection);
  choose(collection, { widths: { ...widths, [column]: width && Math.max(minWidth, Math.round(width)) } });
}

export function resetColumns(collection: string): void {
  const { [collection]: _, ...others } = choices.value;
  choices.value = others;
  localStorage.setItem("pickup.columns", JSON.stringify(others));
}

export const maxColumns = 200; // more are in the record
const manyColumns = 10;
const sampled = 40; // records

/** Returns all columns: the id, the fields of the rules, and those that records have besides. */
export function useAllColumns(rows: Rows, shape: Shape): Field[] {
  const seen = useRef(new Set<string>()),
    named = useRef(new Set<string>()); // by the shape, now or before
  void rows.version.value;
  const now = new Set(shape.fields.map((field) => field.name));
  for (const name of now) named.current.add(name);
  for (const record of rows.sample(sampled)) {
    for (const name of isObject(record) ? Object.keys(record) : []) {
      if (seen.current.size < maxColumns) seen.current.add(name);
      now.add(name);
    }
  }
  const isGone = (name: string) => named.current.has(name) && !now.has(name); // removed or renamed
  const names = new Set([
    shape.key,
    ...shape.fields.map((field) => field.name),
    ...[...seen.current].filter((name) => !isGone(name)),
  ]);
  const list = [...names].slice(0, maxColumns);
  return useMemo(() => list.map((name) => fieldOf(shape, name)), [shape, list.join("\n")]);
}

/** Returns the columns that are shown, in the order that was chosen. */
export function useShownColumns(all: Field[], shape: Shape): Field[] {
  const choice = choiceOf(shape.name);
  const text = JSON.stringify([choice.hidden, choice.order]);
  return useMemo(() => {
    // Of many columns, the name and those with colors come first, while they are on the screen.
    const isMany = all.length > manyColumns && choice.order.length === 0,
      named = isMany ? all.find((field) => field.name !== shape.key && isNaming(field.name)) : undefined;
    const rank = (field: Field) => {
      const at = choice.order.indexOf(field.name);
      if (field === named) return -2;
      return isMany && field.kind === "choice" ? -1 : at < 0 ? choice.order.length : at;
    };
    const shown = all.filter((field) => field.name === shape.key || !choice.hidden.includes(field.name));
    const [first, ...rest] = shown;
    return first ? [first, ...rest.sort((a, b) => rank(a) - rank(b))] : [];
  }, [all, shape, text]);
}

/** How wide a column may be: a text gives room down to its least before a column leaves the screen. */
interface Width {
  least: number;
  most: number;
}

/**
 * Returns widths that fit the records that were there first, whatever is filtered
 * later, and what a person has chosen.
 */
export function useWidths(columns: Field[], rows: Rows, shape: Shape): Width[] {
  const kept = useRef({ isSampled: false, widths: new Map<string, Width>() });
  const sample = rows.sample(sampled),
    chosen = choiceOf(shape.name).widths;
  if (sample.length > 0 && !kept.current.isSampled) kept.current = { isSampled: true, widths: new Map() };
  const { widths } = kept.current;
  return columns.map((field) => {
    const own = Object.hasOwn(chosen, field.name) && chosen[field.name];
    if (own) return { least: own, most: own };
    const key = field.name + " " + field.kind;
    if (!widths.has(key)) widths.set(key, widthOf(field, sample, shape));
    return widths.get(key)!;
  });
}

function widthOf(field: Field, sample: Obj[], shape: Shape): Width {
  const lengths = sample.map((record) => lengthOf(memberOf(record, field.name)));
  const longest = Math.max(field.name.length + 4, ...lengths);
  const between = (min: number, width: number, max: number) => Math.round(Math.min(max, Math.max(min, width)));
  const fixed = (width: number): Width => ({ least: width, most: width });
  if (field.name === shape.key) return fixed(between(68, longest * 7.8 + 40, 190));
  switch (field.kind) {
    case "time":
      return fixed(174);
    case "number":
    case "date":
      return fixed(between(88, longest * 7.4 + 24, 200));
    case "reference":
      return { least: 158, most: 220 };
    case "boolean":
      return fixed(92);
    case "choice":
      return fixed(between(118, longest * 7.4 + 34, 260));
  }
  const whole = between(88, longest * 7.4 + 28, 480);
  return { least: between(96, Math.min(whole, 200) * 0.6, whole), most: whole };
}

/** Returns how many characters a cell shows of a value. */
function lengthOf(value: ReturnType<typeof memberOf>): number {
  if (typeof value === "string") return value.length;
  return typeof value === "object" && value !== null ? 30 : typedOf(value).length;
}
