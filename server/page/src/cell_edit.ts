// Editing a cell in its place: one member is written, on condition that its
// record is unchanged.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, get, messageOf, pathOf, Refused } from "./api.ts";
import { idOf, whyLocked } from "./catalog.ts";
import { memberOf, stringify, type Json, type Obj } from "./json.ts";
import { announce, toastError } from "./messages.tsx";
import type { Rows } from "./rows.ts";
import { isStructured, typedOf, valueOf, type Field, type Shape } from "./schema.ts";
import { toastUndo } from "./undo.ts";

export interface CellEdit {
  row: number;
  column: number;
  id: string;
  draft: string;
  was: Json | undefined;
  tag: string;
  error: string;
  isSaving: boolean;
}

const describe = (value: Json | undefined): string => typedOf(value) || "empty";

/** Returns the edit of the grid's cell, and what begins and ends one. */
export function useCellEdit(
  rows: Rows,
  shape: Shape,
  columns: Field[],
  onOpen: (id: string) => void,
  moveTo: (row: number, column: number) => void,
) {
  const [cell, setCell] = useState<CellEdit | null>(null);
  const current = useRef(cell);
  current.current = cell;
  useEffect(() => setCell(null), [rows]);

  const begin = async (row: number, column: number) => {
    const record = rows.at(row),
      field = columns[column];
    if (!record || !field) return;
    const id = idOf(shape.name, record),
      was = memberOf(record, field.name);
    if (id === "") return;
    if (whyLocked.value || field.readOnly || field.name === shape.key || isStructured(field, was)) {
      onOpen(id);
      return;
    }
    const edit = { row, column, id, draft: typedOf(was), was, tag: "", error: "", isSaving: false };
    setCell(edit);
    // The tag has to be that of the value that the person sees.
    try {
      const answer = await get(pathOf(shape.name, id));
      const now = memberOf(answer.data as Obj, field.name);
      setCell((c) =>
        c && c.id === id && c.column === column
          ? { ...c, tag: answer.tag, was: now, draft: c.draft === edit.draft ? typedOf(now) : c.draft }
          : c,
      );
    } catch (error) {
      setCell((c) => (c?.id === id ? { ...c, error: messageOf(error) } : c));
    }
  };

  const write = async (id: string, field: Field, value: Json, tag: string): Promise<void> => {
    const path = pathOf(shape.name, id);
    const answer = await ask("PATCH", path, { body: stringify({ [field.name]: value }), tag });
    rows.put(answer.data as Obj);
    toastUndo(`${field.name} of ${shape.name} ${id} is ${describe(value)}`, answer.revision, () => {
      void get(path).then((a) => rows.put(a.data as Obj));
    });
  };

  const save = async (rowStep: number, columnStep: number) => {
    const edit = current.current,
      field = edit && columns[edit.column];
    if (!edit || !field || edit.isSaving) return;
    const isCurrent = (c: CellEdit | null) => c?.row === edit.row && c.column === edit.column && c.id === edit.id;
    const leave = () => {
      if (!isCurrent(current.current)) return; // it was left while it was saved
      setCell(null);
      moveTo(edit.row + rowStep, edit.column + columnStep);
    };
    if (edit.draft === typedOf(edit.was)) return leave();
    let value: Json;
    try {
      value = valueOf(field, edit.draft, edit.was);
    } catch (error) {
      setCell({ ...edit, error: messageOf(error) });
      return;
    }
    setCell({ ...edit, isSaving: true });
    try {
      const tag = edit.tag || (await get(pathOf(shape.name, edit.id))).tag;
      await write(edit.id, field, value, tag);
      leave();
    } catch (error) {
      const refused = await explain(error, shape, edit, field);
      announce(refused.error);
      setCell((c) => c && (isCurrent(c) ? { ...c, ...refused, isSaving: false } : c));
    }
  };

  const cancel = () => {
    const edit = current.current;
    setCell(null);
    if (edit) moveTo(edit.row, edit.column);
  };

  return {
    cell,
    begin,
    type: (draft: string) => setCell((c) => c && { ...c, draft, error: "" }),

    /** Handles a key in the input and reports whether it has a meaning there. */
    onKey: (event: KeyboardEvent): boolean => {
      const isText = event.target instanceof HTMLTextAreaElement;
      if (event.key === "Escape") cancel();
      else if (event.key === "Enter" && !(isText && event.shiftKey)) void save(1, 0);
      else if (event.key === "Tab") void save(0, event.shiftKey ? -1 : 1);
      else return false;
      return true;
    },

    /** Makes the value of a cell null. */
    clear: async (row: number, column: number) => {
      const record = rows.at(row),
        field = columns[column];
      if (!record || !field || field.readOnly || field.name === shape.key) return;
      const id = idOf(shape.name, record),
        was = memberOf(record, field.name);
      if (was === null || was === undefined) return;
      try {
        const now = await get(pathOf(shape.name, id));
        await write(id, field, null, now.tag);
      } catch (error) {
        toastError("Not changed.", error);
      }
    },
  };
}

/** Returns why a write was refused, and the tag with which it can be repeated. */
async function explain(
  error: unknown,
  shape: Shape,
  edit: CellEdit,
  field: Field,
): Promise<{ error: string; tag: string }> {
  if (!(error instanceof Refused)) return { error: messageOf(error), tag: edit.tag };
  if (error.status !== 412) return { error: error.faultOf(field.name) ?? error.message, tag: edit.tag };
  try {
    const now = await get(pathOf(shape.name, edit.id)),
      value = memberOf(now.data as Obj, field.name);
    return {
      error: `Somebody has changed this record. ${field.name} is now ${describe(value)}. Press Enter again to replace it.`,
      tag: now.tag,
    };
  } catch {
    return { error: error.message, tag: edit.tag };
  }
}
