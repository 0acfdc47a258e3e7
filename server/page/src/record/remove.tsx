// Deleting a record, with what the rules do about those that refer to it.
import { useEffect, useState } from "preact/hooks";
import { ask, pathOf, reasonOf } from "../data/api.ts";
import { shapeFor } from "../data/catalog.ts";
import { Icon } from "../icons.tsx";
import { referringTo, type Referring } from "./related.tsx";
import { Button, Dialog, formatCount } from "../ui.tsx";
import { toastUndo } from "../data/undo.ts";

interface RemoveDialogProps {
  collection: string;
  id: string;
  tag: string;
  onClose: (isGone: boolean) => void;
}

export function RemoveDialog({ collection, id, tag, onClose }: RemoveDialogProps) {
  const [referring, setReferring] = useState<Referring[] | null>(null);
  const [error, setError] = useState(""),
    [withThem, setWithThem] = useState(false);
  const look = () => {
    setError("");
    referringTo(collection, id, 1).then(
      (list) => setReferring(list.filter((group) => group.total > 0)),
      (e: unknown) => setError("Could not find out what refers to it. " + reasonOf(e)),
    );
  };
  useEffect(look, [collection, id]);
  const remove = async () => {
    const names = [...new Set((referring ?? []).map((group) => group.collection))];
    const query = withThem ? "?" + names.map((name) => "_dependent=" + encodeURIComponent(name)).join("&") : "";
    try {
      const answer = await ask("DELETE", pathOf(collection, id) + query, { tag });
      toastUndo(`${collection} ${id} deleted`, answer.revision);
      onClose(true);
    } catch (e) {
      setError(reasonOf(e));
    }
  };
  return (
    <Dialog title={`Delete ${collection} ${id}`} onClose={() => onClose(false)}>
      <h2>
        Delete {shapeFor(collection).title.toLowerCase()} {id}?
      </h2>
      {referring === null && error ? (
        <Button onClick={look}>Try again</Button>
      ) : referring === null ? (
        <p class="dim">Looking for records that refer to it…</p>
      ) : referring.length === 0 ? (
        <p>Nothing refers to it.</p>
      ) : (
        <>
          <ul class="plain-list">
            {referring.map((group) => (
              <li key={group.collection + "/" + group.member}>{effectOf(group, withThem)}</li>
            ))}
          </ul>
          <label class="check">
            <input type="checkbox" checked={withThem} onChange={(event) => setWithThem(event.currentTarget.checked)} />
            Delete these, too
          </label>
        </>
      )}
      {error && (
        <p class="error" role="alert">
          <Icon name="alert" size={13} />
          {error}
        </p>
      )}
      <div class="row-of end">
        <Button onClick={() => onClose(false)}>Cancel</Button>
        <Button kind="danger" disabled={referring === null} onClick={() => void remove()}>
          Delete
        </Button>
      </div>
    </Dialog>
  );
}

/** Returns what happens to records that refer to the one that is deleted. */
function effectOf(group: Referring, withThem: boolean): string {
  const n = `${formatCount(group.total)} of ${group.collection}`;
  const refer = `${n} ${group.total === 1 ? "refers" : "refer"} to it by ${group.member}`;
  if (withThem) return `${refer} and will be deleted, too.`;
  switch (group.onDelete) {
    case "restrict":
      return `${refer}. The schema does not allow it to be deleted while they do.`;
    case "cascade":
      return `${refer}. The schema deletes them with it.`;
    case "set-null":
      return `${refer}. The schema sets their ${group.member} to null.`;
  }
  return `${refer} and will refer to nothing.`;
}
