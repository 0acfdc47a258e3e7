// Changes of what a collection is: the name of a field in all records or of the collection, and
// their removal. Each is one transaction, which is undone as one.
import { useState } from "preact/hooks";
import { collections, hasCollection, load, relations, status } from "../data/catalog.ts";
import { transact, type Operation } from "../data/transaction.ts";
import { toastUndo } from "../data/undo.ts";
import { closeDialog, dialog } from "../dialogs.ts";
import { go, href, route } from "../route.ts";
import { showMenu, type MenuItem } from "../menu.tsx";
import { Button, count, Dialog, ErrorBox } from "../ui.tsx";

/** What is renamed or removed: a field of a collection, or without a field all of a collection or an object. */
export interface Part {
  collection: string;
  field?: string;
}

export function showRename(part: Part): void {
  dialog.value = <Rename part={part} />;
}

export function showRemove(part: Part): void {
  dialog.value = <Remove part={part} />;
}

/** Returns the items of a menu that rename and remove a part. */
export const reshapeItems = (part: Part, what: string): MenuItem[] => [
  { name: `Rename ${what}…`, writes: true, run: () => showRename(part) },
  { name: `Remove ${what}…`, icon: "trash", writes: true, run: () => showRemove(part) },
];

/** Shows the menu of an object below a button. */
export function showReshapeMenu(button: HTMLElement, part: Part): void {
  const { right, bottom } = button.getBoundingClientRect();
  showMenu(part.collection, right, bottom + 4, [reshapeItems(part, "the object")]);
}

const nameOf = ({ collection, field }: Part): string => field ?? collection;

/** Returns what a part holds, as in "7 records". */
function extentOf({ collection, field }: Part): string {
  const found = collections.value.find((own) => own.name === collection);
  if (!found) return "the object " + collection;
  return field === undefined ? count(found.count, "record") : `all ${count(found.count, "record")} of ${collection}`;
}

/** Says what is lost if a part is removed. */
function lossOf(part: Part): string {
  if (part.field !== undefined) return `It is removed from ${extentOf(part)}.`;
  return hasCollection(part.collection) ? `It has ${extentOf(part)}.` : "The object is removed with all of its fields.";
}

/** Returns the references to a collection, as in "comments.postId". */
const referencesTo = ({ collection, field }: Part): string[] =>
  field === undefined
    ? relations.value.filter(({ to }) => to === collection).map(({ from, member }) => `${from}.${member}`)
    : [];

async function run(operation: Operation, done: string): Promise<void> {
  const answer = await transact([operation]);
  toastUndo(done, answer.revision, () => void load());
  await load();
  closeDialog();
}

/** Goes from a collection that is shown to another address. */
function leave({ collection, field }: Part, address: string): void {
  if (field === undefined && route.value.path[0] === collection) setTimeout(() => go(address));
}

function Rename({ part }: { part: Part }) {
  const old = nameOf(part),
    [name, setName] = useState(old),
    [error, setError] = useState<unknown>(null);
  const rename = async () => {
    try {
      await run({ op: "rename", ...part, to: name }, `${old} is ${name} now`);
      leave(part, href([name]));
    } catch (e) {
      setError(e);
    }
  };
  return (
    <Dialog title={"Rename " + old} onClose={closeDialog}>
      <h2>Rename {old}</h2>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (name !== "" && name !== old) void rename();
        }}
      >
        <div class="field">
          <label for="new-name">New name</label>
          <input
            id="new-name"
            autofocus
            autocomplete="off"
            spellcheck={false}
            value={name}
            aria-describedby="rename-help"
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <p class="help" id="rename-help">
            It changes {part.field === undefined && status.value?.file?.folder ? "the name of the file and " : ""}
            {extentOf(part)}. Programs have to use the new name.
          </p>
        </div>
        <Referring part={part} />
        {error !== null && <ErrorBox error={error} title="It was not renamed" />}
        <div class="row-of end">
          <Button onClick={closeDialog}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={name === "" || name === old}>
            Rename it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Remove({ part }: { part: Part }) {
  const name = nameOf(part),
    [error, setError] = useState<unknown>(null);
  const remove = async () => {
    try {
      await run({ op: part.field === undefined ? "remove" : "unset", ...part }, name + " removed");
      leave(part, "#/");
    } catch (e) {
      setError(e);
    }
  };
  return (
    <Dialog title={"Remove " + name} onClose={closeDialog}>
      <h2>Remove {name}?</h2>
      <p>
        {lossOf(part)} Undo brings it back.
      </p>
      <Referring part={part} />
      {error !== null && <ErrorBox error={error} title="It was not removed" />}
      <div class="row-of end">
        <Button autofocus onClick={closeDialog}>
          Cancel
        </Button>
        <Button kind="danger" onClick={() => void remove()}>
          Remove it
        </Button>
      </div>
    </Dialog>
  );
}

/** Names the fields that refer to a collection: they keep their values. */
function Referring({ part }: { part: Part }) {
  const names = referencesTo(part);
  return names.length > 0 ? <p role="note">{names.join(", ")} refers to it, and keeps its values.</p> : null;
}
