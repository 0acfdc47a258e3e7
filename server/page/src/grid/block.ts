// What is done to a block of cells: copied, pasted into, filled and cleared. Each
// change is one transaction.
import { messageOf } from "../data/api.ts";
import { canWrite, idOf, isReadOnly, readRecords, whyLocked } from "../data/catalog.ts";
import { isEqual, isObject, memberOf, parse, stringify, type Json, type Obj } from "../data/json.ts";
import { readTable, writeTable } from "../data/tables.ts";
import { announce, toast, toastError } from "../messages.tsx";
import { readReferences } from "../data/references.ts";
import { fieldOf, nothingOf, typedOf, type Field, type Shape } from "../data/schema.ts";
import { mostChanged, type Fault, type RecordChange } from "../data/transaction.ts";
import { copyText, count, formatCount } from "../ui.tsx";
import { isOneCell, type Range } from "./range.ts";
import { askForRows, submit } from "./review.tsx";
import type { Rows } from "./rows.ts";

export interface Block {
  rows: Rows;
  shape: Shape;
  columns: Field[];
  range: Range;
}

/** Copies the cells, or all of the records that are selected, as text or as JSON, and returns whether it could. */
export async function copyBlock(block: Block, asJSON: boolean, selected: ReadonlySet<string>): Promise<boolean> {
  const { rows, range } = block;
  try {
    const isOne = isOneCell(range),
      ofRecords = isOne && selected.size > 0;
    if (range.bottom - range.top >= mostChanged.value) throw tooMany();
    const records = ofRecords
      ? await selectedRecords(rows, selected)
      : await rows.recordsOf(range.top, range.bottom + 1);
    const columns = ofRecords ? block.columns : block.columns.slice(range.left, range.right + 1);
    const cells = records.map((record) => columns.map((field) => memberOf(record, field.name)));
    if (isOne && !ofRecords) await copyText(asJSON ? stringify(cells[0]?.[0]) : typedOf(cells[0]?.[0]));
    else
      await copyText(
        asJSON
          ? stringify(
              records.map((record) => partOf(record, columns)),
              2,
            )
          : writeTable(cells),
      );
    announce(isOne && !ofRecords ? "Copied" : `${count(records.length, "row")} copied`);
    return true;
  } catch (error) {
    toastError("Could not copy.", error);
    return false;
  }
}

/** Returns the records that are selected; those far away may have been forgotten. */
export async function selectedRecords(rows: Rows, selected: ReadonlySet<string>): Promise<Obj[]> {
  const loaded = [...selected].map((id) => rows.at(rows.indexOf(id))).filter((record) => record !== undefined);
  return loaded.length === selected.size ? loaded : readRecords(rows.name, [...selected]);
}

const partOf = (record: Obj, columns: Field[]): Obj =>
  Object.fromEntries(columns.flatMap(({ name }) => (Object.hasOwn(record, name) ? [[name, record[name]!]] : [])));

const tooMany = (): Error => new Error(`At most ${formatCount(mostChanged.value)} records can be changed at once.`);

/** What a value becomes: that of a text, or what a function returns, which throws if it cannot be. */
type NewValue = string | ((field: Field, was: Json | undefined) => Json | undefined);

/** The new values of a row, by field. */
type NewRow = ReadonlyMap<string, NewValue>;

/** Pastes text of a spreadsheet, or JSON, at the first cell. */
export async function pasteBlock(block: Block, text: string): Promise<void> {
  const { rows, shape, range } = block;
  try {
    const list = newRows(block, await readClipboard(text)),
      there = Math.min(list.length, (rows.total.value ?? 0) - range.top);
    let added = list.slice(there);
    if (added.length > 0) {
      const answer = await askForRows(added.length, there);
      if (answer === "cancel") return;
      if (answer === "leave") added = [];
    }
    await write(block, [...list.slice(0, there), ...added], there);
    if (!isReadOnly.value && list.every((row) => [...row.keys()].every((name) => !canWrite(shape, fieldOf(shape, name))))) {
      toast("These fields cannot be changed.", { bad: true });
    }
  } catch (error) {
    toastError("Could not paste.", error);
  }
}

