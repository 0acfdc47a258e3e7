// The columns of a table: their order, which are hidden, and their widths. A
// person's choice is kept for each collection.
import { signal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { memberOf, type Obj } from "../data/json.ts";
import type { Rows } from "./rows.ts";
import { fieldOf, typedOf, type Field, type Shape } from "../data/schema.ts";

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

const maxColumns = 200; // more are in the record
const sampled = 40; // records

/** Returns all columns: the id, the fields of the rules, and those that records have besides. */
export function useAllColumns(rows: Rows, shape: Shape): Field[] {
  const seen = useRef(new Set<string>());
  void rows.version.value;
  for (const record of rows.sample(sampled)) {
    for (const name of Object.keys(record)) {
      if (seen.current.size >= maxColumns) break;
      seen.current.add(name);
    }
  }
  const names = new Set([shape.key, ...shape.fields.map((field) => field.name), ...seen.current]);
  const list = [...names].slice(0, maxColumns);
  return useMemo(() => list.map((name) => fieldOf(shape, name)), [shape, list.join("\n")]);
}

/** Returns the columns that are shown, in the order that was chosen. */
export function useShownColumns(all: Field[], shape: Shape): Field[] {
  const choice = choiceOf(shape.name);
  const text = JSON.stringify([choice.hidden, choice.order]);
  return useMemo(() => {
    const rank = (field: Field) => {
      const at = choice.order.indexOf(field.name);
      return at < 0 ? choice.order.length : at;
    };
    const shown = all.filter((field) => field.name === shape.key || !choice.hidden.includes(field.name));
    const [first, ...rest] = shown;
    return first ? [first, ...rest.sort((a, b) => rank(a) - rank(b))] : [];
  }, [all, shape, text]);
}

/** Returns widths that fit the first records. They stay as they are when other records arrive. */
export function useWidths(columns: Field[], rows: Rows, shape: Shape): number[] {
  const kept = useRef<{ key: string; widths: number[] }>({ key: "", widths: [] });
  const sample = rows.sample(sampled),
    chosen = choiceOf(shape.name).widths;
  const key = [
    rows.name,
    sample.length > 0,
    ...columns.map((field) => field.name + field.kind),
    JSON.stringify(chosen),
  ].join();
  if (kept.current.key !== key) {
    kept.current = {
      key,
      widths: columns.map(
        (field, i) => (Object.hasOwn(chosen, field.name) && chosen[field.name]) || widthOf(field, i, sample, shape),
      ),
    };
  }
  return kept.current.widths;
}

function widthOf(field: Field, column: number, sample: Obj[], shape: Shape): number {
  const lengths = sample.map((record) => lengthOf(memberOf(record, field.name)));
  const longest = Math.max(field.name.length + 4, ...lengths);
  const between = (min: number, width: number, max: number) => Math.round(Math.min(max, Math.max(min, width)));
  if (field.name === shape.key) return between(68, longest * 7.8 + 40, 190);
  switch (field.kind) {
    case "time":
      return 178;
    case "reference":
      return 180;
    case "boolean":
      return 92;
    case "choice":
      return between(118, longest * 7.4 + 34, 260);
  }
  return between(88, longest * 7 + 24, column > 2 ? 200 : 260);
}

function lengthOf(value: ReturnType<typeof memberOf>): number {
  if (typeof value === "string") return Math.min(50, value.length);
  return typeof value === "object" && value !== null ? 30 : typedOf(value).length;
}
