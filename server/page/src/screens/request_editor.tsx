// A request that is edited and sent, with the answer next to the former one.
import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf, pathOf } from "../data/api.ts";
import { collections, isReadOnly, objects, status } from "../data/catalog.ts";
import { layOut, parse } from "../data/json.ts";
import { languages, type RequestText } from "../data/snippets.ts";
import { Button, Copy } from "../ui.tsx";
import { StatusCode } from "./status_code.tsx";

export interface Sent {
  status: number;
  ms: number;
  headers: [name: string, value: string][];
  body: string;
}

const methods = ["GET", "HEAD", "OPTIONS", "QUERY", "POST", "PUT", "PATCH", "DELETE"];
const safeMethods = 4; // the first ones
const shown = 200_000; // characters of an answer

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
    [error, setError] = useState(""),
    [isWaiting, setWaiting] = useState(false);
  const hasBody = method !== "GET" && method !== "HEAD";
  const allowed = isReadOnly.value ? methods.slice(0, safeMethods) : methods;
  const submit = async () => {
    if (isWaiting) return; // the button stays as it is, because it has the focus
    setWaiting(true);
    setError("");
    try {
      const answer = await exchange(method, path, readHeaders(headers), hasBody ? body : "");
      setAnswers((before) => [...before.slice(-1), answer]);
    } catch (e) {
      setError(e instanceof TypeError ? "The server does not answer." : messageOf(e));
    } finally {
      setWaiting(false);
    }
  };
  const place = useRef<HTMLInputElement>(null);
  useEffect(() => {
    place.current?.focus(); // the button that was pressed has gone
    if (isSent) void submit();
  }, []);
  const text = (): RequestText => ({ method, path, headers: readHeaders(headers), ...(hasBody && body && { body }) });
  const input = (set: (text: string) => void) => (event: { currentTarget: { value: string } }) =>
    set(event.currentTarget.value);
  return (
    <>
      <form
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
          <select aria-label="Method" value={method} onChange={input(setMethod)}>
            {[...new Set([...allowed, method])].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <input
            ref={place}
            class="code"
            aria-label="Path"
            autocomplete="off"
            list="sender-paths"
            spellcheck={false}
            value={path}
            onInput={input(setPath)}
          />
          <datalist id="sender-paths">
            {[...collections.value, ...objects.value].map(({ name }) => (
              <option key={name} value={pathOf(name)} />
            ))}
          </datalist>
          <Button kind="primary" type="submit" icon="play" aria-disabled={isWaiting}>
            Send
          </Button>
        </div>
        <label for="sent-headers">Headers</label>
        <textarea
          id="sent-headers"
          class="code"
          rows={Math.min(6, headers.split("\n").length + 1)}
          spellcheck={false}
          placeholder="Prefer: return=minimal"
          value={headers}
          onInput={input(setHeaders)}
        />
        {hasBody && (
          <>
            <label for="sent-body">Body</label>
            <textarea
              id="sent-body"
              class="code"
              rows={Math.min(16, Math.max(4, body.split("\n").length + 1))}
              spellcheck={false}
              value={body}
              aria-describedby="sent-wrong"
              onInput={input(setBody)}
            />
            <p class="error" id="sent-wrong">
              {faultOf(body, headers)}
            </p>
          </>
        )}
        <div class="row-of">
          {languages
            .filter(({ name }) => name !== "URL")
            .map((language) => (
              <Copy key={language.name} text={() => language.write(text(), status.value?.user)}>
                {language.name}
              </Copy>
            ))}
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

function AnswerBox({ answer, title }: { answer: Sent; title: string }) {
  const { headers, body } = answer;
  return (
    <section aria-label={title}>
      <h3>
        {title} <StatusCode status={answer.status} /> <span class="dim">{answer.ms.toFixed(1)} ms</span>
      </h3>
      {headers.length > 0 && (
        <details>
          <summary>{headers.length} headers</summary>
          <pre class="code" tabIndex={0}>
            {headers.map(([name, value]) => name + ": " + value).join("\n")}
          </pre>
        </details>
      )}
      <pre class="code" tabIndex={0}>
        {body === "" ? "no body" : layOut(body).slice(0, shown)}
      </pre>
    </section>
  );
}

/** Returns the headers that a request had, as far as they are known, one a line. */
function headersFor({ path, body, type, session }: RequestText): string {
  const lines = [];
  if (type || body) lines.push("Content-Type: " + (type ?? "application/json"));
  if (session && !path.startsWith("/_/s/")) lines.push("Pickup-Session: " + session);
  return lines.join("\n");
}

function readHeaders(text: string): [name: string, value: string][] {
  return text.split("\n").flatMap((line): [string, string][] => {
    const at = line.indexOf(":");
    if (line.trim() === "") return [];
    return [[(at < 0 ? line : line.slice(0, at)).trim(), at < 0 ? "" : line.slice(at + 1).trim()]];
  });
}

/** Returns why a body is not the JSON that its headers say, or "". */
function faultOf(body: string, headers: string): string {
  const type = readHeaders(headers).find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "application/json";
  if (body.trim() === "" || !type.includes("json")) return "";
  try {
    parse(body);
    return "";
  } catch (error) {
    return messageOf(error);
  }
}

/** Throws if a header cannot be sent. */
function checkHeader([name, value]: [name: string, value: string]): void {
  try {
    new Headers([[name, value]]);
  } catch {
    throw new Error(`“${name}: ${value}” is no header. A header is a name without spaces, a colon and a value.`);
  }
}

/** Sends a request as a front end does: it is simulated and listed as the others are. */
async function exchange(method: string, path: string, headers: [string, string][], body: string): Promise<Sent> {
  if (!path.startsWith("/")) throw new Error("The path begins with /, as in /schedules?status=Canceled.");
  if (body !== "" && !headers.some(([name]) => name.toLowerCase() === "content-type"))
    headers = [...headers, ["Content-Type", "application/json"]];
  for (const header of headers) checkHeader(header);
  const start = performance.now();
  const response = await fetch(location.origin + path, { method, headers, body: body || null, cache: "no-store" });
  const text = await response.text();
  return { status: response.status, ms: performance.now() - start, headers: [...response.headers], body: text };
}
