// Code that reads and changes the records of a collection, to copy.
import { useEffect, useState } from "preact/hooks";
import { pathOf, read, session } from "../data/api.ts";
import { collections, hasObject, idOf, isReadOnly, objects, shapeFor, status } from "../data/catalog.ts";
import { stringify, type Obj } from "../data/json.ts";
import { languages, type RequestText } from "../data/snippets.ts";
import { answerType, writeType } from "../data/typescript.ts";
import { closeDialog, dialog } from "../dialogs.ts";
import { Button, Copy, Dialog, Segments } from "../ui.tsx";

const calls = ["list", "one", "create", "change"] as const;
type Call = (typeof calls)[number];

const languageNames = ["fetch", "axios", "ky", "curl"]; // Requests has more

export function showCode(collection: string, query: string): void {
  dialog.value = (
    <Dialog title={"Code for " + collection} class="wide" onClose={closeDialog}>
      <h2>Code for {collection}</h2>
      <Code first={collection} query={query} />
      <div class="row-of end">
        <Button onClick={closeDialog}>Close</Button>
      </div>
    </Dialog>
  );
}

/** The calls of a collection. query is that of the list which is shown. */
export function Code({ first, query = "" }: { first: string; query?: string }) {
  const [name, setName] = useState(first),
    [call, setCall] = useState<Call>("list"),
    [language, setLanguage] = useState("fetch"),
    [isTyped, setTyped] = useState(true),
    [record, setRecord] = useState<Obj>({});
  const isObject = hasObject(name),
    shape = shapeFor(name);
  useEffect(() => {
    const path = pathOf(name) + (isObject ? "" : "?_start=0&_end=1");
    read<Obj | Obj[]>(path).then(
      (data) => setRecord((Array.isArray(data) ? data[0] : data) ?? {}),
      () => setRecord({}), // the code has no example then
    );
  }, [name]);

  const own = isObject ? (["one", "change"] as const) : calls;
  const shown = (own as readonly Call[]).includes(call) ? call : own[0];
  const request = requestOf(shown, { name, query: name === first ? query : "", record, isObject });
  const isCode = language !== "curl" && isTyped;
  const type = answerType(shape, shown === "list", status.value?.answers);
  const text =
    (isCode ? writeType(shape) + "\n\n" : "") +
    languages
      .find((own) => own.name === language)!
      .write({ ...request, answer: isCode ? type : undefined }, status.value?.user);
  const names = [...collections.value, ...objects.value].map((item) => item.name);
  return (
    <>
      <div class="row-of wrap">
        <select aria-label="Collection" value={name} onChange={(event) => setName(event.currentTarget.value)}>
          {names.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
        <Segments
          label="Call"
          options={isReadOnly.value ? own.filter((one) => one === "list" || one === "one") : own}
          value={shown}
          onChange={setCall}
        />
      </div>
      <Segments label="Language" options={languageNames} value={language} onChange={setLanguage}>
        <label class="check">
          <input type="checkbox" checked={isTyped} onChange={() => setTyped(!isTyped)} />
          TypeScript
        </label>
        <span class="grow" />
        <Copy text={() => text} />
      </Segments>
      <pre class="code" tabIndex={0} aria-label="Example">
        {text}
      </pre>
    </>
  );
}

interface Target {
  name: string;
  query: string;
  record: Obj; // an example
  isObject: boolean;
}

function requestOf(call: Call, { name, query, record, isObject }: Target): RequestText {
  const shape = shapeFor(name),
    one = pathOf(name, ...(isObject ? [] : [idOf(name, record) || "1"]));
  const writable = Object.entries(record).filter(
    ([field]) => field !== shape.key && !shape.fields.some((own) => own.name === field && own.readOnly),
  );
  const body = (members: typeof writable) => stringify(Object.fromEntries(members), 2);
  switch (call) {
    case "list":
      return { method: "GET", path: pathOf(name) + (query ? "?" + query : ""), session: session.value };
    case "one":
      return { method: "GET", path: one, session: session.value };
    case "create":
      return { method: "POST", path: pathOf(name), session: session.value, body: body(writable) };
    case "change":
      return { method: "PATCH", path: one, session: session.value, body: body(writable.slice(0, 1)) };
  }
}
