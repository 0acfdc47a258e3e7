// A request that is edited and sent, with the answer next to the former one.
import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf, problemOf, Unreachable, type Problem } from "../data/api.ts";
import { CopyRequest } from "../copy_request.tsx";
import { isReadOnly } from "../data/catalog.ts";
import { jsonFault, layOut } from "../data/json.ts";
import type { RequestText } from "../data/snippets.ts";
import { JSONInput } from "../record/json_input.tsx";
import { Button } from "../ui.tsx";
import { AnswerView, Pairs, type AnswerParts } from "./answer_view.tsx";
import { headerFault, HeaderRows, type Header } from "./header_rows.tsx";
import { pathFault, PathInput } from "./path_input.tsx";
import { StatusCode } from "./status_code.tsx";

export interface Sent extends AnswerParts {
  status: number;
  ms: number;
  headers: Header[];
}

const methods = ["GET", "HEAD", "OPTIONS", "QUERY", "POST", "PUT", "PATCH", "DELETE"];
const safeMethods = 4; // the first ones

interface RequestEditorProps {
  request: RequestText;
  former?: Sent;
  isSent?: boolean; // at once
}

export function RequestEditor({ request, former, isSent = false }: RequestEditorProps) {
  const [method, setMethod] = useState(request.method),
    [path, setPath] = useState(request.path),
    [headers, setHeaders] = useState(() => headersFor(request)),
    [body, setBody] = useState(layOut(request.body ?? ""));
  const [answers, setAnswers] = useState<Sent[]>(former ? [former] : []),
    [faults, setFaults] = useState<Faults>(former?.problem?.errors ?? []), // of what was sent
    [error, setError] = useState(""),
    [isWaiting, setWaiting] = useState(false);
  const hasBody = method !== "GET" && method !== "HEAD";
  const allowed = isReadOnly.value ? methods.slice(0, safeMethods) : methods;
  const filled = headers.filter(([name, value]) => name || value);
  const form = useRef<HTMLFormElement>(null),
    place = useRef<HTMLInputElement>(null);
  const submit = async () => {
    if (isWaiting) return; // the button stays as it is, because it has the focus
    if (pathFault(path) || filled.some(headerFault)) {
      form.current?.querySelector<HTMLElement>("input[aria-invalid=true]")?.focus();
      return;
    }
    setWaiting(true);
    setError("");
    try {
      const answer = await exchange(method, path, filled, hasBody ? body : "");
      setAnswers((before) => [...before.slice(-1), answer]);
      setFaults(answer.problem?.errors ?? []);
    } catch (e) {
      setError(messageOf(e instanceof TypeError ? new Unreachable() : e));
    } finally {
      setWaiting(false);
    }
  };
  useEffect(() => {
    place.current?.focus(); // the button that was pressed has gone
    if (isSent) void submit();
  }, []);
  const text = (): RequestText => ({ method, path, headers: filled, ...(hasBody && body && { body }) });
  const wrongPath = pathFault(path) || faults.flatMap((fault) => (fault.parameter ? [fault.detail] : [])).join(" ");
  return (
    <>
      <form
        ref={form}
        class="sender"
        aria-label="Request"
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit();
        }}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <div class="row-of">
          <select aria-label="Method" value={method} onChange={(event) => setMethod(event.currentTarget.value)}>
            {[...new Set([...allowed, method])].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <PathInput
            input={place}
            value={path}
            fault={wrongPath}
            onInput={(now) => {
              setPath(now);
              setFaults(faults.filter((fault) => !fault.parameter));
            }}
          />
          <Button kind="primary" type="submit" icon="play" aria-disabled={isWaiting}>
            Send
          </Button>
        </div>
        <p class="error" id="path-wrong">
          {wrongPath}
        </p>
        <HeaderRows headers={headers} onChange={setHeaders} />
        {hasBody && (
          <BodyInput
            body={body}
            type={typeOf(filled)}
            faults={faults}
            onInput={(now) => {
              setBody(now);
              setFaults(faults.filter((fault) => fault.parameter));
            }}
          />
        )}
        <div class="row-of wrap">
          <CopyRequest from={1} request={text} />
        </div>
      </form>
      {error !== "" && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      <div class={answers.length > 1 ? "answers two" : "answers"} aria-live="polite">
        {answers.map((answer, i) => (
          <AnswerBox
            key={answers.length - i}
            answer={answer}
            title={i === answers.length - 1 && answer !== former ? "Answer" : "Before"}
          />
        ))}
      </div>
    </>
  );
}

type Faults = NonNullable<Problem["errors"]>;

interface BodyInputProps {
  body: string;
  type: string;
  faults: Faults; // of the body that was sent
  onInput: (body: string) => void;
}

/** The body: JSON has the editor with faults where they are. */
function BodyInput({ body, type, faults, onInput }: BodyInputProps) {
  const isJSON = type.includes("json");
  const own = faults.flatMap(({ pointer, detail }) => (pointer === undefined ? [] : [{ pointer, detail }]));
  const wrong = [isJSON ? jsonFault(body) : "", ...own.map(({ pointer, detail }) => `${pointer} ${detail}`)];
  const text = wrong.filter(Boolean);
  return (
    <>
      <label for="sent-body">Body</label>
      {isJSON ? (
        <JSONInput
          id="sent-body"
          label="Body"
          value={body}
          faults={own}
          isInvalid={text.length > 0}
          onInput={onInput}
        />
      ) : (
        <textarea
          id="sent-body"
          class="code"
          rows={Math.min(16, Math.max(4, body.split("\n").length + 1))}
          spellcheck={false}
          value={body}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
      {text.map((line) => (
        <p key={line} class="error">
          {line}
        </p>
      ))}
    </>
  );
}

function AnswerBox({ answer, title }: { answer: Sent; title: string }) {
  const { status: code, ms, headers, problem, body } = answer;
  return (
    <section aria-label={title}>
      <h3>
        {title} <StatusCode status={code} /> <span class="dim">{ms.toFixed(1)} ms</span>
      </h3>
      {headers.length > 0 && (
        <details>
          <summary>{headers.length} headers</summary>
          <Pairs list={headers} />
        </details>
      )}
      <AnswerView {...answer} title="Body" />
      {!problem && !body && <p class="dim">no body</p>}
    </section>
  );
}

/** Returns the headers that a request had, as far as they are known. */
function headersFor({ path, body, type, session }: RequestText): Header[] {
  const list: Header[] = [];
  if (type || body) list.push(["Content-Type", type ?? "application/json"]);
  if (session && !path.startsWith("/_/s/")) list.push(["Pickup-Session", session]);
  return list;
}

const typeOf = (headers: Header[]): string =>
  headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "application/json";

/** Sends a request as a front end does: it is simulated and listed as the others are. */
async function exchange(method: string, path: string, headers: Header[], body: string): Promise<Sent> {
  if (body !== "" && !headers.some(([name]) => name.toLowerCase() === "content-type"))
    headers = [...headers, ["Content-Type", "application/json"]];
  const start = performance.now();
  const response = await fetch(location.origin + path, { method, headers, body: body || null, cache: "no-store" });
  const text = await response.text();
  const isProblem = response.headers.get("Content-Type")?.startsWith("application/problem+json") === true;
  return {
    status: response.status,
    ms: performance.now() - start,
    headers: [...response.headers],
    simulated: response.headers.get("Pickup-Simulated") ?? undefined,
    ...(isProblem ? { problem: problemOf(response, text) } : { body: text }),
  };
}
