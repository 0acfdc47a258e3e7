// Find and replace in a field of the records that a table shows.
import { useEffect, useState } from "preact/hooks";
import { get, messageOf, pathOf } from "../data/api.ts";
import { canWrite, idOf, keyOf } from "../data/catalog.ts";
import { closeDialog } from "../dialogs.ts";
import { isEqual, memberOf, type Obj } from "../data/json.ts";
import { toastError } from "../messages.tsx";
import { fieldOf, isStructured, typedOf, valueOf, type Shape } from "../data/schema.ts";
import { mostChanged, type Fault, type RecordChange } from "../data/transaction.ts";
import { Button, count, Dialog, ErrorBox, formatCount } from "../ui.tsx";
import { submit } from "./review.tsx";
import type { Rows } from "./rows.ts";

interface FindReplaceProps {
  rows: Rows;
  shape: Shape;
  field: string;
}

const shown = 5; // examples

export function FindReplace({ rows, shape, field: first }: FindReplaceProps) {
  const [name, setName] = useState(first),
    [from, setFrom] = useState(""),
    [to, setTo] = useState("");
  const [isExact, setExact] = useState(false),
    [isWhole, setWhole] = useState(false);
  const [records, setRecords] = useState<Obj[] | null>(null),
    [error, setError] = useState<unknown>(null);
  const fields = shape.fields.filter((field) => canWrite(shape, field));
  useEffect(() => {
    const request = new AbortController();
    setRecords(null);
    // A field that is named twice would be asked for twice.
    const parts = [...new Set([keyOf(shape.name), name])].map((own) => "_fields=" + encodeURIComponent(own));
    get(`${pathOf(shape.name)}?${[rows.query, ...parts].filter(Boolean).join("&")}`, request.signal)
      .then((answer) => setRecords(answer.data as Obj[]))
      .catch((e: unknown) => request.signal.aborted || setError(e));
    return () => request.abort();
  }, [name]);

  const pattern = from === "" ? null : patternOf(from, isExact, isWhole);
  const found: { record: Obj; before: string; after: string }[] = [];
  for (const record of (pattern && records) ?? []) {
    const value = memberOf(record, name);
    if (value === undefined || value === null || isStructured(fieldOf(shape, name), value)) continue;
    const before = typedOf(value),
      after = before.replace(pattern!, () => to);
    if (after !== before) found.push({ record, before, after });
  }
  const isTooMany = found.length > mostChanged.value;
  const save = async () => {
    const changes: RecordChange[] = [],
      faults: Fault[] = [];
    for (const { record: seen, after } of found) {
      const change: RecordChange = { id: idOf(shape.name, seen), seen, values: new Map() };
      if (change.id === "") continue;
      try {
        const value = valueOf(fieldOf(shape, name), after, memberOf(seen, name));
        if (!isEqual(value, memberOf(seen, name))) changes.push({ ...change, values: new Map([[name, value]]) });
      } catch (e) {
        faults.push({ change, field: name, text: after, detail: messageOf(e) });
      }
    }
    try {
      closeDialog();
      await submit(shape, changes, faults);
    } catch (e) {
      toastError("Could not replace it.", e);
    }
  };
  const box = (label: string, on: boolean, set: (on: boolean) => void) => (
    <label class="check">
      <input type="checkbox" checked={on} onChange={(event) => set(event.currentTarget.checked)} />
      {label}
    </label>
  );
  return (
    <Dialog title="Find and replace" onClose={closeDialog}>
      <h2>Find and replace in {shape.name}</h2>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (found.length > 0 && !isTooMany) void save();
        }}
      >
        <div class="field">
          <label for="replace-field">Field</label>
          <select id="replace-field" value={name} onChange={(event) => setName(event.currentTarget.value)}>
            {fields.map((field) => (
              <option key={field.name}>{field.name}</option>
            ))}
          </select>
        </div>
        <div class="field">
          <label for="replace-from">Find</label>
          <input
            id="replace-from"
            autofocus
            autocomplete="off"
            value={from}
            onInput={(event) => setFrom(event.currentTarget.value)}
          />
        </div>
        <div class="field">
          <label for="replace-to">Replace with</label>
          <input id="replace-to" autocomplete="off" value={to} onInput={(event) => setTo(event.currentTarget.value)} />
        </div>
        <div class="row-of wrap">
          {box("Match case", isExact, setExact)}
          {box("Whole values only", isWhole, setWhole)}
        </div>
        <p role="status">
          {records &&
            pattern &&
            `${count(found.length, "value")} of ${count(records.length, "record")}${rows.query ? " that the table shows" : ""}`}
          {isTooMany && `. At most ${formatCount(mostChanged.value)} can be changed at once.`}
        </p>
        {found.length > 0 && (
          <ul class="replacements">
            {found.slice(0, shown).map(({ record, before, after }) => (
              <li key={idOf(shape.name, record)}>
                <del class="clip">{before}</del> <ins class="clip">{after || "empty"}</ins>
              </li>
            ))}
          </ul>
        )}
        {error !== null && <ErrorBox error={error} />}
        <div class="row-of end">
          <Button onClick={closeDialog}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={found.length === 0 || isTooMany}>
            Replace {formatCount(found.length)}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function patternOf(text: string, isExact: boolean, isWhole: boolean): RegExp {
  const literal = text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(isWhole ? `^${literal}$` : literal, isExact ? "g" : "gi");
}
