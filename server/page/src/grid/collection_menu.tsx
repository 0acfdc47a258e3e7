// What can be done with a collection besides its records: imported, exported, filled
// with made-up records, and its schema read.
import { useEffect, useState } from "preact/hooks";
import { ask, pathOf, problemOf, readText, Refused, send } from "../data/api.ts";
import { isReadOnly } from "../data/catalog.ts";
import { closeDialog, dialog } from "../dialogs.ts";
import { memberOf, parse, stringify, type Obj } from "../data/json.ts";
import { showMenu, type MenuItem } from "../menu.tsx";
import { toastError } from "../messages.tsx";
import { typedOf, type Shape } from "../data/schema.ts";
import { toastUndo } from "../data/undo.ts";
import { Button, Copy, count, Dialog, ErrorBox, Segments, Skeleton } from "../ui.tsx";
import { Value } from "../values.tsx";
import { showAddField } from "./add_field.tsx";
import { FindReplace } from "./find_replace.tsx";
import { showImport } from "./import.tsx";
import { reshapeItems } from "./reshape.tsx";
import type { Rows } from "./rows.ts";
import { ScrolledTable } from "./scrolled_table.tsx";

/** Shows the menu of a collection below a button. */
export function showCollectionMenu(button: HTMLElement, rows: Rows, shape: Shape): void {
  const { left, bottom } = button.getBoundingClientRect();
  const show = (name: string, make: () => preact.VNode): MenuItem => ({
    name,
    writes: name !== "Schema",
    run: () => {
      dialog.value = make();
    },
  });
  const field = shape.fields.find((own) => own.name !== shape.key && !own.readOnly)?.name ?? "";
  const groups: MenuItem[][] = [
    [
      { name: "Import…", icon: "plus", writes: true, run: () => showImport(shape.name) },
      { name: "Export as CSV", icon: "down", run: () => void download(rows, "text/csv", "csv") },
      { name: "Export as JSON", icon: "down", run: () => void download(rows, "application/json", "json") },
    ],
    [
      show("Add made-up records…", () => <Generate shape={shape} />),
      { name: "Add a field…", writes: true, run: () => showAddField(shape) },
      show("Find and replace…", () => <FindReplace rows={rows} shape={shape} field={field} />),
    ],
    [show("Schema", () => <SchemaDialog shape={shape} />)],
    reshapeItems({ collection: shape.name }, "the collection"),
  ];
  showMenu(
    shape.name,
    left,
    bottom + 4,
    groups.map((group) => group.filter((item) => !item.writes || !isReadOnly.value)),
  );
}

