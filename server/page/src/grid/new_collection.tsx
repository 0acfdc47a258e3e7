// A new collection: data that is pasted or dropped, or a name with fields and made-up records.
import { useEffect, useRef, useState } from "preact/hooks";
import { collections } from "../data/catalog.ts";
import type { Obj } from "../data/json.ts";
import { create, describe, kinds, makeRecords, readData, type NewField } from "../data/new_data.ts";
import { closeDialog, dialog } from "../dialogs.ts";
import { go, href } from "../route.ts";
import { Button, Dialog, ErrorBox } from "../ui.tsx";

export function showNewCollection(text = ""): void {
  dialog.value = (
    <Dialog title="New collection" class="wide" key={Math.random()} onClose={closeDialog}>
      <h2>New collection</h2>
      <NewCollection text={text} onCancel={closeDialog} />
    </Dialog>
  );
}

const mostMade = 4000; // records

/** Asks for data, or for a name and fields, and goes to the collection that was made. */
export function NewCollection({ text: first, onCancel }: { text: string; onCancel?: () => void }) {
  const [name, setName] = useState(""),
    [fields, setFields] = useState<NewField[]>([{ name: "", kind: "text" }]),
    [number, setNumber] = useState("10");
  const [text, setText] = useState(first),
    [data, setData] = useState<Obj | null>(null),
    [error, setError] = useState<unknown>(null);
  const isRead = useRef("");
  useEffect(() => {
    setError(null);
    setData(null);
    const key = (isRead.current = text + "\n" + name);
    if (text.trim() === "") return;
    const isOld = () => key !== isRead.current;
    readData(text, name).then(
      (read) => isOld() || setData(read),
      (e: unknown) => isOld() || setError(e),
    );
  }, [text, name]);

  const named = fields.filter((field) => field.name !== ""),
    n = /^\d{1,4}$/.test(number) && Number(number) <= mostMade ? Number(number) : -1;
  const isReady = text.trim() === "" ? name !== "" && n >= 0 : data !== null && !Object.hasOwn(data, "");
  const submit = async () => {
    try {
      const all = data ?? { [name]: named.length > 0 && n > 0 ? await makeRecords(name, named, n) : [] };
      await create(all);
      closeDialog();
      setTimeout(() => go(Object.keys(all).length === 1 ? href(Object.keys(all)) : "#/"));
    } catch (e) {
      setError(e);
    }
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) void submit();
      }}
    >
      <div class="field">
        <label for="collection-name">Name</label>
        <input
          id="collection-name"
          autofocus
          autocomplete="off"
          spellcheck={false}
          placeholder="posts"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </div>
      {text.trim() === "" && <NewFields fields={fields} number={number} onFields={setFields} onNumber={setNumber} />}
      <div class="field">
        <label for="new-data">Or paste or drop JSON or CSV</label>
        <textarea
          id="new-data"
          class="code"
          rows={text ? 8 : 3}
          spellcheck={false}
          placeholder={"title,views\nHello,10"}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </div>
      {data && <p role="status">{Object.hasOwn(data, "") ? "It needs a name." : describe(data)}</p>}
      {error !== null && <ErrorBox error={error} title="It was not created" />}
      <div class="row-of end">
        {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        <Button kind="primary" type="submit" disabled={!isReady}>
          {text.trim() === "" && named.length > 0 && n > 0 ? `Create it with ${n} records` : "Create it"}
        </Button>
      </div>
    </form>
  );
}

interface NewFieldsProps {
  fields: NewField[];
  number: string; // of records
  onFields: (fields: NewField[]) => void;
  onNumber: (number: string) => void;
}

/** The fields of the made-up records. There is always an empty one to type in. */
function NewFields({ fields, number, onFields, onNumber }: NewFieldsProps) {
  const change = (at: number, part: Partial<NewField>) => {
    const next = fields.map((field, i) => (i === at ? { ...field, ...part } : field));
    if (next.at(-1)?.name !== "") next.push({ name: "", kind: "text" });
    onFields(next);
  };
  return (
    <>
      <fieldset class="field new-fields">
        <legend>Fields</legend>
        {fields.map((field, i) => (
          <div key={i} class="row-of">
            <input
              aria-label={`Name of field ${i + 1}`}
              autocomplete="off"
              spellcheck={false}
              placeholder={i === 0 ? "title" : "another field"}
              value={field.name}
              onInput={(event) => change(i, { name: event.currentTarget.value })}
            />
            <select
              aria-label={`Kind of field ${i + 1}`}
              value={field.kind}
              onChange={(event) => {
                const kind = event.currentTarget.value;
                change(i, { kind, name: field.name || nameFor(kind) });
              }}
            >
              {[...kinds, ...collections.value.map((collection) => collection.name)].map((kind, k) => (
                <option key={kind} value={kind}>
                  {k < kinds.length ? kind : "→ " + kind}
                </option>
              ))}
            </select>
          </div>
        ))}
      </fieldset>
      {fields.length > 1 && (
        <div class="field">
          <label for="new-count">Made-up records</label>
          <input
            id="new-count"
            inputMode="numeric"
            autocomplete="off"
            value={number}
            onInput={(event) => onNumber(event.currentTarget.value)}
          />
        </div>
      )}
    </>
  );
}

/** Returns the name of a field that refers to a collection, as in postId of posts. */
function nameFor(kind: string): string {
  if ((kinds as readonly string[]).includes(kind)) return "";
  return kind.replace(/ies$/, "y").replace(/([^s])s$/, "$1") + "Id";
}
