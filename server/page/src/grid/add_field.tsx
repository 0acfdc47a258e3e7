// A new field: all records that lack it get the same value.
import { useState } from "preact/hooks";
import { read, pathOf } from "../data/api.ts";
import { idOf } from "../data/catalog.ts";
import { closeDialog, dialog } from "../dialogs.ts";
import type { Obj } from "../data/json.ts";
import { fieldOf, valueOf, type Shape } from "../data/schema.ts";
import { mostChanged } from "../data/transaction.ts";
import { Button, count, Dialog, ErrorBox, formatCount } from "../ui.tsx";
import { submit } from "./review.tsx";

export function showAddField(shape: Shape): void {
  dialog.value = <AddField shape={shape} />;
}

function AddField({ shape }: { shape: Shape }) {
  const [name, setName] = useState(""),
    [text, setText] = useState(""),
    [error, setError] = useState<unknown>(null);
  const add = async () => {
    try {
      const value = (text === "" ? null : valueOf(fieldOf(shape, name), text, undefined)) ?? null;
      const list = await read<Obj[]>(
        `${pathOf(shape.name)}?${encodeURIComponent(name)}:exists=false&_start=0&_end=${mostChanged.value + 1}`,
      );
      if (list.length === 0) throw new Error(`All records of ${shape.name} have this field, or there are none.`);
      if (list.length > mostChanged.value) {
        throw new Error(`More than ${formatCount(mostChanged.value)} records lack it, too many to change at once.`);
      }
      const changes = list.map((seen) => ({ id: idOf(shape.name, seen), seen, values: new Map([[name, value]]) }));
      await submit(
        shape,
        changes.filter(({ id }) => id !== ""),
        [],
        {
          done: `${count(changes.length, "record")} of ${shape.name} have ${name} now`,
          onDone: closeDialog,
        },
      );
    } catch (e) {
      setError(e);
    }
  };
  return (
    <Dialog title="Add a field" onClose={closeDialog}>
      <h2>Add a field to {shape.name}</h2>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (name !== "") void add();
        }}
      >
        <div class="field">
          <label for="field-name">Name</label>
          <input
            id="field-name"
            autofocus
            autocomplete="off"
            spellcheck={false}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </div>
        <div class="field">
          <label for="field-value">Value</label>
          <input
            id="field-value"
            autocomplete="off"
            placeholder="null"
            aria-describedby="field-help"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <p class="help" id="field-help">
            All records that lack the field get it. A number, true, false or JSON is stored as that.
          </p>
        </div>
        {error !== null && <ErrorBox error={error} title="Nothing was changed" />}
        <div class="row-of end">
          <Button onClick={closeDialog}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={name === ""}>
            Add it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
