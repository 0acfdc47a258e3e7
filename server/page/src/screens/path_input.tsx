// The path of a request that is edited, with suggestions: collections, ids and parameters.
import type { Ref } from "preact";
import { useEffect, useState } from "preact/hooks";
import { pathOf, prefix, read } from "../data/api.ts";
import { collections, idOf, objects, relations, shapeFor } from "../data/catalog.ts";
import type { Obj } from "../data/json.ts";
import { requests } from "../data/live.ts";

/** Returns why a path cannot be sent, or "". */
export const pathFault = (path: string): string =>
  path.startsWith("/") ? "" : "The path begins with /, as in /schedules?status=Canceled.";

const maxRecent = 10, // paths of the log
  maxIDs = 20;

interface PathInputProps {
  input: Ref<HTMLInputElement>;
  value: string;
  fault: string; // of the path, or what the server says of its parameters
  onInput: (path: string) => void;
}

export function PathInput({ input, value, fault, onInput }: PathInputProps) {
  const [ids, setIDs] = useState<string[]>([]);
  const name = collections.value.find((c) => value.startsWith(pathOf(c.name) + "/"))?.name;
  useEffect(() => {
    if (name === undefined) return;
    const set = (list: Obj[]) => setIDs(list.map((record) => pathOf(name, idOf(name, record))));
    read<Obj[]>(`${pathOf(name)}?_limit=${maxIDs}`).then(set, () => setIDs([]));
  }, [name]);
  return (
    <>
      <input
        ref={input}
        class="code"
        aria-label="Path"
        autocomplete="off"
        list="sender-paths"
        spellcheck={false}
        value={value}
        aria-invalid={fault !== ""}
        aria-describedby="path-wrong"
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <datalist id="sender-paths">
        {[...new Set([...suggestionsFor(value), ...(name === undefined ? [] : ids)])].map((path) => (
          <option key={path} value={path} />
        ))}
      </datalist>
    </>
  );
}

/** Returns paths that may continue what is typed. */
function suggestionsFor(typed: string): string[] {
  const at = Math.max(typed.lastIndexOf("?"), typed.lastIndexOf("&"));
  if (at >= 0) {
    const before = typed.slice(0, at + 1);
    return parametersOf(typed.slice(0, typed.indexOf("?"))).map((name) => before + name + "=");
  }
  const recent = (requests.value ?? []).map(({ path, query }) => (query ? `${path}?${query}` : path));
  return [
    ...[...collections.value, ...objects.value].map((item) => pathOf(item.name)),
    prefix.value + "/db",
    ...[...new Set(recent)].slice(0, maxRecent),
  ];
}

/** Returns the parameters of a collection: its fields, and those of any list. */
function parametersOf(path: string): string[] {
  const name = collections.value.find((c) => pathOf(c.name) === path)?.name;
  if (name === undefined) return [];
  const parents = relations.value.some(({ from }) => from === name),
    children = relations.value.some(({ to }) => to === name);
  return [
    ...shapeFor(name).fields.map((field) => field.name),
    "_sort",
    "_limit",
    "_page",
    "_fields",
    ...(parents ? ["_expand"] : []),
    ...(children ? ["_embed"] : []),
  ];
}