/** Returns the rows of a text: objects by their fields, and lists of values or texts. */
async function readClipboard(text: string): Promise<(Obj | NewValue[])[]> {
  if (/^\s*[[{]/.test(text)) {
    try {
      const data = parse(text),
        list = Array.isArray(data) ? data : [data];
      return list.map((item) => (isObject(item) ? item : (Array.isArray(item) ? item : [item]).map(exactly)));
    } catch {
      // It is text that begins with a bracket.
    }
  }
  return readTable(text);
}

const exactly =
  (value: Json | undefined): NewValue =>
  () =>
    value;

function newRows({ shape, columns, range }: Block, clip: (Obj | NewValue[])[]): NewRow[] {
  const height = range.bottom - range.top + 1,
    width = range.right - range.left + 1;
  const repeated = clip.length > 0 && height % clip.length === 0 ? height : clip.length; // rows, as a spreadsheet does
  return Array.from({ length: repeated }, (_, i) => {
    const item = clip[i % clip.length]!;
    if (!Array.isArray(item)) {
      const own = Object.entries(item).filter(([name]) => name !== shape.key);
      return new Map(own.map(([name, value]) => [name, exactly(value)]));
    }
    const cells = width % item.length === 0 ? width : item.length;
    return new Map(columns.slice(range.left, range.left + cells).map(({ name }, j) => [name, item[j % item.length]!]));
  });
}

/** Copies the values of the first row into those below it. */
export async function fillDown(block: Block): Promise<void> {
  const { rows, columns, range } = block,
    first = rows.at(range.top);
  if (!first) return;
  const row: NewRow = new Map(
    columns.slice(range.left, range.right + 1).map(({ name }) => [name, exactly(memberOf(first, name))]),
  );
  const below = { ...range, top: range.top + 1 };
  await write({ ...block, range: below }, repeat(row, below)).catch((error: unknown) =>
    toastError("Could not fill.", error),
  );
}

/** Gives all cells what was typed into one of them. */
export async function fillBlock(block: Block, text: string): Promise<void> {
  const { columns, range } = block;
  const row: NewRow = new Map(columns.slice(range.left, range.right + 1).map(({ name }) => [name, text]));
  await write(block, repeat(row, range)).catch((error: unknown) => toastError("Could not fill.", error));
}

/** Copies the cells and clears them. */
export async function cutBlock(block: Block): Promise<void> {
  if (await copyBlock(block, false, new Set())) await clearBlock(block);
}

/** Makes the values null, or removes them if the rules do not allow null. */
export async function clearBlock(block: Block): Promise<void> {
  const { columns, range } = block;
  const row: NewRow = new Map(
    columns
      .slice(range.left, range.right + 1)
      .map(({ name }) => [
        name,
        (field, was) => (was === null || was === undefined ? was : field.required ? null : nothingOf(field, was)),
      ]),
  );
  await write(block, repeat(row, range)).catch((error: unknown) => toastError("Could not clear them.", error));
}

const repeat = (row: NewRow, { top, bottom }: Range): NewRow[] => Array.from({ length: bottom - top + 1 }, () => row);

/** Writes rows from the first of the block on. Those after the first there of them are new records. */
async function write({ rows, shape, range }: Block, list: NewRow[], there = list.length): Promise<void> {
  if (list.length > mostChanged.value) throw tooMany();
  const records = there > 0 ? await rows.recordsOf(range.top, range.top + there) : [];
  const texts = list
    .flatMap((row) => [...row])
    .flatMap(([name, text]) => (typeof text === "string" ? [{ field: fieldOf(shape, name), text }] : []));
  const valueIn = await readReferences(texts);
  const changes: RecordChange[] = [],
    faults: Fault[] = [];
  for (const [i, row] of list.entries()) {
    const seen = records[i] ?? {},
      id = idOf(shape.name, seen);
    if (i < there && id === "") continue; // it has no address
    const values = new Map<string, Json | undefined>(),
      change: RecordChange = { id, seen, values };
    for (const [name, next] of row) {
      const field = fieldOf(shape, name),
        was = memberOf(seen, name);
      if (!canWrite(shape, field)) continue;
      try {
        const value = typeof next === "string" ? valueIn(field, next, was) : next(field, was);
        if (!isEqual(value, was)) values.set(name, value);
      } catch (error) {
        faults.push({ change, field: name, text: typeof next === "string" ? next : "", detail: messageOf(error) });
      }
    }
    if (values.size > 0 || faults.at(-1)?.change === change) changes.push(change);
  }
  if (isReadOnly.value) return void toast(whyLocked.value);
  if (changes.length === 0) return void announce("Nothing to change");
  await submit(shape, changes, faults);
}
