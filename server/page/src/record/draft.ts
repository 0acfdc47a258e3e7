// The draft of a record: what the server has, what a person has typed, and what
// to do when both have changed.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, get, messageOf, Refused, Unreachable } from "../data/api.ts";
import {
  difference,
  differing,
  isEqual,
  memberOf,
  pointerNames,
  pointer,
  stringify,
  withMember,
  type Json,
  type Obj,
  type Operation,
} from "../data/json.ts";
import { onChange, onReset, type Change } from "../data/live.ts";
import { announce } from "../messages.tsx";
import { isName, resolveInput, type FieldInput, type PickedRecord } from "../data/references.ts";
import { typedOf, valueOf, type Field } from "../data/schema.ts";

export interface Fault {
  pointer: string;
  detail: string;
}

/** A record as the server has it. */
export interface Loaded {
  record: Obj;
  tag: string;
}

export interface Saved {
  record: Obj;
  revision: string;
  members: number; // that were changed
}

interface Source {
  collection: string;
  id: string | null;
  isNew: boolean;
}

const flashFor = 2500; // ms that a change from elsewhere stays marked
const patchType = "application/json-patch+json";

export type Draft = ReturnType<typeof useDraft>;

export function useDraft(path: string, source: Source) {
  const [loaded, setLoaded] = useState<Loaded | null>(null),
    [error, setError] = useState<unknown>(null);
  const [value, setValue] = useState<Obj>({});
  const [typed, setTyped] = useState<ReadonlyMap<string, FieldInput>>(new Map()); // texts that are not values yet
  const [jsonError, setJSONError] = useState("");
  const [faults, setFaults] = useState<Fault[]>([]),
    [refusal, setRefusal] = useState<unknown>(null);
  const [conflict, setConflict] = useState<Loaded | null>(null);
  const [isSaving, setSaving] = useState(false),
    [isDeleted, setDeleted] = useState(false);
  const [edition, setEdition] = useState(0); // grows when what was typed is replaced
  const [flash, setFlash] = useState<string[]>([]);

  const base = loaded?.record ?? {};
  const operations = difference(base, value);
  const isDirty = operations.length > 0 || jsonError !== "" || typed.size > 0;
  const latest = { path, isDirty, isSaving, base, value, typed, jsonError };
  const current = useRef(latest);
  current.current = latest;

  const clear = () => {
    setTyped(new Map());
    setJSONError("");
    setFaults([]);
    setRefusal(null);
    setConflict(null);
  };
  const take = (next: Loaded) => {
    clear();
    setLoaded(next);
    setValue(next.record);
  };

  useEffect(() => {
    clear();
    setError(null);
    setDeleted(false);
    setValue({});
    setLoaded(source.isNew ? { record: {}, tag: "" } : null);
    if (source.isNew) return;
    const request = new AbortController();
    get(path, request.signal).then(
      (answer) => take({ record: answer.data as Obj, tag: answer.tag }),
      (e: unknown) => {
        if (!request.signal.aborted) setError(e);
      },
    );
    return () => request.abort();
  }, [path, source.isNew]);

  // A change from elsewhere is shown at once, unless something has been typed: then it becomes a merge.
  useEffect(() => {
    if (source.isNew) return;
    let timer = 0,
      isOver = false;
    const setGone = () => {
      setDeleted(true);
      setError(new Error("This record has been deleted."));
    };
    const look = async () => {
      try {
        const answer = await get(path),
          now = { record: answer.data as Obj, tag: answer.tag };
        if (isOver) return;
        setError(null);
        setDeleted(false);
        if (current.current.isSaving) {
          timer = window.setTimeout(() => void look(), flashFor); // it may be what is saved here
          return;
        }
        if (isEqual(now.record, current.current.base)) {
          setConflict(null);
          setLoaded(now);
          return;
        }
        if (current.current.isDirty) {
          setConflict(now);
          announce("This record was changed by somebody else");
          return;
        }
        announce("This record has changed");
        setFlash(differing(current.current.base, now.record));
        setTimeout(() => setFlash([]), flashFor);
        take(now);
      } catch (e) {
        if (!isOver && e instanceof Refused && e.status === 404) setGone();
      }
    };
    const isOwn = (change: Change) =>
      change.collection === source.collection && // whose change has no id if it was made or removed
      (source.id === null || change.id === undefined || change.id === source.id);
    const stopChanges = onChange((revisions) => {
      const own = revisions.flatMap((r) => r.changes ?? []).filter(isOwn);
      const isLarge = revisions.some(
        (r) => r.changes === null && Object.hasOwn(r.collections ?? {}, source.collection),
      );
      if (own.at(-1)?.op === "deleted" && !isLarge) setGone();
      else if (own.length > 0 || isLarge) void look();
    });
    const stopResets = onReset(() => {
      setRefusal((error: unknown) => (error instanceof Unreachable ? null : error));
      void look();
    });
    return () => {
      isOver = true;
      clearTimeout(timer);
      stopChanges();
      stopResets();
    };
  }, [path, source.isNew]);

  const forget = () => {
    current.current.isDirty = false;
  };

  const refuse = async (e: unknown, patch: Operation[]) => {
    setRefusal(e);
    announce(messageOf(e));
    if (!(e instanceof Refused)) return;
    setFaults(faultsOf(e, source.isNew ? null : patch));
    if (e.status !== 412) return;
    try {
      const answer = await get(path);
      setConflict({ record: answer.data as Obj, tag: answer.tag });
      setRefusal(null);
    } catch (second) {
      setRefusal(second);
    }
  };

  const canSave =
    (isDirty || source.isNew) &&
    !isSaving &&
    conflict === null &&
    !isDeleted &&
    jsonError === "" &&
    [...typed.values()].every((t) => isName(t.picked));

  return {
    loaded,
    error,
    isDeleted,
    base,
    value,
    typed,
    operations,
    faults,
    refusal,
    conflict,
    jsonError,
    flash,
    edition,
    isDirty,
    isSaving,
    canSave,
    isChanged: () => current.current.isDirty,
    forget,

    /** Takes what a person has typed into a field. */
    type: (field: Field, text: string, picked?: PickedRecord) => {
      const own = pointer(field.name),
        before = memberOf(base, field.name);
      const others = faults.filter((f) => f.pointer !== own && !f.pointer.startsWith(own + "/"));
      const rest = new Map(typed);
      rest.delete(field.name);
      try {
        if (isName(picked) && text !== typedOf(before)) rest.set(field.name, { field, text, picked });
        else setValue(withMember(value, field.name, valueOf(field, text, before, picked?.id)));
        setFaults(others);
      } catch (e) {
        rest.set(field.name, { field, text });
        setFaults([...others, { pointer: own, detail: messageOf(e) }]);
      }
      setTyped(rest);
    },

    /** Sets a field, or removes it. */
    set: (name: string, next: Json | undefined) => {
      setTyped(new Map([...typed].filter(([other]) => other !== name)));
      setFaults(faults.filter((f) => f.pointer !== pointer(name)));
      setValue(withMember(value, name, next));
    },

    /** Takes the text of the editor: a record, or the reason why it is not one. */
    setJSON: (record: Obj | null, wrong: string) => {
      setJSONError(wrong);
      if (!record) return;
      const isSame = (name: string) => isEqual(memberOf(record, name), memberOf(value, name));
      setTyped(new Map([...typed].filter(([name]) => isSame(name))));
      setValue(record);
    },

    discard: () => {
      if (loaded) take(conflict ?? loaded);
      setEdition(edition + 1);
    },

    /** Ends the conflict: the draft becomes the merged record, with what is not a value yet if it is kept. */
    merge: (merged: Obj, isKept: boolean) => {
      if (!conflict) return;
      clear();
      if (isKept) setTyped(typed);
      setLoaded(conflict);
      setValue(merged);
      setEdition(edition + 1);
    },

    /** Saves the draft, and returns null if that is refused. */
    save: async (): Promise<Saved | null> => {
      if (!canSave) return null;
      setSaving(true);
      setRefusal(null);
      let sent = value,
        patch = operations;
      try {
        for (const [name, text] of typed) {
          try {
            sent = withMember(sent, name, await resolveInput(text, memberOf(base, name)));
          } catch (e) {
            if (e instanceof Unreachable) throw e;
            setFaults((all) => [...all, { pointer: pointer(name), detail: messageOf(e) }]);
            return null;
          }
        }
        patch = difference(base, sent);
        const answer = source.isNew
          ? await ask("POST", path, { body: stringify(sent) })
          : await ask("PATCH", path, { body: stringify(patch as unknown as Json), type: patchType, tag: loaded?.tag });
        const record = answer.data as Obj;
        const saved = { record, revision: answer.revision, members: patch.length };
        const latest = current.current; // more may have been typed meanwhile
        if (latest.path !== path) return saved; // another record is shown
        forget();
        take({ record, tag: answer.tag });
        let next = record;
        for (const name of differing(value, latest.value)) next = withMember(next, name, memberOf(latest.value, name));
        setValue(next);
        setTyped(new Map([...latest.typed].filter(([name, { text }]) => typed.get(name)?.text !== text)));
        setJSONError(latest.jsonError);
        return saved;
      } catch (e) {
        await refuse(e, patch);
        return null;
      } finally {
        setSaving(false);
      }
    },
  };
}

/**
 * Returns the faults in a record. Those of a patch point into the patch: /1/value is what its
 * second operation sets.
 */
function faultsOf(error: Refused, patch: Operation[] | null): Fault[] {
  const faults: Fault[] = [];
  for (const fault of error.problem.errors ?? []) {
    if (!("pointer" in fault)) continue;
    const member = (fault as { member?: string }).member;
    const [operation = "", , ...below] = pointerNames(fault.pointer ?? "");
    const place = patch?.[Number(operation)]?.path;
    const inRecord = place === undefined ? (fault.pointer ?? "") : place + pointer(...below);
    faults.push({ pointer: member ?? inRecord, detail: fault.detail ?? "" });
  }
  return faults;
}
