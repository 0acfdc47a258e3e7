// The changes of a session, with what was there before: a person commits or discards
// them, and decides where the file has changed meanwhile.
import { useEffect, useState } from "preact/hooks";
import { ask, enterSession, pathOf, read, Refused, session } from "../data/api.ts";
import { isReadOnly, shapeFor } from "../data/catalog.ts";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { difference, isObject, stringify, type Json, type Obj } from "../data/json.ts";
import type { Change } from "../data/live.ts";
import { toastError } from "../messages.tsx";
import { Merge } from "../record/merge.tsx";
import { loadSessions, sessions } from "../data/sessions.ts";
import { transact } from "../data/transaction.ts";
import { ChangeTitle, Difference } from "./changes.tsx";
import { Button, count, Empty, ErrorBox, formatCount, Skeleton } from "../ui.tsx";
import { toastUndo } from "../data/undo.ts";
import { WriteButton } from "../write_button.tsx";

export const sessionPath = (name: string): string => "/_/sessions/" + encodeURIComponent(name);

const shown = 200; // changes
const patchType = "application/json-patch+json";

/** Returns the changes of a session, which are read again when it changes. */
function useChanges(name: string): [changes: Change[] | null, error: unknown, reload: () => void] {
  const [changes, setChanges] = useState<Change[] | null>(null),
    [error, setError] = useState<unknown>(null),
    [reloads, setReloads] = useState(0);
  const now = sessions.value?.find((item) => item.name === name);
  useEffect(() => {
    read<Change[]>(sessionPath(name) + "/changes").then((list) => {
      setChanges(list);
      setError(null);
    }, setError);
  }, [name, now?.rev, now?.changes, reloads]);
  return [changes, error, () => setReloads((n) => n + 1)];
}

export function Review({ name }: { name: string }) {
  const [changes, error, reload] = useChanges(name);
  const [refusal, setRefusal] = useState<unknown>(null),
    [conflicts, setConflicts] = useState<{ collection: string; id?: string }[]>([]),
    [isDiscarding, setDiscarding] = useState(false);
  const n = changes?.length ?? 0;
  const run = async (what: string, action: () => Promise<unknown>) => {
    setRefusal(null);
    setConflicts([]);
    try {
      await action();
    } catch (e) {
      if (what === "commit" && e instanceof Refused) {
        setRefusal(e);
        setConflicts(e.status === 409 ? (e.problem.conflicts ?? []) : []);
      } else toastError(`Could not ${what} it.`, e);
    }
    void loadSessions();
    reload();
  };
  const commit = () =>
    run("commit", async () => {
      const { revision } = await ask("POST", sessionPath(name) + "/commit");
      toastUndo(`The changes of ${name} were written to the file`, revision, undefined, "");
    });
  const discard = () =>
    run("discard", async () => {
      const { revision } = await ask("POST", sessionPath(name) + "/reset");
      toastUndo(`The changes of ${name} were discarded`, revision, reload, name);
    });
  const records = conflicts.filter(({ id }) => id !== undefined);
  return (
    <main class="screen" aria-labelledby="title">
      <header class="top">
        <h1 id="title">{name}</h1>
        <span class="count" aria-live="polite">
          {changes && count(n, "change")}
        </span>
        <span class="grow" />
        {name !== session.value && <Button onClick={() => enterSession(name)}>Enter</Button>}
        {!isReadOnly.value && n > 0 && (
          <>
            <Button onClick={() => setDiscarding(true)}>Discard</Button>
            <WriteButton kind="primary" onClick={() => void commit()}>
              Commit
            </WriteButton>
          </>
        )}
      </header>
      {error !== null && <ErrorBox error={error} />}
      {refusal !== null && records.length < Math.max(1, conflicts.length) && (
        <ErrorBox error={refusal} title="Not committed" />
      )}
      {records.length > 0 && <h2 class="offscreen">Conflicts</h2>}
      {records.map(({ collection, id = "" }) => (
        <Conflict
          key={collection + "/" + id}
          name={name}
          collection={collection}
          id={id}
          change={changes?.find((change) => change.collection === collection && change.id === id)}
          onDone={() => {
            setConflicts(conflicts.filter((c) => c.collection !== collection || c.id !== id));
            setRefusal(null);
            reload();
          }}
        />
      ))}
      {changes === null && error === null && <Skeleton count={3} />}
      {changes !== null && n === 0 && (
        <Empty icon="layers" title="No changes">
          <p>What is written in the session appears here, with the values before and after.</p>
        </Empty>
      )}
      <ol class="changes">
        {changes?.slice(0, shown).map((change, i) => (
          <li key={change.collection + "/" + (change.id ?? i)}>
            <header>
              <ChangeTitle change={change} />
            </header>
            <Difference change={change} isWhole />
          </li>
        ))}
      </ol>
      {n > shown && <p class="dim">and {formatCount(n - shown)} more</p>}
      {isDiscarding && (
        <ConfirmDialog
          title={`Discard ${count(n, "change")} of ${name}?`}
          verb="Discard"
          onYes={() => void discard()}
          onClose={() => setDiscarding(false)}
        >
          <p>The session becomes what the file was when it began. The file stays as it is.</p>
        </ConfirmDialog>
      )}
    </main>
  );
}

