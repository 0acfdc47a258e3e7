// Editing a cell in its place: one field is written, on condition that its
// record is unchanged. The edit belongs to a record, wherever its row moves.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, get, messageOf, pathOf, Refused, Unreachable, type Answer } from "../data/api.ts";
import { canWrite, idOf, isReadOnly, whyLocked, whyOff } from "../data/catalog.ts";
import { isEqual, memberOf, stringify, type Json, type Obj } from "../data/json.ts";
import { bundle } from "../lazy.tsx";
import { onChange, onReset } from "../data/live.ts";
import { announce, toast, toastError } from "../messages.tsx";
import type { PickedRecord } from "../data/references.ts";
import { useUnsaved } from "../route.ts";
import type { Rows } from "./rows.ts";
import { fieldOf, isStructured, nothingOf, typedOf, type Field, type Shape } from "../data/schema.ts";
import { areCaught, catchKeys, takeKeys } from "../typing.tsx";
import { toastUndo } from "../data/undo.ts";

export interface CellEdit {
  id: string;
  member: string;
  record: Obj;
  draft: string;
  picked: PickedRecord | undefined; // of a reference
  was: Json | undefined;
  isTypedOver: boolean; // a key has begun it
  tag: string;
  error: unknown; // why it is not saved, or null
}

const editorOf = () => document.querySelector<HTMLElement>(".edits :is(input, select, textarea)");

const describe = (value: Json | undefined): string => typedOf(value) || "empty";

const hasChanged = (edit: CellEdit | null): boolean => edit !== null && edit.draft !== typedOf(edit.was);

