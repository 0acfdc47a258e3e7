// The import of a file or a text: its columns and the fields that they become, what
// is wrong, by line, and then all of it in one transaction.
import { useEffect, useState } from "preact/hooks";
import { messageOf } from "../data/api.ts";
import { canWrite, idOf, readRecords, shapeFor } from "../data/catalog.ts";
import { isEqual, memberOf, type Json, type Obj } from "../data/json.ts";
import { readReferences } from "../data/references.ts";
import { fieldOf, typedOf, type Shape } from "../data/schema.ts";
import { assign, fieldFor, guessField, readSource, type Source } from "../data/sources.ts";
import { mostChanged, writeRecords, type Fault, type RecordChange } from "../data/transaction.ts";
import { closeDialog, dialog } from "../dialogs.ts";
import { Button, count, Dialog, ErrorBox, formatCount, Skeleton } from "../ui.tsx";
import { FaultTable } from "./review.tsx";
import { ScrolledTable } from "./scrolled_table.tsx";

export function showImport(collection: string, text = ""): void {
  dialog.value = <Import key={Math.random()} shape={shapeFor(collection)} text={text} />;
}

interface Plan {
  changes: RecordChange[];
  faults: Fault[];
  lines: Map<RecordChange, number>;
  same: number; // records that have all values already
}

const leftOut = ""; // instead of a field

/** Returns what an import would change. */
async function planOf(shape: Shape, source: Source, fields: ReadonlyMap<string, string>): Promise<Plan> {
  if (source.records.length > mostChanged.value) {
    const most = formatCount(mostChanged.value);
    throw new Error(
      `It has ${formatCount(source.records.length)} records. At most ${most} can be imported here; ` +
        "the command pickup import takes more.",
    );
  }
  const plan: Plan = { changes: [], faults: [], lines: new Map(), same: 0 };
  const used = source.columns.filter((column) => fields.get(column) !== leftOut),
    ofField = new Map(used.map((column) => [column, guessField(shape, fields.get(column)!, source, column)])),
    keyColumn = used.find((column) => fields.get(column) === shape.key);
  const keys = source.records
    .flatMap(({ values }) => (keyColumn === undefined ? [] : (values.get(keyColumn) ?? [])))
    .map(String);
  const known = new Map(
    (await readRecords(shape.name, [...new Set(keys)])).map((record) => [idOf(shape.name, record), record]),
  );
  const texts = source.records.flatMap(({ values }) =>
    [...ofField].flatMap(([column, field]) => {
      const text = values.get(column);
      return typeof text === "string" ? [{ field, text }] : [];
    }),
  );
  const valueIn = await readReferences(texts);
  for (const { line, values: cells } of source.records) {
    const seen = known.get(String(cells.get(keyColumn ?? "") ?? "")) ?? {},
      id = idOf(shape.name, seen),
      own: Fault[] = [];
    let record: Obj = {};
    const change = { id, seen, values: new Map<string, Json | undefined>() };
    for (const column of used) {
      const cell = cells.get(column),
        field = ofField.get(column)!;
      if (cell === undefined || (id !== "" && !canWrite(shape, field))) continue;
      try {
        // What is in an object besides stays.
        const head = field.name.split(".")[0] ?? "";
        if (id !== "" && !Object.hasOwn(record, head) && Object.hasOwn(seen, head))
          record = { ...record, [head]: seen[head]! };
        record = assign(record, field, typeof cell === "string" ? valueIn(field, cell, undefined) : cell, shape);
      } catch (error) {
        own.push({ change, field: field.name, text: typedOf(cell), detail: messageOf(error) });
      }
    }
    for (const [name, value] of Object.entries(record))
      if (!isEqual(value, memberOf(seen, name))) change.values.set(name, value);
    if (change.values.size === 0 && own.length === 0) plan.same++;
    else plan.changes.push(change);
    plan.faults.push(...own);
    plan.lines.set(change, line);
  }
  if (plan.faults.length === 0 && plan.changes.length > 0)
    plan.faults = await writeRecords(shape.name, plan.changes, "", true);
  return plan;
}

