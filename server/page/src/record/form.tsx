// A record as a form: an input for each field.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Draft, Fault } from "./draft.ts";
import { CopyRequest } from "../copy_request.tsx";
import { Icon } from "../icons.tsx";
import { Input } from "./inputs.tsx";
import { areObjects } from "./objects_input.tsx";
import { pathOf, session } from "../data/api.ts";
import { labelFor, relations } from "../data/catalog.ts";
import { isEqual, isNumber, isObject, memberOf, pointer, type Json } from "../data/json.ts";
import { href } from "../route.ts";
import { fieldOf, typedOf, type Field, type Shape } from "../data/schema.ts";
import { urlOf, type RequestText } from "../data/snippets.ts";
import { Button, withoutName } from "../ui.tsx";
import { isWeb, localTime, Value } from "../values.tsx";

interface FormProps {
  draft: Draft;
  path: string; // of the record
  shape: Shape;
  isNew: boolean;
  isLocked: boolean;
}

export const maxMembers = 300; // inputs; a record with more is edited as JSON
const step = 40; // inputs that are made at once

/** Returns how many of some inputs are shown: the first ones at once, the others in steps between which keys are handled. */
function useSteps(all: number): number {
  const [shown, setShown] = useState(all > step ? step : Infinity);
  useEffect(() => {
    if (shown >= all) return;
    const timer = setTimeout(() => setShown(shown + step < all ? shown + step : Infinity));
    return () => clearTimeout(timer);
  }, [shown, all]);
  return shown;
}

/** Returns the fields that a form has inputs for. added are names that a person has added. */
export function fieldsOf(draft: Draft, shape: Shape, isNew: boolean, added: string[] = []): Field[] {
  const own = new Set([...Object.keys(draft.value), ...Object.keys(draft.base), ...added]),
    names = new Set([...shape.fields.map((field) => field.name), ...own]);
  const fields = [...names].map((name) => fieldOf(shape, name));
  const isMadeByServer = (field: Field) => field.readOnly || (field.name === shape.key && !own.has(field.name));
  return fields.filter((field) => !isNew || !isMadeByServer(field));
}

export function Form({ draft, path, shape, isNew, isLocked }: FormProps) {
  const added = useRef<string[]>([]);
  const fields = fieldsOf(draft, shape, isNew, added.current);
  const add = (name: string) => {
    added.current.push(name);
    if (memberOf(draft.value, name) === undefined) draft.set(name, "");
  };
  const hidden = fields.length - maxMembers,
    shown = Math.min(useSteps(fields.length), maxMembers);
  return (
    <div class={fields.length > step ? "form long" : "form"}>
      {fields.slice(0, shown).map((field) => (
        <Member
          key={field.name}
          draft={draft}
          path={path}
          field={field}
          isKey={field.name === shape.key}
          isNew={isNew}
          isLocked={isLocked}
        />
      ))}
      {hidden > 0 && <p class="dim">{hidden} more fields are in the JSON tab.</p>}
      {!isLocked && <AddMember isFirst={fields.length === 0} onAdd={add} />}
    </div>
  );
}

interface MemberProps {
  draft: Draft;
  path: string;
  field: Field;
  isKey: boolean;
  isNew: boolean;
  isLocked: boolean;
}

function Member({ draft, path, field, isKey, isNew, isLocked }: MemberProps) {
  const { name } = field,
    id = "member-" + name,
    helpID = id + "-help",
    faultID = id + "-wrong";
  const was = memberOf(draft.base, name),
    now = memberOf(draft.value, name);
  const isFixed = isLocked || (!isNew && (isKey || field.readOnly));
  const fault = faultText(draft, name);
  const typed = draft.typed.get(name);
  const isChanged = typed !== undefined || !isEqual(was, now);
  const address = addressOf(path, name, was);
  const isList = useRef(false); // also while it is empty
  isList.current ||= areObjects(was);
  const classes = ["field"];
  if (isChanged && !isNew) classes.push("differs");
  if (draft.flash.includes(name)) classes.push("changed");
  return (
    <div class={classes.join(" ")}>
      <div class="field-head">
        <label for={isFixed ? undefined : id} onClick={() => document.getElementById(id)?.focus()}>
          {name}
          {(field.required || (isNew && field.requiredOnCreate)) && !isFixed && (
            <span class="need" title="required">
              *
            </span>
          )}
        </label>
        {isChanged && !isNew && !isFixed && (
          <button
            type="button"
            class="link"
            onClick={() => draft.set(name, was)}
            aria-label={"Discard the change to " + name}
          >
            Discard
          </button>
        )}
        <span class="type">
          <About field={field} value={typed ? undefined : now} isKey={isKey} address={address} />
        </span>
      </div>
      {isFixed ? (
        <div class="fixed" id={id}>
          <FixedValue value={now} field={field} />
          {isKey && <Icon name="lock" size={12} />}
        </div>
      ) : (
        <Input
          key={String(isList.current)}
          id={id}
          field={field}
          value={typed?.text ?? typedOf(now)}
          was={was ?? now}
          isInvalid={fault !== ""}
          faults={draft.faults
            .filter((f) => f.pointer.startsWith(pointer(name) + "/"))
            .map((f) => ({ ...f, pointer: f.pointer.slice(pointer(name).length) }))}
          describedBy={[fault && faultID, field.description && helpID].filter(Boolean).join(" ")}
          placeholder={placeholderFor(field, now, isNew)}
          onInput={(text, picked) => draft.type(field, text, picked)}
        />
      )}
      {areObjects(was) && address && (
        <div class="row-of">
          <CopyRequest to={3} request={() => partOf(path, name)} />
        </div>
      )}
      {fault && (
        <p class="error" id={faultID}>
          <Icon name="alert" size={13} />
          {fault}
        </p>
      )}
      {field.description && (
        <p class="help" id={helpID}>
          {field.description}
        </p>
      )}
    </div>
  );
}

