// The draft of a record: what the server has, what a person has typed, and what
// to do when both have changed.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, get, messageOf, Refused } from "./api.ts";
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
} from "./json.ts";
import { onChange, onReset, type Change } from "./live.ts";
import { announce } from "./messages.tsx";
import { guard } from "./route.ts";
import { valueOf, type Field } from "./schema.ts";

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
  const [typed, setTyped] = useState<Record<string, string>>({}); // texts that are not values yet
  const [jsonError, setJSONError] = useState("");
  const [faults, setFaults] = useState<Fault[]>([]),
    [refusal, setRefusal] = useState("");
  const [conflict, setConflict] = useState<Loaded | null>(null);
  const [isSaving, setSaving] = useState(false),
    [isDeleted, setDeleted] = useState(false);
  const [flash, setFlash] = useState<string[]>([]);

  const base = loaded?.record ?? {};
  const operations = difference(base, value);
  const isDirty = operations.length > 0 || jsonError !== "" || Object.keys(typed).length > 0;
  const current = useRef({ isDirty, base, value });
  current.current = { isDirty, base, value };

  const clear = () => {
    setTyped({});
    setJSONError("");
    setFaults([]);
    setRefusal("");
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
    const setGone = () => {
      setDeleted(true);
      setError(new Error("This record has been deleted."));
    };
    const look = async () => {
      try {
        const answer = await get(path),
          now = { record: answer.data as Obj, tag: answer.tag };
        setError(null);
        setDeleted(false);
        if (isEqual(now.record, current.current.base)) return;
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
        if (e instanceof Refused && e.status === 404) setGone();
      }
    };
    const isOwn = (change: Change) =>
      change.collection === source.collection && (source.id === null || change.id === source.id);
    const stopChanges = onChange((revisions) => {
      const own = revisions.flatMap((r) => r.changes ?? []).filter(isOwn);
      const isLarge = revisions.some(
        (r) => r.changes === null && Object.hasOwn(r.collections ?? {}, source.collection),
      );
      if (own.at(-1)?.op === "deleted" && !isLarge) setGone();
      else if (own.length > 0 || isLarge) void look();
    });
    const stopResets = onReset(() => void look());
    return () => {
      stopChanges();
      stopResets();
    };
  }, [path, source.isNew]);

  useEffect(() => {
    guard.ask = () => !current.current.isDirty || confirm("Leave without saving your changes?");
    const onLeave = (event: BeforeUnloadEvent) => {
      if (current.current.isDirty) event.preventDefault();
    };
    addEventListener("beforeunload", onLeave);
    return () => {
      guard.ask = null;
      removeEventListener("beforeunload", onLeave);
    };
  }, []);

  const forget = () => {
    current.current.isDirty = false;
  };

  const refuse = async (e: unknown) => {
    setRefusal(messageOf(e));
    announce(messageOf(e));
    if (!(e instanceof Refused)) return;
    setFaults(faultsOf(e, source.isNew ? null : operations));
    if (e.status !== 412) return;
    try {
      const answer = await get(path);
      setConflict({ record: answer.data as Obj, tag: answer.tag });
      setRefusal("");
    } catch (second) {
      setRefusal(messageOf(second));
    }
  };

  const canSave =
    (isDirty || source.isNew) &&
    !isSaving &&
    conflict === null &&
    jsonError === "" &&
    Object.keys(typed).length === 0;

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
    isDirty,
    isSaving,
    canSave,
    forget,

    /** Takes what a person has typed into a field. */
    type: (field: Field, text: string) => {
      const own = pointer(field.name),
        before = memberOf(base, field.name);
      const others = faults.filter((f) => f.pointer !== own && !f.pointer.startsWith(own + "/"));
      const { [field.name]: _, ...rest } = typed;
      try {
        const isCleared = text === "" && !Object.hasOwn(base, field.name);
        setValue(withMember(value, field.name, isCleared ? undefined : valueOf(field, text, before)));
        setTyped(rest);
        setFaults(others);
      } catch (e) {
        setTyped({ ...rest, [field.name]: text });
        setFaults([...others, { pointer: own, detail: messageOf(e) }]);
      }
    },

    /** Sets a member, or removes it. */
    set: (name: string, next: Json | undefined) => {
      const { [name]: _, ...rest } = typed;
      setTyped(rest);
      setFaults(faults.filter((f) => f.pointer !== pointer(name)));
      setValue(withMember(value, name, next));
    },

    /** Takes the text of the editor: a record, or the reason why it is not one. */
    setJSON: (record: Obj | null, wrong: string) => {
      setJSONError(wrong);
      if (!record) return;
      setValue(record);
      setTyped({});
    },

    discard: () => {
      if (loaded) take(loaded);
    },

    /** Ends the conflict: the draft becomes the merged record. */
    merge: (merged: Obj) => {
      if (!conflict) return;
      clear();
      setLoaded(conflict);
      setValue(merged);
    },

    /** Saves the draft, and returns null if that is refused. */
    save: async (): Promise<Saved | null> => {
      if (!canSave) return null;
      setSaving(true);
      setRefusal("");
      try {
        const answer = source.isNew
          ? await ask("POST", path, { body: stringify(value) })
          : await ask("PATCH", path, {
              body: stringify(operations as unknown as Json),
              type: patchType,
              tag: loaded?.tag,
            });
        const record = answer.data as Obj;
        const { value: latest } = current.current; // more may have been typed meanwhile
        forget();
        take({ record, tag: answer.tag });
        let next = record;
        for (const name of differing(value, latest)) next = withMember(next, name, memberOf(latest, name));
        setValue(next);
        return { record, revision: answer.revision };
      } catch (e) {
        await refuse(e);
        return null;
      } finally {
        setSaving(false);
      }
    },
  };
}

/** Returns the faults in a record. Those of a patch point into the patch: /1/value is what its second operation sets. */
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