/** Saves the records that a table shows as a file. */
async function download(rows: Rows, type: string, ending: string): Promise<void> {
  try {
    const response = await send("GET", pathOf(rows.name) + (rows.query ? "?" + rows.query : ""), {}, { Accept: type });
    if (!response.ok) throw new Refused(problemOf(response, await response.text()), response.status);
    const address = URL.createObjectURL(await response.blob());
    const link = document.createElement("a");
    link.href = address;
    link.download = `${rows.name}.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  } catch (error) {
    toastError("Could not export them.", error);
  }
}

const schemaTexts = ["fields", "JSON", "made from the data"] as const;

/** The schema of the records, to read: the page writes none. */
function SchemaDialog({ shape }: { shape: Shape }) {
  const [part, setPart] = useState<(typeof schemaTexts)[number]>("fields"),
    [text, setText] = useState(""),
    [error, setError] = useState<unknown>(null);
  useEffect(() => {
    setText("");
    const path = part === "JSON" ? "/_/schemas/" + encodeURIComponent(shape.name) : "/_/schema.json";
    const layOut = (own: string) => setText(part === "JSON" ? stringify(parse(own), 2) : own);
    if (part !== "fields") readText(path).then(layOut, setError);
  }, [part]);
  return (
    <Dialog title={"Schema of " + shape.name} class="wide" onClose={closeDialog}>
      <h2>Schema of {shape.name}</h2>
      <Segments label="Part" options={schemaTexts} value={part} onChange={setPart} />
      {part === "made from the data" && (
        <p>All of the data follows this schema. To have writes checked against it, save it next to the file.</p>
      )}
      {error !== null && <ErrorBox error={error} />}
      {part === "fields" ? (
        <FieldTable shape={shape} />
      ) : text === "" ? (
        error === null && <Skeleton count={4} />
      ) : (
        <pre class="code rules" tabIndex={0} aria-label="Schema">
          {text}
        </pre>
      )}
      <div class="row-of end">
        {part !== "fields" && text !== "" && <Copy text={() => text}>Copy</Copy>}
        <Button onClick={closeDialog}>Close</Button>
      </div>
    </Dialog>
  );
}

function FieldTable({ shape }: { shape: Shape }) {
  return (
    <ScrolledTable label="Fields" names={["Field", "Kind", "Rules", "Description"]}>
      {shape.fields.map((field) => {
        const rules = [
          field.required && "required",
          field.readOnly && "made by the server",
          field.isNullable && "or null",
          field.collection && "of " + field.collection,
          field.choices.length > 0 && field.choices.map(typedOf).join(", "),
        ];
        return (
          <tr key={field.name}>
            <td class="code">{field.name}</td>
            <td>{field.kind}</td>
            <td>{rules.filter(Boolean).join("; ")}</td>
            <td class="dim">{field.description}</td>
          </tr>
        );
      })}
    </ScrolledTable>
  );
}

interface Generated {
  seed: number;
  records?: Record<string, Obj[]>;
}

const mostMade = 4000,
  shown = 3; // records

/** Adds records that are made up, of which it shows the first ones. */
function Generate({ shape }: { shape: Shape }) {
  const [n, setCount] = useState("10"),
    [seed, setSeed] = useState(() => Math.floor(Math.random() * 1e6));
  const [records, setRecords] = useState<Obj[] | null>(null),
    [error, setError] = useState<unknown>(null);
  const number = /^[1-9]\d{0,3}$/.test(n) && Number(n) <= mostMade ? Number(n) : 0;
  const request = (isTrial: boolean) =>
    ask("POST", "/_/generate", { body: JSON.stringify({ collections: { [shape.name]: number }, seed }), isTrial });
  useEffect(() => {
    let isOld = false;
    setError(null);
    const timer = setTimeout(() => {
      if (number === 0) return;
      request(true).then(
        ({ data }) => isOld || setRecords((data as unknown as Generated).records?.[shape.name]?.slice(0, shown) ?? []),
        (e: unknown) => isOld || setError(e),
      );
    }, 200);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [number, seed]);
  const add = async () => {
    try {
      const answer = await request(false);
      toastUndo(`${count(number, "record")} added to ${shape.name}`, answer.revision);
      closeDialog();
    } catch (e) {
      setError(e);
    }
  };
  const fields = shape.fields.filter((field) => records?.some((record) => Object.hasOwn(record, field.name)));
  return (
    <Dialog title="Add made-up records" class="wide" onClose={closeDialog}>
      <h2>Add made-up records to {shape.name}</h2>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (number > 0 && error === null) void add();
        }}
      >
        <div class="field">
          <label for="made-count">How many</label>
          <input
            id="made-count"
            inputMode="numeric"
            autofocus
            autocomplete="off"
            value={n}
            aria-describedby="made-help"
            onInput={(event) => setCount(event.currentTarget.value)}
          />
          <p class="help" id="made-help">
            At most {mostMade.toLocaleString("en")}. They fit the schema, refer to records that exist, and lead to
            nobody.
          </p>
        </div>
        {records && (
          <ScrolledTable label="The first records" names={fields.map((field) => field.name)} class="made">
            {records.map((record, i) => (
              <tr key={i}>
                {fields.map((field) => (
                  <td key={field.name} class="clip">
                    <Value value={memberOf(record, field.name)} field={field} plain />
                  </td>
                ))}
              </tr>
            ))}
          </ScrolledTable>
        )}
        {error !== null && <ErrorBox error={error} title="They cannot be made" />}
        <div class="row-of end">
          <Button onClick={() => setSeed(Math.floor(Math.random() * 1e6))}>Others</Button>
          <span class="grow" />
          <Button onClick={closeDialog}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={number === 0 || error !== null}>
            Add {number > 0 && count(number, "record")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