interface ConflictProps {
  name: string; // of the session
  collection: string;
  id: string;
  change: Change | undefined;
  onDone: () => void;
}

/** A record as one of the two has it, null if it has none. */
interface Version {
  record: Obj | null;
  tag: string;
}

async function readVersion(path: string, session: string): Promise<Version> {
  try {
    const { data, tag } = await ask("GET", path, { session });
    return { record: data as Obj, tag };
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return { record: null, tag: "" };
    throw error;
  }
}

/**
 * A record that the session and the file have changed. What is decided is written to
 * the session and then to the file, each only if it is as it was shown. So the commit
 * agrees; and if the second fails, the file is as it was and the question stays.
 */
function Conflict({ name, collection, id, change, onDone }: ConflictProps) {
  const [versions, setVersions] = useState<[mine: Version, theirs: Version] | null>(null),
    [reads, setReads] = useState(0);
  const path = pathOf(collection, id);
  useEffect(() => {
    Promise.all([readVersion(path, name), readVersion(path, "")]).then(setVersions, (error: unknown) =>
      toastError("Could not read it.", error),
    );
  }, [path, reads]);
  if (!versions || !change) return null;
  const [{ record: mine, tag: ownTag }, theirs] = versions;
  const patch = (from: Obj, to: Obj, where: { session: string; tag: string }) =>
    isSame(from, to)
      ? Promise.resolve(null)
      : ask("PATCH", path, { body: stringify(difference(from, to) as unknown as Json), type: patchType, ...where });
  const decide = async (write: () => Promise<unknown>) => {
    try {
      await write();
      onDone();
    } catch (error) {
      toastError(error instanceof Refused ? "The file was not changed." : "Not merged.", error);
      setReads((n) => n + 1);
    }
  };
  const title = `${collection} ${id} has changed in the file, too`;
  if (mine && theirs.record) {
    const { record, tag } = theirs;
    const merge = (merged: Obj) =>
      decide(async () => {
        await patch(mine, merged, { session: name, tag: ownTag });
        const written = await patch(record, merged, { session: "", tag });
        if (written) toastUndo(`${collection} ${id} was merged into the file`, written.revision, undefined, "");
      });
    const texts = { title, mine: name, theirs: "file", merge: "Merge into the file", discard: "Keep the file's" };
    const base = isObject(change.before as Json) ? (change.before as Obj) : {};
    return (
      <Merge
        key={reads}
        base={base}
        mine={mine}
        theirs={record}
        shape={shapeFor(collection)}
        canMerge
        texts={texts}
        onMerge={(merged) => void merge(merged)}
      />
    );
  }
  // One of them has deleted it. The session takes over what the file has, or the file is changed.
  const restore = async () => {
    await transact([{ op: "create", collection, record: theirs.record! }], { session: name });
  };
  return (
    <div class="merge" role="alert">
      <h3>{title}</h3>
      <p>{theirs.record ? `${name} has deleted it.` : "The file no longer has it."}</p>
      <div class="row-of">
        <Button
          onClick={() =>
            void decide(theirs.record ? restore : () => ask("DELETE", path, { session: name, tag: ownTag }))
          }
        >
          Keep the file's
        </Button>
        {theirs.record && (
          <Button onClick={() => void decide(() => ask("DELETE", path, { session: "", tag: theirs.tag }))}>
            Delete it in the file
          </Button>
        )}
      </div>
    </div>
  );
}

const isSame = (a: Obj, b: Obj): boolean => difference(a, b).length === 0;

/** The changes of a session in a few lines. */
export function SessionChanges({ name }: { name: string }) {
  const [changes, error] = useChanges(name);
  if (error !== null) return <ErrorBox error={error} />;
  if (changes === null) return <Skeleton count={1} />;
  if (changes.length === 0) return <p class="dim">No changes.</p>;
  const few = 10;
  return (
    <ul class="feed">
      {changes.slice(0, few).map((change, i) => (
        <li key={i} class="line">
          <ChangeTitle change={change} />
        </li>
      ))}
      {changes.length > few && <li class="dim">and {formatCount(changes.length - few)} more</li>}
    </ul>
  );
}