function Import({ shape, text: first }: { shape: Shape; text: string }) {
  const [text, setText] = useState(first),
    [source, setSource] = useState<Source | null>(null),
    [fields, setFields] = useState<ReadonlyMap<string, string>>(new Map());
  const [plan, setPlan] = useState<Plan | null>(null),
    [error, setError] = useState<unknown>(null);
  useEffect(() => {
    setSource(null);
    setError(null);
    if (text.trim() === "") return;
    readSource(text).then((read) => {
      setFields(new Map(read.columns.map((column) => [column, fieldFor(column, shape)])));
      setSource(read);
    }, setError);
  }, [text]);
  useEffect(() => {
    let isOld = false;
    setPlan(null);
    if (!source) return;
    setError(null);
    planOf(shape, source, fields).then(
      (made) => isOld || setPlan(made),
      (e: unknown) => isOld || setError(e),
    );
    return () => {
      isOld = true;
    };
  }, [source, fields]);

  const bad = new Set(plan?.faults.map((fault) => fault.change)),
    rest = plan?.changes.filter((change) => !bad.has(change)) ?? [];
  const save = async () => {
    try {
      const faults = await writeRecords(shape.name, rest, describe(rest));
      if (faults.length === 0) closeDialog();
      else setPlan(plan && { ...plan, changes: rest, faults });
    } catch (e) {
      setError(e);
    }
  };
  return (
    <Dialog title={"Import into " + shape.name} class="wide" onClose={closeDialog}>
      <h2>Import into {shape.name}</h2>
      <TextInput text={text} onText={setText} />
      {source && <Columns shape={shape} source={source} fields={fields} onChange={setFields} />}
      {source && plan && (
        <p role="status">
          {describe(rest) || "Nothing to import"}
          {plan.same > 0 && `, ${count(plan.same, "record")} the same already`}
        </p>
      )}
      {plan && plan.faults.length > 0 && (
        <>
          <p>{count(bad.size, "record")} cannot be stored:</p>
          <FaultTable shape={shape} faults={plan.faults} placeOf={(change) => "line " + plan.lines.get(change)} />
        </>
      )}
      {error !== null ? (
        <ErrorBox error={error} title="It cannot be imported" />
      ) : (
        source && !plan && <Skeleton count={3} />
      )}
      <div class="row-of end">
        <span class="grow" />
        <Button onClick={closeDialog}>Cancel</Button>
        <Button kind="primary" disabled={rest.length === 0} onClick={() => void save()}>
          {bad.size > 0 ? "Leave them out and import " : "Import "}
          {count(rest.length, "record")}
        </Button>
      </div>
    </Dialog>
  );
}

function describe(changes: RecordChange[]): string {
  const added = changes.filter(({ id }) => id === "").length,
    changed = changes.length - added;
  const parts = [added > 0 && count(added, "record") + " added", changed > 0 && count(changed, "record") + " changed"];
  return parts.filter(Boolean).join(", ");
}

function TextInput({ text, onText }: { text: string; onText: (text: string) => void }) {
  return (
    <div class="form">
      <div class="field">
        <label for="import-file">A file with comma-separated values or JSON</label>
        <input
          id="import-file"
          type="file"
          accept=".csv,.tsv,.txt,.json,.ndjson,.jsonl"
          onChange={(event) => void event.currentTarget.files?.[0]?.text().then(onText)}
        />
      </div>
      <div class="field">
        <label for="import-text">Or its text</label>
        <textarea
          id="import-text"
          class="code"
          rows={4}
          spellcheck={false}
          placeholder={"title,passenger\nVet visit,Jonah"}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      </div>
    </div>
  );
}

interface ColumnsProps {
  shape: Shape;
  source: Source;
  fields: ReadonlyMap<string, string>;
  onChange: (fields: ReadonlyMap<string, string>) => void;
}

/** The columns of the source, and the fields that they become. */
function Columns({ shape, source, fields, onChange }: ColumnsProps) {
  const known = [shape.key, ...shape.fields.map((field) => field.name)].filter(
    (name, i, all) => all.indexOf(name) === i,
  );
  return (
    <ScrolledTable label="Columns" names={["Column", "First values", "Field"]}>
      {source.columns.map((column) => {
        const own = known.includes(column) ? [] : [column];
        return (
          <tr key={column}>
            <td class="code">{column}</td>
            <td class="clip dim">
              {source.records
                .slice(0, 3)
                .map(({ values }) => typedOf(values.get(column)))
                .join(" · ")}
            </td>
            <td>
              <select
                aria-label={"Field of " + column}
                value={fields.get(column)}
                onChange={(event) => onChange(new Map(fields).set(column, event.currentTarget.value))}
              >
                <option value={leftOut}>leave out</option>
                {own.map((name) => (
                  <option key={name} value={name}>
                    {name} (new)
                  </option>
                ))}
                {known.map((name) => (
                  <option key={name} value={name}>
                    {name}
                    {fieldOf(shape, name).required ? " *" : ""}
                  </option>
                ))}
              </select>
            </td>
          </tr>
        );
      })}
    </ScrolledTable>
  );
}
