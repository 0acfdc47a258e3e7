// The filter of a list: conditions, and a field that suggests more.
import { useRef, useState } from "preact/hooks";
import { get, pathOf } from "../data/api.ts";
import { idOf, labelFor } from "../data/catalog.ts";
import { Icon } from "../icons.tsx";
import type { Json, Obj } from "../data/json.ts";
import { operators, parseTerm, withTerm, type Query, type Term } from "../data/query.ts";
import { fieldOf, typedOf, type Field, type Shape } from "../data/schema.ts";
import { count, useSearch } from "../ui.tsx";
import { hueOf } from "../values.tsx";

interface QueryBarProps {
  shape: Shape;
  query: Query;
  onChange: (query: Query) => void;
}

export function QueryBar({ shape, query, onChange }: QueryBarProps) {
  const [typed, setTyped] = useState(""),
    [isOpen, setOpen] = useState(false),
    [at, setAt] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const members = shape.fields.map((field) => field.name);
  const term = parseTerm(typed, members),
    field = shape.fields.find((f) => f.name === term?.member);
  const values = useValues(shape.name, isOpen ? field : undefined, term?.value ?? "");
  const found = term && field ? suggestValues(term, field, query, values) : suggestMembers(typed.trim(), shape, query);
  const suggestions = isOpen ? found : [];
  const chosen = suggestions[at];

  const reset = (text = "") => {
    setTyped(text);
    setAt(-1);
    setOpen(text !== "");
  };
  const choose = (suggestion: Suggestion) => {
    if (suggestion.query) onChange(suggestion.query);
    reset(suggestion.completion ?? "");
    input.current?.focus();
  };
  const apply = () => {
    onChange(term ? withTerm(query, term) : { ...query, q: typed.trim() });
    reset();
  };
  const move = (step: number) => {
    const n = Math.max(1, suggestions.length);
    setOpen(true);
    setAt(at < 0 && step < 0 ? n - 1 : (at + step + n) % n);
  };
  const removeLast = () => {
    if (query.rest.length > 0) onChange({ ...query, rest: query.rest.slice(0, -1) });
    else if (query.q) onChange({ ...query, q: "" });
    else if (query.terms.length > 0) onChange({ ...query, terms: query.terms.slice(0, -1) });
  };
  const onKey = (event: KeyboardEvent) => {
    switch (event.key) {
      case "ArrowDown":
        move(1);
        break;
      case "ArrowUp":
        move(-1);
        break;
      case "Enter":
        if (chosen) choose(chosen);
        else if (typed.trim()) apply();
        break;
      case "Escape":
        if (isOpen || typed) reset();
        else input.current?.blur();
        event.stopPropagation();
        return;
      case "Backspace":
        if (typed === "") removeLast();
        return;
      case "Tab":
        if (!chosen?.completion) return;
        choose(chosen);
        break;
      default:
        return;
    }
    event.preventDefault();
  };
  const hasTerms = query.terms.length + query.rest.length > 0 || query.q !== "";
  return (
    <div
      class="query"
      onFocusOut={(event) => {
        if (!(event.currentTarget as HTMLElement).contains(event.relatedTarget as Node | null)) setOpen(false);
      }}
    >
      <Icon name="filter" size={14} />
      <Conditions shape={shape} query={query} onChange={onChange} />
      <input
        ref={input}
        id="filter"
        type="text"
        role="combobox"
        aria-label="Filter"
        aria-expanded={suggestions.length > 0}
        aria-controls="suggestions"
        aria-autocomplete="list"
        aria-activedescendant={chosen ? "suggestion-" + at : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder={hasTerms ? "and…" : `Filter: any text, or ${example(shape)}`}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setOpen(true);
          setAt(-1);
        }}
        onFocus={() => setOpen(true)}
        onKeyDown={onKey}
      />
      <kbd class="hint">/</kbd>
      <ul
        id="suggestions"
        role="listbox"
        aria-label="Suggestions"
        class={suggestions.length > 0 ? "suggestions" : "suggestions none"}
      >
        {suggestions.map((suggestion, i) => (
          <li
            key={suggestion.text + suggestion.note}
            id={"suggestion-" + i}
            role="option"
            aria-selected={i === at}
            onMouseDown={(event) => {
              event.preventDefault();
              choose(suggestion);
            }}
            onMouseEnter={() => setAt(i)}
          >
            <span class={suggestion.hue === undefined ? "clip" : "chip " + hueOf(suggestion.hue)}>
              {suggestion.text} {suggestion.id && <span class="refid">{suggestion.id}</span>}
            </span>
            <span class="dim">{suggestion.note}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The conditions of a query, each with a button that removes it. */
function Conditions({ shape, query, onChange }: { shape: Shape; query: Query; onChange: (query: Query) => void }) {
  return (
    <ul class="terms" aria-label="Conditions">
      {query.terms.map((term, i) => (
        <TermChip
          key={"term" + i}
          name={term.member}
          sign={operators[term.operator].sign}
          words={operators[term.operator].words}
          value={term.value}
          note={term.operator === "eq" ? referredName(fieldOf(shape, term.member), term.value) : ""}
          onRemove={() => onChange({ ...query, terms: query.terms.filter((_, j) => j !== i) })}
        />
      ))}
      {query.q && <TermChip name="anywhere" value={query.q} onRemove={() => onChange({ ...query, q: "" })} />}
      {query.rest.map(([name, value], i) => (
        <TermChip
          key={"rest" + i}
          name={name}
          sign="="
          value={value}
          onRemove={() => onChange({ ...query, rest: query.rest.filter((_, j) => j !== i) })}
        />
      ))}
    </ul>
  );
}

const referredName = (field: Field, id: string): string => (field.collection && labelFor(field.collection, id)) || "";

interface TermChipProps {
  name: string;
  sign?: string;
  words?: string;
  value: string;
  note?: string;
  onRemove: () => void;
}

function TermChip({ name, sign = "", words = sign, value, note, onRemove }: TermChipProps) {
  const label = `Remove: ${name} ${words} ${value}`;
  return (
    <li class="term">
      <span class="dim">{name}</span>{" "}
      {sign && (
        <span class="op" title={words}>
          {sign}
        </span>
      )}{" "}
      <b>{value}</b>
      {note && <span class="dim"> {note}</span>}
      <button type="button" aria-label={label} title="Remove" onClick={onRemove}>
        <Icon name="close" size={12} />
      </button>
    </li>
  );
}

/** Returns two conditions that this collection could have. */
function example(shape: Shape): string {
  const others = shape.fields.filter((field) => field.name !== shape.key);
  const choice = others.find((field) => field.kind === "choice");
  const ordered = others.find((field) => field.kind === "time" || field.kind === "number");
  const text = others.find((field) => field.kind === "text");
  const terms = [
    choice && `${choice.name}=${typedOf(choice.choices[0])}`,
    text && text.name + "~…",
    ordered && ordered.name + ">=…",
  ];
  return terms.filter(Boolean).slice(0, 2).join(", ") || "field=value";
}

interface Suggestion {
  text: string;
  id?: string; // of the record that the text names
  note: string;
  completion?: string; // of the text in the field
  query?: Query;
  hue?: number;
}

const maxSuggestions = 9;

function suggestValues(term: Term, field: Field, query: Query, known: KnownValue[]): Suggestion[] {
  const text = term.value.toLowerCase(),
    isFixed = field.kind === "choice" || field.kind === "boolean";
  const counts = new Map(
    known.filter(({ value }) => value !== null).map(({ value, count }) => [typedOf(value), count]),
  );
  const choices = field.kind === "boolean" ? ["true", "false"] : field.choices.map(typedOf);
  const matches = (value: string) =>
    value.toLowerCase().includes(text) || referredName(field, value).toLowerCase().includes(text);
  return (isFixed ? choices : [...counts.keys()])
    .filter(matches)
    .slice(0, maxSuggestions)
    .map((value) => {
      const records = counts.get(value),
        name = referredName(field, value),
        shown = name || value || "empty text";
      return {
        text: shown.length > 60 ? shown.slice(0, 60) + "…" : shown,
        id: name && value,
        note: records === undefined ? "" : count(records, "record"),
        query: withTerm(query, { ...term, value }),
        ...(field.kind === "choice" ? { hue: choices.indexOf(value) } : {}),
      };
    });
}

interface KnownValue {
  value: Json;
  count?: number; // of the records that have it
}

const asked = 20; // values
const askAfter = 100; // ms

/** Returns the values of a field that contain what is typed, the most frequent first. */
function useValues(collection: string, field: Field | undefined, text: string): KnownValue[] {
  const [found, setFound] = useState<{ of: string; list: KnownValue[] }>({ of: "", list: [] });
  const name = field?.name ?? "";
  const search = async (signal: AbortSignal) => {
    if (field) {
      const path = `/_/values/${encodeURIComponent(collection)}/${encodeURIComponent(name)}`;
      const list = field.kind === "reference" && text ? await named(field.collection, text, signal) : [];
      const answer = await get(`${path}?q=${encodeURIComponent(text)}&_limit=${asked}`, signal);
      setFound({ of: name, list: [...(answer.data as unknown as KnownValue[]), ...list] });
    }
  };
  useSearch(search, askAfter, [collection, name, text]);
  return found.of === name ? found.list : [];
}

/** Returns the ids of records whose texts contain what is typed. */
async function named(collection: string, text: string, signal: AbortSignal): Promise<KnownValue[]> {
  const query = `?q=${encodeURIComponent(text)}&_start=0&_end=${asked}`;
  const answer = await get(pathOf(collection) + query, signal);
  return (answer.data as Obj[]).map((record) => ({ value: idOf(collection, record) }));
}

function suggestMembers(typed: string, shape: Shape, query: Query): Suggestion[] {
  const word = typed.toLowerCase();
  const fields = shape.fields.filter((field) => field.name.toLowerCase().includes(word)).slice(0, maxSuggestions);
  const found: Suggestion[] = fields.map((field) => ({
    text: field.name,
    note: noteOf(field),
    completion: field.name + (field.kind === "time" || field.kind === "number" ? ">=" : "="),
  }));
  if (typed) found.unshift({ text: typed, note: "in any field", query: { ...query, q: typed } });
  return found;
}

function noteOf(field: Field): string {
  switch (field.kind) {
    case "choice":
      return field.choices.slice(0, 3).map(typedOf).join(", ") + (field.choices.length > 3 ? ", …" : "");
    case "reference":
    case "references":
      return "→ " + field.collection;
    case "time":
      return "date and time";
    case "any":
      return "";
  }
  return field.kind;
}
