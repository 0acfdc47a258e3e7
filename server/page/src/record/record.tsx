// One record: its fields as a form or as JSON, what refers to it, and its end.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, messageOf, pathOf, Refused, session } from "../data/api.ts";
import { idOf, isReadOnly, shapeFor, whyLocked, whyOff } from "../data/catalog.ts";
import { CopyRequest } from "../copy_request.tsx";
import { useDraft, type Draft } from "./draft.ts";
import { fieldsOf, Form, maxMembers } from "./form.tsx";
import { Icon } from "../icons.tsx";
import { JSONTab } from "./json_tab.tsx";
import { differing, pointerNames, stringify, type Json, type Obj } from "../data/json.ts";
import { Merge } from "./merge.tsx";
import { announce, toastError } from "../messages.tsx";
import { PanelEdge } from "../panel_edge.tsx";
import { Related } from "./related.tsx";
import { RemoveDialog } from "./remove.tsx";
import { showReshapeMenu } from "../grid/reshape.tsx";
import { go, href, leave, useUnsaved } from "../route.ts";
import { labelOf } from "../data/schema.ts";
import type { RequestText } from "../data/snippets.ts";
import { Skeleton, Button, count, ErrorBox, Faults, hasModifier, isMac } from "../ui.tsx";
import { WriteButton } from "../write_button.tsx";
import { takeKeys } from "../typing.tsx";
import { toastUndo } from "../data/undo.ts";

interface RecordPanelProps {
  collection: string;
  id: string | null; // null: a new record, or an object
  query: string;
  isObject?: boolean; // a singular resource, which fills the screen
  onSaved?: (record: Obj) => void;
  onClose: () => void;
  onStep?: (by: number) => void; // to the record below or above
}

type Tab = "form" | "json";

