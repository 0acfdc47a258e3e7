// A list of objects as a small table, whose cells are edited.
import { useRef } from "preact/hooks";
import {
  isNumber,
  isObject,
  memberOf,
  parse,
  pointer,
  stringify,
  withMember,
  type Json,
  type Obj,
} from "../data/json.ts";
import { fieldOf, shapeOf, typedOf, valueOf } from "../data/schema.ts";
import { readTable } from "../data/tables.ts";
import { Button } from "../ui.tsx";
import type { FieldFault } from "./json_input.tsx";
import { useOwnText } from "./own_text.ts";

const maxCells = 600; // with more, the list is edited as JSON

/** Whether a value is a list of objects that is small enough for a table. */
export const areObjects = (value: Json | undefined): value is Obj[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every(isObject) &&
  value.length * namesIn(value as Obj[]).length <= maxCells;

const namesIn = (list: Obj[]): string[] => [...new Set(list.flatMap((item) => Object.keys(item)))];

interface ObjectsInputProps {
  id: string | undefined;
  label: string;
  value: string; // JSON
  names: string[]; // the columns that stay also without a row
  faults: FieldFault[];
  describedBy: string | undefined;
  onInput: (value: string) => void;
}

export function ObjectsInput({ id, label, value, names: kept, faults, describedBy, onInput }: ObjectsInputProps) {
  const list = objectsIn(value),
    names = [...new Set([...kept, ...namesIn(list)])];
  const put = (next: Obj[]) => onInput(stringify(next, 2));
  const type = (row: number, name: string, text: string, before: Json | undefined) =>
    put(withText(list, row, name, text, before));

  /** Takes objects in JSON as further rows, and the cells of a spreadsheet from a cell on. */
  const paste = async (event: ClipboardEvent, row: number, column: number) => {
    const text = event.clipboardData?.getData("text/plain") ?? "",
      objects = objectsOf(text);
    if (objects.length === 0 && !/[\t\n]/.test(text.trim())) return; // into the text of the input
    event.preventDefault();
    if (objects.length > 0) return put([...list, ...objects]);
    let next = list;
    for (const [down, cells] of (await readTable(text)).entries()) {
      if (row + down >= next.length) next = [...next, {}];
      for (const [right, cell] of cells.entries()) {
        const name = names[column + right];
        if (name !== undefined) next = withText(next, row + down, name, cell, memberOf(next[row + down], name));
      }
    }
    put(next);
  };
  return (
    <div class="objects" id={id} role="group" aria-label={label} aria-describedby={describedBy} tabIndex={-1}>
      <div class="scrolled">
        <table>
          <thead>
            <tr>
              {names.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
              <td />
            </tr>
          </thead>
          <tbody>
            {list.map((item, row) => (
              <tr key={row}>
                {names.map((name, column) => (
                  <td key={name}>
                    <Cell
                      label={`${name} of row ${row + 1}`}
                      value={memberOf(item, name)}
                      isInvalid={faults.some((fault) => fault.pointer === pointer(row, name))}
                      onInput={(text, before) => type(row, name, text, before)}
                      onPaste={(event) => void paste(event, row, column)}
                    />
                  </td>
                ))}
                <td>
                  <Button
                    kind="quiet"
                    icon="close"
                    label={`Remove row ${row + 1}`}
                    onClick={() => put(list.filter((_, at) => at !== row))}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Button kind="quiet" icon="plus" onClick={() => put([...list, {}])}>
        Add a row
      </Button>
    </div>
  );
}

interface CellProps {
  label: string;
  value: Json | undefined;
  isInvalid: boolean;
  onInput: (text: string, before: Json | undefined) => void;
  onPaste: (event: ClipboardEvent) => void;
}

/** A cell. What is an object or a list itself is edited in the JSON tab. */
function Cell({ label, value, isInvalid, onInput, onPaste }: CellProps) {
  const [text, setOwn] = useOwnText(typedOf(value));
  const before = useRef(value); // what it was when it got the focus
  if (typeof value === "object" && value !== null && !isNumber(value)) {
    return (
      <code class="clip" title="Edit it in the JSON tab">
        {stringify(value)}
      </code>
    );
  }
  return (
    <input
      type="text"
      aria-label={label}
      aria-invalid={isInvalid ? true : undefined}
      autocomplete="off"
      spellcheck={false}
      placeholder={value === undefined ? "missing" : value === null ? "null" : ""}
      value={text}
      onInput={(event) => {
        setOwn(event.currentTarget.value);
        onInput(event.currentTarget.value, before.current);
      }}
      onFocus={() => {
        before.current = value;
      }}
      onBlur={() => setOwn(null)}
      onPaste={onPaste}
    />
  );
}

const anyShape = shapeOf("", {}, "", []);

/** Returns a list with what was typed into a cell: a value of the type that the cell has, or its column. */
function withText(list: Obj[], row: number, name: string, text: string, before: Json | undefined): Obj[] {
  const others = list.filter((_, at) => at !== row).map((item) => memberOf(item, name)),
    sample = before ?? others.find((value) => value !== undefined && value !== null);
  const value = valueOf(fieldOf(anyShape, name), text, text === "" ? before : sample);
  return list.map((item, at) => (at === row ? withMember(item, name, value) : item));
}

const objectsIn = (value: string): Obj[] => {
  try {
    const list = parse(value);
    return Array.isArray(list) ? list.filter(isObject) : [];
  } catch {
    return []; // it was emptied
  }
};

/** Returns the objects of a JSON text, which is one or a list of them. */
function objectsOf(text: string): Obj[] {
  try {
    const value = parse(text);
    return isObject(value) ? [value] : areObjects(value) ? value : [];
  } catch {
    return [];
  }
}
