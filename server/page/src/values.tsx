// How a value is shown. Values are text nodes, whatever they contain.
import { labelFor } from "./data/catalog.ts";
import { Icon } from "./icons.tsx";
import { isNumber, isObject, stringify, type Json } from "./data/json.ts";
import { href } from "./route.ts";
import type { Field } from "./data/schema.ts";

const maxText = 300,
  maxJSON = 120; // characters that a cell has of a value
const hues = 6,
  grey = 3;

/** Returns the class of the tint that a choice has by its place: the first six differ. */
export const hueOf = (at: number): string => "hue" + (at < hues ? at : grey);

const clip = (text: string, max: number): string => (text.length > max ? text.slice(0, max) + "…" : text);

interface ValueProps {
  value: Json | undefined;
  field: Field;
  plain?: boolean; // without links
}

export function Value({ value, field, plain = false }: ValueProps) {
  if (value === undefined) {
    return (
      <span class="faint">
        <span aria-hidden="true">–</span>
        <span class="offscreen">missing</span>
      </span>
    );
  }
  if (value === null) return <span class="faint code">null</span>;
  if (field.kind === "reference" && (typeof value === "string" || isNumber(value))) {
    return <ReferenceLink collection={field.collection} id={String(value)} plain={plain} />;
  }
  if (field.kind === "choice" && !isObject(value) && !Array.isArray(value)) return <Chip value={value} field={field} />;
  if (typeof value === "boolean") {
    return (
      <span class={value ? "yes" : "no"}>
        {value && <Icon name="check" size={14} />}
        {String(value)}
      </span>
    );
  }
  if (isNumber(value)) return <span class="num">{String(value)}</span>;
  if (typeof value === "string") return <Text value={value} field={field} />;
  return <span class="code dim">{clip(shortJSON(value), maxJSON)}</span>;
}

function Text({ value, field }: { value: string; field: Field }) {
  if (value === "") return <span class="faint">empty text</span>;
  if (field.kind === "link" && isWeb(value)) {
    return (
      <span class="ref apart">
        <span class="clip grow">{clip(value, maxText)}</span>
        <a
          class="goto"
          href={value}
          target="_blank"
          rel="noreferrer"
          tabIndex={-1}
          aria-label={"Open " + value}
          title="Open in another tab"
        >
          <Icon name="out" size={12} />
        </a>
      </span>
    );
  }
  if (field.kind !== "time" && field.kind !== "date") return <>{clip(value, maxText)}</>;
  return (
    <span class="num" title={localTime(value, "full")}>
      {field.kind === "time" ? <Time text={value} /> : value}
    </span>
  );
}

/** A time as it is stored. What people seldom read is faint. */
function Time({ text }: { text: string }) {
  const [, day, t, minutes, rest] = /^(\d{4}-\d\d-\d\d)([T ])(\d\d:\d\d)(.*)$/.exec(text) ?? [];
  if (!day) return <>{text}</>;
  return (
    <>
      {day}
      <i>{t}</i>
      {minutes}
      <i>{rest}</i>
    </>
  );
}

/** Whether a text is the address of a page. Others, as of scripts, are never links. */
export const isWeb = (text: string): boolean => /^https?:\/\/\S+$/.test(text);

/** A choice in the tint of its place among the choices. */
function Chip({ value, field }: { value: Json; field: Field }) {
  const at = field.choices.findIndex((choice) => String(choice) === String(value));
  if (at >= 0) return <span class={"chip " + hueOf(at)}>{String(value)}</span>;
  return (
    <span class="chip wrong" title="The schema does not allow this value">
      {clip(String(value), maxText)}
    </span>
  );
}

/** Returns short JSON of a value. It looks at the beginning of a large one only. */
function shortJSON(value: Json): string {
  if (Array.isArray(value) && value.length > maxJSON) return stringify(value.slice(0, maxJSON));
  return stringify(value);
}

/** Returns a time as the clock here shows it, "" for what is no time. */
export function localTime(value: Json | undefined, dateStyle: "full" | "medium"): string {
  const time = new Date(typeof value === "string" ? value : NaN);
  return isNaN(+time) ? "" : time.toLocaleString(undefined, { dateStyle, timeStyle: "short" });
}

interface ReferenceProps {
  collection: string;
  id: string;
  plain: boolean; // without the arrow that leads to it: a click selects the cell
}

/** A record by its name and id. */
function ReferenceLink({ collection, id, plain }: ReferenceProps) {
  const name = labelFor(collection, id);
  const label = (
    <>
      <span class="clip">{name === "" ? <span class="wrong-text">no such record</span> : (name ?? "…")}</span>
      <span class="refid">{id}</span>
    </>
  );
  if (plain) return <span class="ref">{label}</span>;
  const title = `Open ${collection} ${id}`;
  return (
    <span class="ref apart">
      {label}
      <a class="goto" href={href([collection, id])} tabIndex={-1} aria-label={title} title={title}>
        <Icon name="right" size={13} />
      </a>
    </span>
  );
}