/** Returns the edit of the grid's cell, and what begins and ends one. */
export function useCellEdit(
  rows: Rows,
  shape: Shape,
  columns: Field[],
  onOpen: (id: string) => void,
  moveTo: (row: number, column: number) => void,
) {
  const [cell, setCell] = useState<CellEdit | null>(null);
  const current = useRef(cell),
    saving = useRef<Promise<boolean> | null>(null);
  current.current = cell;

  // While the list does not have the record, its row stays where it was.
  const lastRow = useRef(-1),
    leftRow = useRef(-1); // of the edit that was saved last
  const at = cell ? rows.indexOf(cell.id) : -1;
  if (at >= 0 || !cell) lastRow.current = at;

  const update = (edit: CellEdit, part: Partial<CellEdit>) =>
    setCell((c) => (c?.id === edit.id && c.member === edit.member ? { ...c, ...part } : c));

  useUnsaved({
    name: cell ? `${cell.member} of ${shape.name} ${cell.id}` : "",
    isChanged: () => hasChanged(current.current),
    save: () => save(),
  });
  useEffect(
    () => () => {
      const edit = current.current;
      if (edit && hasChanged(edit) && !saving.current) toastLost(shape, edit);
      current.current = null;
      setCell(null);
    },
    [rows],
  );
  useEffect(
    () =>
      onReset(() => {
        const edit = current.current; // the server answers again
        if (edit?.error instanceof Unreachable) update(edit, { error: null });
      }),
    [],
  );
  useEffect(
    () =>
      onChange((revisions) => {
        const edit = current.current,
          own = revisions
            .flatMap((r) => r.changes ?? [])
            .findLast((c) => c.collection === shape.name && c.id === edit?.id);
        if (edit && own?.op === "deleted") update(edit, { error: new Error("This record has been deleted.") });
      }),
    [shape.name],
  );

  /** Whether a cell has an input for a key to be typed into. */
  const canType = (row: number, column: number): boolean => {
    const record = rows.at(row),
      field = columns[column];
    if (!record || !field || idOf(shape.name, record) === "") return false;
    return canWrite(shape, field) && !isStructured(field, memberOf(record, field.name));
  };

  const begin = async (row: number, column: number, isTypedOver = false) => {
    const record = rows.at(row),
      field = columns[column];
    if (!record || !field) return;
    const id = idOf(shape.name, record),
      was = memberOf(record, field.name);
    if (id === "") return;
    if (!canWrite(shape, field) || isStructured(field, was)) {
      onOpen(id);
      return;
    }
    if (whyOff.value) return void toast(whyOff.value, { bad: true });
    catchKeys();
    if (current.current && !(await save())) return takeKeys(editorOf());
    const edit: CellEdit = {
      id,
      member: field.name,
      record,
      draft: typedOf(was),
      picked: undefined,
      was,
      isTypedOver,
      tag: "",
      error: null,
    };
    lastRow.current = row;
    setCell(edit);
    // The tag must belong to the value that the person sees.
    try {
      const answer = await get(pathOf(shape.name, id)),
        now = memberOf(answer.data as Obj, field.name);
      setCell((c) => {
        if (c?.id !== id || c.member !== field.name || (hasChanged(c) && !isEqual(now, was))) return c;
        return { ...c, tag: answer.tag, was: now, draft: hasChanged(c) ? c.draft : typedOf(now) };
      });
    } catch (error) {
      update(edit, { error });
    }
  };

  const write = async (id: string, member: string, value: Json | undefined, tag: string): Promise<Answer> => {
    const path = pathOf(shape.name, id);
    const type = value === undefined ? "application/merge-patch+json" : undefined; // there null removes
    const answer = await ask("PATCH", path, { body: stringify({ [member]: value ?? null }), type, tag });
    rows.put(answer.data as Obj);
    toastUndo(`${member} of ${shape.name} ${id} is ${describe(value)}`, answer.revision, () => {
      void rows.reload(id);
    });
    return answer;
  };

  /** Gives a cell what a function makes of its value, unless that is the same. */
  const replace = async (
    row: number,
    column: number,
    make: (field: Field, was: Json | undefined) => Json | undefined,
  ) => {
    const record = rows.at(row),
      field = columns[column];
    if (isReadOnly.value) return void toast(whyLocked.value);
    if (!record || !field || !canWrite(shape, field)) return;
    if (whyOff.value) return void toast(whyOff.value, { bad: true });
    const id = idOf(shape.name, record),
      was = memberOf(record, field.name);
    try {
      const value = make(field, was);
      if (value === was) return;
      const now = await get(pathOf(shape.name, id));
      await write(id, field.name, value, now.tag);
    } catch (error) {
      toastError("Could not change it.", error);
    }
  };

  const cancel = () => {
    const edit = current.current;
    setCell(null);
    if (edit)
      moveTo(
        lastRow.current,
        columns.findIndex((field) => field.name === edit.member),
      );
  };

  const run = async (edit: CellEdit): Promise<boolean> => {
    const { id, member, draft, was } = edit;
    const isHere = () => current.current?.id === id && current.current.member === member;
    const leave = () => {
      if (!isHere()) return; // it was left while it was saved
      leftRow.current = lastRow.current;
      setCell(null);
    };
    if (!hasChanged(edit)) {
      leave();
      return true;
    }
    try {
      const value = await bundle.value!.resolveInput(
        { field: fieldOf(shape, member), text: draft, picked: edit.picked },
        was,
      );
      let { tag } = edit;
      if (!tag) {
        const now = await get(pathOf(shape.name, id));
        ({ tag } = now);
        if (!isEqual(memberOf(now.data as Obj, member), was)) throw new Changed(member, now);
      }
      const answer = await write(id, member, value, tag);
      if (current.current?.draft === draft) leave();
      else update(edit, { was: value, tag: answer.tag, error: null }); // more has been typed
      return true;
    } catch (e) {
      const error = await explain(e, pathOf(shape.name, id), member);
      if (isHere()) {
        announce(messageOf(error));
        update(edit, { error, ...(error instanceof Changed && { tag: error.now.tag }) });
      } else toastLost(shape, edit, error);
      return false;
    }
  };

  /** Saves what was typed, and returns whether that is done. step moves to another cell then. */
  const save = async (step?: [row: number, column: number]): Promise<boolean> => {
    const edit = current.current;
    if (!edit) return true;
    const caught = step ? catchKeys() : 0; // for the next cell
    leftRow.current = -1;
    saving.current ??= run(edit).finally(() => {
      saving.current = null;
    });
    const isSaved = await saving.current;
    if (!step || !areCaught(caught)) return isSaved;
    if (leftRow.current < 0) takeKeys(editorOf());
    else moveTo(leftRow.current + step[0], columns.findIndex((field) => field.name === edit.member) + step[1]);
    return isSaved;
  };

  return {
    cell,
    row: cell ? lastRow.current : -1,
    begin,
    canType,
    save,
    type: (draft: string, picked?: PickedRecord) => setCell((c) => c && { ...c, draft, picked, error: null }),

    /** Handles a key in the input and reports whether it has a meaning there. */
    onKey: (event: KeyboardEvent): boolean => {
      const isText = event.target instanceof HTMLTextAreaElement;
      if (event.key === "Escape") cancel();
      else if (event.key === "Enter" && !(isText && event.shiftKey)) void save([1, 0]);
      else if (event.key === "Tab") void save([0, event.shiftKey ? -1 : 1]);
      else return false;
      return true;
    },

    /** Makes the value of a cell null, or removes it if the rules do not allow null. */
    clear: (row: number, column: number) =>
      replace(row, column, (field, was) => {
        if (was === null || was === undefined) return was;
        return field.required ? null : nothingOf(field, was);
      }),

    /** Makes true false, and false true. */
    toggle: (row: number, column: number) => replace(row, column, (_, was) => (typeof was === "boolean" ? !was : was)),

    cancel,
  };
}

/** Somebody else has changed a field. */
class Changed extends Error {
  constructor(
    member: string,
    readonly now: Answer,
  ) {
    const value = describe(memberOf(now.data as Obj, member));
    super(`Somebody else has changed this record. ${member} is now ${value}. Press Enter again to replace it.`);
  }
}

/** Returns why a write was refused. */
async function explain(error: unknown, path: string, member: string): Promise<unknown> {
  if (!(error instanceof Refused)) return error;
  if (error.status !== 412) return new Error(error.faultOf(member) ?? error.message);
  return get(path).then(
    (now) => new Changed(member, now),
    () => error,
  );
}

/** Reports what was typed into a cell that is not there any more. */
function toastLost(shape: Shape, { id, member, draft }: CellEdit, error: unknown = ""): void {
  toastError(`${member} of ${shape.name} ${id} was not saved. You had typed “${draft}”.`, error);
}