/** Returns what tells an empty text, null and a missing field apart. */
function placeholderFor(field: Field, value: Json | undefined, isNew: boolean): string {
  if (value === null) return "null";
  if (value !== undefined) return "empty text";
  const isChosen = field.kind === "choice" || field.kind === "boolean";
  if (isNew && isChosen) return "Choose…"; // an example would look chosen
  if (field.example !== undefined) return typedOf(field.example);
  return isNew ? "" : "missing";
}

/** A value that cannot be edited. Objects and arrays are laid out. */
function FixedValue({ value, field }: { value: Json | undefined; field: Field }) {
  if (isObject(value) || Array.isArray(value)) {
    return (
      <pre class="code" tabIndex={0}>
        {typedOf(value)}
      </pre>
    );
  }
  if (typeof value === "string" && field.kind === "text") return <span class="whole">{value}</span>;
  return <Value value={value} field={field} />;
}

/** Returns the request that reads a part of a record. */
const partOf = (path: string, name: string): RequestText => ({
  method: "GET",
  path: path + "/" + encodeURIComponent(name),
  session: session.value,
});

/**
 * Returns the URL of a stored array or object in a record, "" if it has none: a browser removes
 * dots, and the name of a collection that refers to the record leads there.
 */
function addressOf(path: string, name: string, was: Json | undefined): string {
  const full = path + "/" + encodeURIComponent(name);
  if (typeof was !== "object" || was === null || isNumber(was) || /\/\.{0,2}(\/|$)/.test(full)) return "";
  if (relations.value.some(({ from, to }) => from === name && path.startsWith(pathOf(to) + "/"))) return "";
  return urlOf(partOf(path, name));
}

interface AboutProps {
  field: Field;
  value: Json | undefined;
  isKey: boolean;
  address: string;
}

/** What a value is: the record that a reference leads to, a time by the clock here, or its kind. */
function About({ field, value, isKey, address }: AboutProps) {
  if (field.kind === "reference" && value !== "" && (typeof value === "string" || isNumber(value))) {
    const id = String(value);
    if (labelFor(field.collection, id) === "") return <span class="wrong-text">no such record</span>;
    return <a href={href([field.collection, id])}>{`→ ${field.collection} ${id}`}</a>;
  }
  if (field.kind === "link" && typeof value === "string" && isWeb(value)) return <Open url={value} />;
  if (address) {
    return (
      <>
        {kindText(field, isKey)} <Open url={address} />
      </>
    );
  }
  return <>{(field.kind === "time" && localTime(value, "medium")) || kindText(field, isKey)}</>;
}

function Open({ url }: { url: string }) {
  return (
    <a href={url} target="_blank" rel="noreferrer">
      open ↗
    </a>
  );
}

function AddMember({ isFirst, onAdd }: { isFirst: boolean; onAdd: (name: string) => void }) {
  const [isOpen, setOpen] = useState(isFirst),
    [name, setName] = useState("");
  const next = useRef(""); // the id of what gets the focus, before another key is pressed
  useLayoutEffect(() => {
    if (next.current) (document.getElementById(next.current) ?? document.querySelector<HTMLElement>(".add"))?.focus();
  }, [isOpen]);
  if (!isOpen) {
    const open = () => {
      next.current = "new-member";
      setOpen(true);
    };
    return (
      <div>
        <Button kind="quiet" icon="plus" class="add" onClick={open}>
          Add a field
        </Button>
      </div>
    );
  }
  const close = (added: string) => {
    if (added) onAdd(added);
    setOpen(false);
    setName("");
    next.current = "member-" + added;
  };
  return (
    <div class="field">
      <div class="field-head">
        <label for="new-member">Name of the field</label>
      </div>
      <div class="row-of">
        <input
          id="new-member"
          autocomplete="off"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => {
            const isEnter = event.key === "Enter" && !event.ctrlKey && !event.metaKey;
            if (!isEnter && event.key !== "Escape") return;
            event.preventDefault();
            event.stopPropagation();
            close(isEnter ? name : "");
          }}
        />
        <Button onClick={() => close(name)}>Add</Button>
      </div>
    </div>
  );
}

/** Returns what is wrong with a field and its parts. The label has its name. */
function faultText(draft: Draft, name: string): string {
  const own = pointer(name);
  const found = draft.faults.filter((fault) => fault.pointer === own || fault.pointer.startsWith(own + "/"));
  const text = ({ pointer: place, detail }: Fault) =>
    (place === own ? "" : place.slice(own.length) + ": ") + withoutName(detail, place);
  return found.map((fault) => text(fault).replace(/^./u, (letter) => letter.toUpperCase())).join(" ");
}

function kindText(field: Field, isKey: boolean): string {
  if (isKey) return "id";
  switch (field.kind) {
    case "reference":
    case "references":
      return "→ " + field.collection;
    case "choice":
      return "one of " + field.choices.length;
    case "time":
      return "date and time";
    case "text":
    case "any":
      return "";
  }
  return field.kind;
}
