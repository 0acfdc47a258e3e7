// Named snapshots of the database, and the way back to them.
import { useEffect, useState } from "preact/hooks";
import { ask, read, type Schemas } from "../data/api.ts";
import { isReadOnly } from "../data/catalog.ts";
import { onChange, onReset } from "../data/live.ts";
import { toastError } from "../messages.tsx";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { Ago, Button, count } from "../ui.tsx";
import { toastUndo } from "../data/undo.ts";
import { WriteButton } from "../write_button.tsx";

type NamedSnapshot = Schemas["NamedSnapshot"];

const describeDiffering = (n: number): string => count(n, "record") + (n === 1 ? " differs" : " differ");

const pathOf = (name: string): string => "/_/snapshots/" + encodeURIComponent(name);

export function Snapshots() {
  const [list, setList] = useState<NamedSnapshot[]>([]),
    [name, setName] = useState("");
  const [target, setTarget] = useState<string | null>(null), // to go back to
    [unwanted, setUnwanted] = useState<NamedSnapshot | null>(null); // to be deleted
  const load = () => {
    read<NamedSnapshot[]>("/_/snapshots").then(setList, () => setList([]));
  };
  useEffect(() => {
    load();
    const stops = [onChange(load), onReset(load)];
    return () => stops.forEach((stop) => stop());
  }, []);
  const run = async (what: string, action: () => Promise<unknown>) => {
    try {
      await action();
      load();
    } catch (error) {
      toastError(what, error);
    }
  };
  const keep = () => {
    let n = 1;
    while (list.some((snapshot) => snapshot.name === "snapshot-" + n)) n++;
    const chosen = name.trim() || "snapshot-" + n;
    setName("");
    void run("Could not take the snapshot.", () => ask("PUT", pathOf(chosen), { isNew: true }));
  };
  if (isReadOnly.value) return null;
  return (
    <section class="card snapshots" aria-labelledby="snapshots">
      <div class="row-of wrap">
        <h2 id="snapshots">Snapshots</h2>
        <p class="dim wide">Each keeps the database as it is now, until the server stops. Going back can be undone.</p>
        <form
          class="row-of wrap"
          onSubmit={(event) => {
            event.preventDefault();
            keep();
          }}
        >
          <input
            class="name"
            aria-label="Name of the snapshot"
            placeholder="name"
            pattern="[A-Za-z0-9._\-]+"
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <Button icon="camera" onClick={keep}>
            Take a snapshot
          </Button>
          <WriteButton onClick={() => setTarget("baseline")}>Reset</WriteButton>
        </form>
      </div>
      {list.length > 0 && (
        <ul class="feed">
          {list.map((snapshot) => (
            <li key={snapshot.name} class="line">
              <b class="clip">{snapshot.name}</b>
              <span class="dim">
                {snapshot.differing === 0 ? "as it is now" : describeDiffering(snapshot.differing)}
              </span>
              <span class="grow" />
              <Ago at={snapshot.at} />
              <WriteButton onClick={() => setTarget(snapshot.name)}>Go back</WriteButton>
              <Button
                kind="quiet"
                icon="trash"
                label={"Delete " + snapshot.name}
                onClick={() => setUnwanted(snapshot)}
              />
            </li>
          ))}
        </ul>
      )}
      {unwanted && (
        <ConfirmDialog
          title={`Delete ${unwanted.name}?`}
          verb="Delete"
          onYes={() => void run("Could not delete the snapshot.", () => ask("DELETE", pathOf(unwanted.name)))}
          onClose={() => setUnwanted(null)}
        >
          <p>
            {unwanted.differing === 0
              ? "The database still is as in this snapshot."
              : `${describeDiffering(unwanted.differing)}, and the values in the snapshot are lost.`}{" "}
            This cannot be undone.
          </p>
        </ConfirmDialog>
      )}
      {target !== null && <GoBack target={target} onClose={() => setTarget(null)} />}
    </section>
  );
}

/** Asks before many records change. */
function GoBack({ target, onClose }: { target: string; onClose: () => void }) {
  const run = async () => {
    const body = target === "baseline" ? "{}" : JSON.stringify({ to: target });
    try {
      const answer = await ask("POST", "/_/reset", { body });
      toastUndo(`Back at ${target}`, answer.revision);
    } catch (error) {
      toastError("Could not go back.", error);
    }
  };
  return (
    <ConfirmDialog
      title={target === "baseline" ? "Undo everything written through the API?" : `Go back to ${target}?`}
      verb="Go back"
      kind="primary"
      onYes={() => void run()}
      onClose={onClose}
    >
      <p>
        {target === "baseline"
          ? "The records become what they were at the start, or at the last edit of the file."
          : "All records become what they were then. This undoes edits of the file, too."}{" "}
        This can be undone.
      </p>
    </ConfirmDialog>
  );
}
