// What can be done with several records at once. Each action is one transaction.
import { useState } from "preact/hooks";
import { idOf } from "../data/catalog.ts";
import { Input } from "../record/inputs.tsx";
import { isEqual, memberOf, stringify, type Obj } from "../data/json.ts";
import { announce, toast, toastError } from "../messages.tsx";
import { selectedRecords } from "./block.ts";
import { submit } from "./review.tsx";
import type { Rows } from "./rows.ts";
import { resolveInput, type FieldInput } from "../data/references.ts";
import { fieldOf, typedOf, type Shape } from "../data/schema.ts";
import { deleteRecords, mostChanged } from "../data/transaction.ts";
import { writeTable } from "../data/tables.ts";
import { Button, copyText, count, Dialog, ErrorBox, formatCount } from "../ui.tsx";
import { WriteButton } from "../write_button.tsx";

interface SelectionProps {
  rows: Rows;
  shape: Shape;
  selected: ReadonlySet<string>;
  onDone: () => void;
}

export function SelectionBar({ rows, shape, selected, onDone }: SelectionProps) {
  const [isSetting, setSetting] = useState(false);
  const n = count(selected.size, "record"),
    isFull = selected.size === mostChanged.value && selected.size < (rows.total.value ?? 0);
  const copyAs = async (write: (records: Obj[]) => string) => {
    try {
      await copyText(write(await selectedRecords(rows, selected)));
      announce("Copied");
    } catch (error) {
      toastError("Could not copy.", error);
    }
  };
  const remove = async () => {
    try {
      await deleteRecords(shape.name, selected, `${n} deleted`);
      onDone();
    } catch (error) {
      toastError("Nothing was deleted.", error);
    }
  };
  return (
    <div class="selection" role="group" aria-label="Selected records">
      <strong>
        {isFull
          ? `${formatCount(selected.size)} of ${count(rows.total.value ?? 0, "record")} selected, the limit`
          : `${n} selected`}
      </strong>
      <span class="grow" />
      <Button onClick={() => void copyAs((records) => stringify(records, 2))}>Copy as JSON</Button>
      <Button onClick={() => void copyAs((records) => csvOf(records, shape))}>Copy as CSV</Button>
      <WriteButton onClick={() => setSetting(true)}>Set a field</WriteButton>
      <WriteButton icon="trash" onClick={() => void remove()}>
        Delete
      </WriteButton>
      <Button kind="quiet" icon="close" label="Clear the selection" onClick={onDone} />
      {isSetting && (
        <SetMember
          rows={rows}
          shape={shape}
          selected={selected}
          onClose={(isDone) => {
            setSetting(false);
            if (isDone) onDone();
          }}
        />
      )}
    </div>
  );
}

interface SetMemberProps {
  rows: Rows;
  shape: Shape;
  selected: ReadonlySet<string>;
  onClose: (isDone: boolean) => void;
}

function SetMember({ rows, shape, selected, onClose }: SetMemberProps) {
  const fields = shape.fields.filter((field) => !field.readOnly && field.name !== shape.key);
  const [name, setName] = useState(fields[0]?.name ?? ""),
    [typed, setTyped] = useState<Omit<FieldInput, "field"> | null>(null); // null: nothing yet
  const [error, setError] = useState<unknown>(null);
  const field = fieldOf(shape, name);
  const [first = ""] = selected,
    before = memberOf(rows.at(rows.indexOf(first)), name); // whose type is kept
  const save = async () => {
    try {
      const value = await resolveInput({ field, ...typed! }, before ?? (typed!.text === "" ? "" : undefined));
      const text = `${name} of ${count(selected.size, "record")} is ${typedOf(value) || "empty"}`;
      const records = await selectedRecords(rows, selected);
      if (records.length < selected.size) throw new Error("Some of these records no longer exist.");
      const changes = records
        .filter((record) => !isEqual(memberOf(record, name), value))
        .map((seen) => ({ id: idOf(shape.name, seen), seen, values: new Map([[name, value]]) }));
      if (changes.length === 0) toast(text);
      else await submit(shape, changes, [], { done: text });
      onClose(true);
    } catch (e) {
      setError(e);
    }
  };
  return (
    <Dialog title="Set a field" onClose={() => onClose(false)}>
      <h2>Set a field of {count(selected.size, "record")}</h2>
      <div class="form">
        <div class="field">
          <label for="set-member">Field</label>
          <select
            id="set-member"
            value={name}
            onChange={(event) => {
              setName(event.currentTarget.value);
              setTyped(null);
            }}
          >
            {fields.map((f) => (
              <option key={f.name}>{f.name}</option>
            ))}
          </select>
        </div>
        <div class="field">
          <label for="set-value">Value</label>
          <Input
            key={name}
            id="set-value"
            field={field}
            value={typed?.text ?? ""}
            was={undefined}
            onInput={(text, picked) => setTyped({ text, picked })}
          />
        </div>
      </div>
      {error !== null && <ErrorBox error={error} title="Nothing was changed" />}
      <div class="row-of end">
        <Button onClick={() => onClose(false)}>Cancel</Button>
        <Button kind="primary" disabled={typed === null} onClick={() => void save()}>
          Save
        </Button>
      </div>
    </Dialog>
  );
}

/** Returns records as comma-separated values, with the names of the fields in the first line. */
function csvOf(records: Obj[], shape: Shape): string {
  const names = [...new Set([...shape.fields.map((f) => f.name), ...records.flatMap((r) => Object.keys(r))])];
  return writeTable([names, ...records.map((record) => names.map((name) => memberOf(record, name)))], ",") + "\r\n";
}
