// The changes since the start, with what was there before, and their undo.
import { useMemo, useState } from "preact/hooks";
import { collections, hasCollection, hasObject, keyOf, objects } from "../data/catalog.ts";
import { edits, putBack } from "../data/findings.ts";
import { history, historyError, kept, useHistory } from "../data/history.ts";
import { Icon } from "../icons.tsx";
import { differing, isObject, memberOf, stringify, type Json, type Obj } from "../data/json.ts";
import { authorOf, type Change, type Revision } from "../data/live.ts";
import { announce, toastError } from "../messages.tsx";
import { go, href, route } from "../route.ts";
import { labelOf, typedOf } from "../data/schema.ts";
import { Snapshots } from "./snapshots.tsx";
import { Ago, Button, Skeleton, count, Empty, ErrorBox, formatCount } from "../ui.tsx";
import { undo } from "../data/undo.ts";
import { WriteButton } from "../write_button.tsx";

const maxChanges = 5; // of a revision that are listed at first
const maxText = 200; // characters of a value
const mostEdits = 16; // of the file, whose values the server keeps

export function Changes() {
  useHistory();
  const of = new URLSearchParams(route.value.query).get("of") ?? "";
  const all = history.value;
  const list = useMemo(() => (all ?? []).filter((revision) => of === "" || touches(revision, of)), [all, of]);
  const undone = new Set((all ?? []).map((revision) => revision.undoes)),
    keptEdits = new Set((all ?? []).filter((revision) => revision.by === "file").slice(0, mostEdits));
  return (
    <main class="screen" aria-labelledby="title">
      <header class="top">
        <h1 id="title">Changes</h1>
        <span class="count">
          {all !== null &&
            count(list.length, "change") + (all.length < kept ? " since the server started" : ", the latest")}
        </span>
        <span class="grow" />
        {all !== null && all.length > 0 && <Filter of={of} />}
      </header>
      <Snapshots />
      {historyError.value !== null && <ErrorBox error={historyError.value} />}
      {all === null && historyError.value === null && <Skeleton count={3} />}
      {all !== null && all.length > 0 && list.length === 0 && <Empty icon="history" title="No matches" />}
      {all?.length === 0 && (
        <Empty icon="history" title="Nothing has changed yet">
          <p>Edit the file, or write through the API. Each change is listed here with the values before and after.</p>
        </Empty>
      )}
      <ol class="changes">
        {list.map((revision) => (
          <RevisionItem
            key={revision.rev}
            revision={revision}
            isUndone={undone.has(revision.rev)}
            isKept={revision.by === "api" || keptEdits.has(revision)}
          />
        ))}
      </ol>
    </main>
  );
}