export function RecordPanel({ collection, id, query, isObject = false, onSaved, onClose, onStep }: RecordPanelProps) {
  const shape = shapeFor(collection);
  const isNew = id === null && !isObject;
  const path = id === null ? pathOf(collection) : pathOf(collection, id);
  const title = isNew ? `New ${shape.title.toLowerCase()}` : isObject ? collection : `${shape.title} ${id}`;
  const draft = useDraft(path, { collection, id, isNew });
  const [tab, setTab] = useState<Tab>("form"),
    [isRemoving, setRemoving] = useState(false),
    [isDuplicating, setDuplicating] = useState(false);
  const box = useRef<HTMLElement>(null);
  const isLoaded = draft.loaded !== null;

  useEffect(() => {
    if (!isLoaded || box.current?.contains(document.activeElement)) return;
    const first = isNew ? ".field :is(input, select, textarea)" : ".titles > :first-child";
    takeKeys(box.current?.querySelector<HTMLElement>(first) ?? box.current);
  }, [isLoaded, path]);

  const store = async (isLeaving: boolean): Promise<boolean> => {
    if (isReadOnly.value) return false;
    if (whyOff.value) {
      toastError("Could not save.", new Error(whyOff.value));
      return false;
    }
    const saved = await draft.save();
    if (!saved) {
      requestAnimationFrame(() => box.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
      return false;
    }
    onSaved?.(saved.record);
    keepFocus(box.current);
    const newID = idOf(collection, saved.record);
    const text = isNew
      ? `${shape.title} ${newID} created`
      : `${count(saved.members, "field")} of ${collection} ${id ?? ""} saved`;
    toastUndo(text, saved.revision);
    if (isNew && !isLeaving) go(href([collection, newID], query));
    return true;
  };
  const saving = useRef<Promise<boolean> | null>(null);
  const save = (isLeaving = false): Promise<boolean> =>
    (saving.current ??= store(isLeaving).finally(() => {
      saving.current = null;
    }));
  useUnsaved({ name: title, isChanged: draft.isChanged, save: () => save(true) });
  const merge = (merged: Obj, isKept: boolean) => {
    draft.merge(merged, isKept);
    keepFocus(box.current);
  };
  const discard = () => {
    draft.discard();
    keepFocus(box.current);
  };
  const close = () => {
    leave(() => {
      draft.forget();
      onClose();
    });
  };
  const onKey = (event: KeyboardEvent) => {
    if (hasModifier(event) && (event.key.toLowerCase() === "s" || event.key === "Enter")) void save();
    else if (event.key === "Escape" && !isObject) close();
    else if (event.altKey && event.key === "ArrowDown" && onStep) onStep(1);
    else if (event.altKey && event.key === "ArrowUp" && onStep) onStep(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const duplicate = () => {
    setDuplicating(true);
    const copy = Object.fromEntries(Object.entries(draft.base).filter(([name]) => name !== shape.key));
    void create(collection, copy, query).finally(() => setDuplicating(false));
  };

  const isLocked = isReadOnly.value;
  return (
    <section
      ref={box}
      class={"panel" + (isObject ? " single" : "")}
      role={isObject ? "region" : "dialog"}
      aria-label={title}
      tabIndex={-1}
      onKeyDown={onKey}
    >
      {!isObject && <PanelEdge />}
      <div class="panel-head">
        <Titles
          title={title}
          isObject={isObject}
          isDirty={draft.isDirty}
          name={id === null ? "" : labelOf(draft.base, shape.key) || "\u00a0"} // its line is there from the start
        />
        {onStep && id !== null && (
          <>
            <Button kind="quiet" icon="up" label="Record above (Alt ↑)" onClick={() => onStep(-1)} />
            <Button kind="quiet" icon="down" label="Record below (Alt ↓)" onClick={() => onStep(1)} />
          </>
        )}
        {!isObject && <Button kind="quiet" icon="close" label="Close (Esc)" onClick={close} />}
        {isObject && !isLocked && (
          <Button
            kind="quiet"
            icon="dots"
            label="More"
            aria-haspopup="menu"
            onClick={({ currentTarget }) => showReshapeMenu(currentTarget, { collection })}
          />
        )}
      </div>
      <Tabs tab={tab} canChange={draft.jsonError === ""} onChange={setTab}>
        <CopyRequest from={1} to={3} request={() => requestOf(draft, path, isNew)} />
      </Tabs>
      <div class="panel-body" role="tabpanel" id="record" aria-labelledby={"tab-" + tab} tabIndex={-1}>
        {draft.error !== null && <LoadError draft={draft} collection={collection} query={query} />}
        {draft.error !== null && !(draft.isDeleted && draft.isDirty) ? null : !isLoaded ? (
          <Skeleton count={5} />
        ) : (
          <>
            {draft.conflict && (
              <Merge
                key={draft.conflict.tag}
                base={draft.base}
                mine={draft.value}
                theirs={draft.conflict.record}
                shape={shape}
                canMerge={draft.jsonError === ""}
                onMerge={merge}
              />
            )}
            {draft.refusal !== null && (
              <Refusal
                draft={draft}
                inputs={(tab === "json" ? [] : fieldsOf(draft, shape, isNew)).slice(0, maxMembers).map((f) => f.name)}
              />
            )}
            {tab === "json" ? (
              <JSONTab draft={draft} label={title + " as JSON"} isReadOnly={isLocked} />
            ) : (
              <Form draft={draft} path={path} shape={shape} isNew={isNew} isLocked={isLocked} />
            )}
            {id !== null && tab === "form" && <Related collection={collection} id={id} />}
          </>
        )}
      </div>
      {isLoaded && draft.error === null && (
        <div class="panel-foot">
          {id !== null && !isLocked && (
            <>
              <WriteButton kind="quiet" icon="trash" label="Delete" class="delete" onClick={() => setRemoving(true)} />
              <WriteButton
                kind="quiet"
                icon="copy"
                label="Duplicate"
                disabled={draft.isDirty || isDuplicating}
                onClick={duplicate}
              />
            </>
          )}
          {!isNew && (
            <a
              class="button quiet square"
              href={href(["_", "changes"], `of=${encodeURIComponent(collection + (id === null ? "" : "/" + id))}`)}
              title="Changes to this record"
            >
              <Icon name="history" />
              <span class="offscreen">Changes to this record</span>
            </a>
          )}
          <span class="grow dim">{footText(draft, isNew)}</span>
          {draft.isDirty && !isNew && <Button onClick={discard}>Discard</Button>}
          <WriteButton kind="primary" disabled={!draft.canSave} onClick={() => void save()}>
            {draft.isSaving ? "Saving…" : isNew ? "Create" : "Save"}
            <kbd>{isMac ? "⌘" : "Ctrl"} S</kbd>
          </WriteButton>
        </div>
      )}
      {isRemoving && draft.loaded && (
        <RemoveDialog
          collection={collection}
          id={id!}
          tag={draft.loaded.tag}
          onClose={(isGone) => {
            setRemoving(false);
            if (!isGone) return;
            draft.forget();
            onClose();
          }}
        />
      )}
    </section>
  );
}

/** Gives the panel the focus if the button that had it is gone or disabled now. */
function keepFocus(panel: HTMLElement | null): void {
  requestAnimationFrame(() => {
    const active = document.activeElement;
    if (active === document.body || active?.matches(":disabled")) panel?.focus({ preventScroll: true });
  });
}

/** Creates a record and opens it. */
async function create(collection: string, record: Obj, query: string): Promise<void> {
  try {
    const answer = await ask("POST", pathOf(collection), { body: stringify(record) });
    const id = idOf(collection, answer.data as Obj);
    toastUndo(`${collection} ${id} created`, answer.revision);
    go(href([collection, id], query));
  } catch (error) {
    toastError("Could not create it.", error);
  }
}

interface TitlesProps {
  title: string;
  name: string;
  isObject: boolean;
  isDirty: boolean;
}

function Titles({ title, name, isObject, isDirty }: TitlesProps) {
  const Heading = isObject ? "h1" : "h2";
  return (
    <div class="titles">
      <Heading tabIndex={-1} id={isObject ? "title" : undefined}>
        {title}
        {isDirty && (
          <span class="dirty" title="Not saved">
            <span class="offscreen">not saved</span>
          </span>
        )}
      </Heading>
      {name && <p class="dim clip">{name}</p>}
    </div>
  );
}

interface TabsProps {
  tab: Tab;
  canChange: boolean;
  onChange: (tab: Tab) => void;
  children: ComponentChildren;
}

function Tabs({ tab, canChange, onChange, children }: TabsProps) {
  const select = (next: Tab) => {
    if (canChange) onChange(next);
    else announce("Correct the JSON first");
  };
  return (
    <div class="tabs">
      <div
        role="tablist"
        aria-label="View of the record"
        onKeyDown={(event) => {
          if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
          const next = tab === "form" ? "json" : "form";
          select(next);
          requestAnimationFrame(() => document.getElementById("tab-" + next)?.focus());
        }}
      >
        {(["form", "json"] as const).map((t) => (
          <button
            key={t}
            type="button"
            role="tab"
            id={"tab-" + t}
            aria-selected={tab === t}
            aria-controls="record"
            tabIndex={tab === t ? 0 : -1}
            onClick={() => select(t)}
          >
            {t === "form" ? "Form" : "JSON"}
          </button>
        ))}
      </div>
      <span class="grow" />
      {children}
    </div>
  );
}

/** Returns the request that Save would send, or the one that reads the record. */
function requestOf(draft: Draft, path: string, isNew: boolean): RequestText {
  const target = { path, session: session.value };
  if (isNew) return { method: "POST", ...target, body: stringify(draft.value, 2) };
  if (!draft.isDirty) return { method: "GET", ...target };
  const body = stringify(draft.operations as unknown as Json, 2);
  return { method: "PATCH", ...target, body, type: "application/json-patch+json", tag: draft.loaded?.tag };
}

function footText(draft: Draft, isNew: boolean): string {
  if (whyLocked.value) return whyLocked.value;
  if (draft.conflict) return "Merge first";
  if (draft.refusal !== null) return "Not saved";
  if (isNew) return "";
  const names = new Set([...differing(draft.base, draft.value), ...draft.typed.keys()]);
  return draft.isDirty ? count(names.size, "field") + " changed" : "Saved";
}

/** Why the record is not shown. One that was deleted can be made again of what was typed. */
function LoadError({ draft, collection, query }: { draft: Draft; collection: string; query: string }) {
  const isGone = draft.isDeleted && Object.keys(draft.value).length > 0;
  const again = async () => {
    const { value } = draft;
    draft.forget();
    await create(collection, value, query);
  };
  return (
    <>
      <ErrorBox
        error={draft.error}
        title={draft.error instanceof Refused ? draft.error.problem.title : "Could not load this"}
      />
      {isGone && (
        <div class="row-of">
          <WriteButton
            icon="plus"
            disabled={draft.typed.size > 0 || draft.jsonError !== ""}
            onClick={() => void again()}
          >
            Create it again
          </WriteButton>
        </div>
      )}
    </>
  );
}

/** Why Save was refused, with the faults that no input shows. */
function Refusal({ draft, inputs }: { draft: Draft; inputs: string[] }) {
  const faults = draft.faults.filter((fault) => !inputs.includes(pointerNames(fault.pointer)[0] ?? ""));
  return (
    <div class="wrong" role="alert">
      <Icon name="alert" size={18} />
      <div>
        <strong>Not saved</strong>
        <p>{messageOf(draft.refusal)}</p>
        <Faults list={faults.map((fault) => ({ place: fault.pointer, detail: fault.detail }))} />
      </div>
    </div>
  );
}
