// Changes that break rules: what is wrong with each, before anything is written, and
// the choice to leave those out.
import { useState } from "preact/hooks";
import { nameOf } from "../data/catalog.ts";
import { memberOf } from "../data/json.ts";
import { fieldOf, type Shape } from "../data/schema.ts";
import { writeRecords, type Fault, type RecordChange } from "../data/transaction.ts";
import { closeDialog, dialog } from "../dialogs.ts";
import { Button, count, Dialog, ErrorBox, formatCount, withoutName } from "../ui.tsx";
import { ScrolledTable } from "./scrolled_table.tsx";
import { Value } from "../values.tsx";

interface SubmitOptions {
  done?: string; // what the message says
  onDone?: (written: RecordChange[]) => void;
}

/** Writes changes. If some break rules, or have faults already, nothing is written before somebody has seen them. */
export async function submit(
  shape: Shape,
  changes: RecordChange[],
  faults: Fault[],
  options: SubmitOptions = {},
): Promise<void> {
  const found = faults.length > 0 ? faults : await write(shape, changes, options);
  if (found.length > 0) dialog.value = <Review shape={shape} changes={changes} faults={found} options={options} />;
}

async function write(shape: Shape, changes: RecordChange[], { done, onDone }: SubmitOptions): Promise<Fault[]> {
  const faults = await writeRecords(shape.name, changes, done ?? describe(changes));
  if (faults.length === 0) onDone?.(changes);
  return faults;
}

function describe(changes: RecordChange[]): string {
  const old = changes.filter(({ id }) => id !== ""),
    values = old.reduce((sum, { values }) => sum + values.size, 0),
    added = changes.length - old.length;
  const parts = [];
  if (old.length > 0) parts.push(`${count(values, "value")} of ${count(old.length, "record")} changed`);
  if (added > 0) parts.push(`${count(added, "record")} added`);
  return parts.join(", ");
}

/** Returns the changes without what has faults: a value, or a record if another of its values is in the way. */
function without(changes: RecordChange[], faults: Fault[]): RecordChange[] {
  return changes.flatMap((change) => {
    const own = faults.filter((fault) => fault.change === change);
    if (own.length === 0) return [change];
    const stored = own.filter(({ text }) => text === undefined).map(({ field }) => field);
    if (change.id === "" || stored.some((name) => !change.values.has(name))) return [];
    const values = new Map([...change.values].filter(([name]) => !stored.includes(name)));
    return values.size > 0 ? [{ ...change, values }] : [];
  });
}

const shown = 50; // faults

interface ReviewProps {
  shape: Shape;
  changes: RecordChange[];
  faults: Fault[];
  options: SubmitOptions;
}

function Review({ shape, changes: all, faults: first, options }: ReviewProps) {
  const [[changes, faults], setState] = useState([all, first]);
  const [error, setError] = useState<unknown>(null);
  const rest = without(changes, faults);
  const save = async () => {
    try {
      const found = await write(shape, rest, options);
      if (found.length === 0) closeDialog();
      else setState([rest, found]);
    } catch (e) {
      setError(e);
    }
  };
  return (
    <Dialog title="Nothing has been written yet" class="wide" onClose={closeDialog}>
      <h2>Nothing has been written yet</h2>
      <p>
        {count(faults.length, "value")} of {count(changes.length, "record")} cannot be stored:
      </p>
      <FaultTable shape={shape} faults={faults} />
      {error !== null && <ErrorBox error={error} />}
      <div class="row-of end">
        <Button onClick={closeDialog}>Cancel</Button>
        <Button kind="primary" disabled={rest.length === 0} onClick={() => void save()}>
          Leave them out and write {count(rest.length, "record")}
        </Button>
      </div>
    </Dialog>
  );
}

interface FaultTableProps {
  shape: Shape;
  faults: Fault[];
  placeOf?: (change: RecordChange) => string; // of a new record
}

/** A line for each fault: the record, the value that is there, the new one, and what is wrong with it. */
export function FaultTable({ shape, faults, placeOf = () => "new" }: FaultTableProps) {
  const more = faults.length > shown && (
    <p class="dim more">{formatCount(faults.length - shown)} more are not shown.</p>
  );
  return (
    <ScrolledTable
      label="What cannot be stored"
      names={["Record", "Field", "Now", "New", "Why not"]}
      class="faults"
      after={more}
    >
      {faults.slice(0, shown).map(({ change, field: name, text, detail }, i) => {
        const field = fieldOf(shape, name),
          isNew = change.id === "";
        return (
          <tr key={i}>
            <td class="clip">{isNew ? placeOf(change) : nameOf(shape.name, change.seen)}</td>
            <td class="code">{name}</td>
            <td class="clip">{!isNew && <Value value={memberOf(change.seen, name)} field={field} plain />}</td>
            <td class="clip">
              {text ?? (change.values.has(name) && <Value value={change.values.get(name)} field={field} plain />)}
            </td>
            <td class="wrong-text">{withoutName(detail, "/" + name)}</td>
          </tr>
        );
      })}
    </ScrolledTable>
  );
}

/** Asks what becomes of rows that are pasted after the last record. */
export function askForRows(added: number, there: number): Promise<"add" | "leave" | "cancel"> {
  return new Promise((answer) => {
    const close = (choice: "add" | "leave" | "cancel") => {
      closeDialog();
      answer(choice);
    };
    dialog.value = (
      <Dialog title="More rows than records" onClose={() => close("cancel")}>
        <h2>More rows than records</h2>
        <p>{count(added, "row")} would come after the last record.</p>
        <div class="row-of end wrap">
          <Button onClick={() => close("cancel")}>Cancel</Button>
          {there > 0 && <Button onClick={() => close("leave")}>Leave them out</Button>}
          <Button kind="primary" onClick={() => close("add")}>
            Add {count(added, "record")}
          </Button>
        </div>
      </Dialog>
    );
  });
}