/** Selects the changes of a collection or object, or of one record. */
function Filter({ of }: { of: string }) {
  const [name = "", id = ""] = of.split(/\/(.*)/s);
  const [typed, setTyped] = useState<string | null>(null); // an id that is not complete yet
  const names = new Set([...collections.value, ...objects.value].map((item) => item.name));
  if (name) names.add(name); // it may have been deleted
  const show = (name: string, id: string) => {
    setTyped(null);
    const query = name && `of=${encodeURIComponent(name + (id && "/" + id))}`;
    go(href(["_", "changes"], query));
  };
  return (
    <div class="row-of filter">
      <label>
        <span class="offscreen">Changes of</span>
        <select value={name} onChange={(event) => show(event.currentTarget.value, "")}>
          <option value="">All records</option>
          {[...names].map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {name && !hasObject(name) && (
        <input
          id="filter"
          type="search"
          aria-label="Id of the record"
          placeholder="id of a record"
          value={typed ?? id}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onChange={(event) => show(name, event.currentTarget.value)}
        />
      )}
    </div>
  );
}

/** Whether a revision has changed a collection, or a record such as "schedules/4". */
function touches(revision: Revision, of: string): boolean {
  const [collection, id] = of.split(/\/(.*)/s);
  if (revision.changes === null)
    return collection !== undefined && Object.hasOwn(revision.collections ?? {}, collection);
  return revision.changes.some((change) => change.collection === collection && (!id || change.id === id));
}

interface RevisionItemProps {
  revision: Revision;
  isUndone: boolean;
  isKept: boolean; // so that it can be undone
}

function RevisionItem({ revision, isUndone, isKept }: RevisionItemProps) {
  const [isAll, setAll] = useState(false),
    most = isAll ? Infinity : maxChanges;
  const changes = revision.changes ?? [],
    edit = edits.value.find((edit) => edit.rev === revision.rev);
  const revert = async () => {
    try {
      await undo(revision.rev);
      announce("Undone");
    } catch (error) {
      toastError("Could not undo.", error);
    }
  };
  return (
    <li>
      <header>
        <RevisionTitle revision={revision} />
        <span class="grow" />
        {revision.undoes && <span class="pill">undo of {revision.undoes.split("-").at(-1)}</span>}
        {isUndone && <span class="pill">{revision.by === "file" ? "put back" : "undone"}</span>}
        <Author revision={revision} />
        <Ago at={revision.at} />
        {isKept && !isUndone && !edit && (
          <WriteButton kind="quiet" icon="undo" label="Undo" onClick={() => void revert()}>
            <span class="phone-no">Undo</span>
          </WriteButton>
        )}
        {edit && (
          <WriteButton icon="undo" onClick={() => void putBack(edit)}>
            Put back
          </WriteButton>
        )}
      </header>
      {edit && <p class="dim">{edit.detail}</p>}
      {changes.length === 1
        ? changes.map((change) => <Difference key="one" change={change} />)
        : changes.slice(0, most).map((change, i) => (
            <div key={i} class="change">
              <ChangeTitle change={change} />
              <Difference change={change} />
            </div>
          ))}
      {changes.length > most && (
        <Button kind="quiet" onClick={() => setAll(true)}>
          Show {formatCount(changes.length - most)} more
        </Button>
      )}
    </li>
  );
}

export function RevisionTitle({ revision }: { revision: Revision }) {
  const [only] = revision.changes ?? [];
  if (only && revision.changes?.length === 1) return <ChangeTitle change={only} />;
  const counts = new Map(Object.entries(revision.collections ?? {}));
  for (const { collection } of revision.changes ?? []) counts.set(collection, (counts.get(collection) ?? 0) + 1);
  const parts = [...counts].map(([name, n]) => `${formatCount(n)} of ${name}`);
  return <b>{parts.join(", ") || "No records"}</b>;
}

const marks = { created: ["+", "hue4"], updated: ["~", "hue2"], deleted: ["−", "hue1"] };

export function ChangeTitle({ change }: { change: Change }) {
  const op = change.op ?? "updated";
  const record = change.after ?? change.before,
    records = Array.isArray(record) ? record.length : change.records;
  const name = isObject(record)
    ? labelOf(record, keyOf(change.collection))
    : records === undefined
      ? ""
      : count(records, "record");
  const isShown = hasCollection(change.collection) || hasObject(change.collection);
  const title = `${change.collection} ${change.id ?? ""}`;
  return (
    <>
      <span class={"op-mark " + marks[op][1]} title={op}>
        <span aria-hidden="true">{marks[op][0]}</span>
        <span class="offscreen">{op}</span>
      </span>
      {op === "deleted" || !isShown ? <b>{title}</b> : <a href={href([change.collection, change.id])}>{title}</a>}
      <span class="dim clip">{name}</span>
    </>
  );
}

const authors = {
  tab: ["here", "hue0"],
  page: ["another page", "hue0"],
  api: ["API", "hue4"],
  file: ["file", "hue2"],
  elsewhere: ["elsewhere", "hue2"],
};

export function Author({ revision }: { revision: Revision }) {
  const [text, hue] = authors[authorOf(revision)];
  return (
    <>
      {revision.session && <span class="pill session">{revision.session}</span>}
      <span class={"pill " + hue}>{text}</span>
    </>
  );
}

/** What a change has changed, field by field; isWhole: also of a record that was created or deleted. */
export function Difference({ change, isWhole = false }: { change: Change; isWhole?: boolean }) {
  if (change.op !== "updated" && !isWhole) return null;
  const before = asObject(change.before),
    after = asObject(change.after);
  const names = differing(before, after);
  return (
    <dl class="diff">
      {names.map((name) => (
        <div key={name}>
          <dt class="code">{name || "value"}</dt>
          <dd>
            {change.before !== undefined && <del class="hue1">{textOf(memberOf(before, name))}</del>}
            {change.before !== undefined && change.after !== undefined && (
              <>
                <Icon name="right" size={12} />
                <span class="offscreen">becomes</span>
              </>
            )}
            {change.after !== undefined && <ins class="hue4">{textOf(memberOf(after, name))}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

const asObject = (value: Json | undefined): Obj => (isObject(value) ? value : value === undefined ? {} : { "": value });

function textOf(value: Json | undefined): string {
  if (value === undefined) return "–";
  const text = value === null ? "null" : typeof value === "object" ? stringify(value) : typedOf(value);
  return text.length > maxText ? text.slice(0, maxText) + "…" : text || "empty";
}
