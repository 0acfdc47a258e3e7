// A request of the log next to the list, and a new one.
import { useEffect, useState } from "preact/hooks";
import { pathOf, prefix, read, session, type Schemas } from "../data/api.ts";
import { CopyRequest } from "../copy_request.tsx";
import { collections, hasCollection, hasObject, isReadOnly, objects, whyLocked } from "../data/catalog.ts";
import { Icon } from "../icons.tsx";
import { isJSON } from "../data/json.ts";
import type { LoggedRequest } from "../data/live.ts";
import { PanelEdge } from "../panel_edge.tsx";
import { go } from "../route.ts";
import { RequestEditor } from "./request_editor.tsx";
import { StatusCode } from "./status_code.tsx";
import { addRuleFirst, canSimulate, patternOf } from "../data/simulation.ts";
import { showAnswer } from "./answer_dialog.tsx";
import { AnswerView, Body, Pairs } from "./answer_view.tsx";
import type { RequestText } from "../data/snippets.ts";
import { Skeleton, Button, ErrorBox } from "../ui.tsx";

type Bodies = Schemas["RequestBodies"];

export const safeMethods = ["GET", "HEAD", "OPTIONS", "QUERY"];

export const addressOf = (id: string): string => "#/_/requests/" + encodeURIComponent(id);
export const timeOf = (request: LoggedRequest): string => new Date(request.at).toLocaleTimeString("en-GB");
export const fullPath = (request: LoggedRequest): string => request.path + (request.query ? "?" + request.query : "");

export function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

export function Method({ request }: { request: LoggedRequest }) {
  return <span class={"method " + request.method.toLowerCase()}>{request.method}</span>;
}

/** The path and the query, which lead to the details. */
export function RequestName({ request }: { request: LoggedRequest }) {
  return (
    <a class="code" href={addressOf(request.id)}>
      {decode(request.path)}
      {request.query && <span class="dim">?{decode(request.query)}</span>}
    </a>
  );
}

export function agentName(agent = ""): string {
  const known = /curl|node|Go-http|python|HTTPie/i.exec(agent)?.[0];
  return known ?? (agent.includes("Mozilla") ? "browser" : agent.slice(0, 20));
}

/** A request with what was sent and what came back. */
export function RequestPanel({ id }: { id: string }) {
  const [request, setRequest] = useState<Bodies | null>(null),
    [error, setError] = useState<unknown>(null);
  const close = () => {
    go("#/_/requests");
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`table.log [href="${addressOf(id)}"]`)?.focus());
  };
  useEffect(() => {
    read<Bodies>("/_/requests/" + encodeURIComponent(id)).then(setRequest, setError);
  }, [id]);
  return (
    <section
      class="panel"
      role="dialog"
      aria-label="Request"
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "Escape") close();
      }}
    >
      <PanelEdge />
      <div class="panel-head">
        <div class="titles">
          <h2 tabIndex={-1} ref={(heading) => heading?.focus()}>
            {request ? `${request.method} ${decode(request.path)}` : "Request"}
          </h2>
          {request && (
            <p class="dim">
              <StatusCode status={request.status} /> in {request.ms.toFixed(1)} ms, {timeOf(request)}
            </p>
          )}
        </div>
        <Button kind="quiet" icon="close" label="Close (Esc)" onClick={close} />
      </div>
      <div class="panel-body" tabIndex={0} role="region" aria-label="Details">
        {error !== null && <ErrorBox error={error} />}
        {request ? <Details request={request} /> : error === null && <Skeleton count={4} />}
      </div>
    </section>
  );
}

/** A request that nobody has sent yet, to try the API. */
export function NewRequest() {
  const first = collections.value[0]?.name ?? objects.value[0]?.name;
  return (
    <section
      class="panel"
      role="dialog"
      aria-label="New request"
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "Escape") go("#/_/requests");
      }}
    >
      <PanelEdge />
      <div class="panel-head">
        <div class="titles">
          <h2>New request</h2>
        </div>
        <Button kind="quiet" icon="close" label="Close (Esc)" onClick={() => go("#/_/requests")} />
      </div>
      <div class="panel-body" tabIndex={0} role="region" aria-label="Details">
        <RequestEditor
          request={{ method: "GET", path: first === undefined ? "/" : pathOf(first), session: session.value }}
        />
      </div>
    </section>
  );
}

function Details({ request }: { request: Bodies }) {
  const text: RequestText = {
    method: request.method,
    path: fullPath(request),
    body: request.body,
    type: request.type,
    session: request.session,
  };
  const [sending, setSending] = useState<"" | "edit" | "now">("");
  if (sending !== "") {
    const { status, ms, simulated, problem, answer } = request,
      former = { status, ms, headers: [], simulated, problem, body: answer };
    return <RequestEditor request={text} former={former} isSent={sending === "now"} />;
  }
  return (
    <>
      <Actions request={request} text={text} onSend={(isSent) => setSending(isSent ? "now" : "edit")} />
      {request.query && (
        <>
          <h3>Query</h3>
          <Pairs list={new URLSearchParams(request.query)} />
        </>
      )}
      {request.body && <Body title="Sent" note={request.type ?? ""} text={request.body} />}
      <AnswerView
        simulated={request.simulated}
        problem={request.problem}
        body={request.answer}
        note={request.truncated ? "the first 16 KiB" : ""}
      />
      <h3>From</h3>
      <p class="dim">
        {request.origin || "no page"} · {request.agent} · <span class="code">{request.request}</span>
      </p>
    </>
  );
}

/** Returns the path of a request without its session and the prefix. */
const ownPath = ({ path }: Bodies): string => path.replace(/^\/_\/s\/[^/]+/, "").slice(prefix.value.length) || "/";

/** Whether a rule of this session can answer requests such as this one. */
const canAnswer = (request: Bodies): boolean =>
  canSimulate.value && (request.session ?? "") === session.value && !ownPath(request).startsWith("/_/");

/** Asks for the answer that such requests get from now on: at first the one that this request got. */
function answerFromNowOn(request: Bodies): void {
  const { method, status: code, answer, problem } = request,
    path = ownPath(request),
    query = request.query?.replace(/(^|&)_(delay|code|fault|hold)=[^&]*/g, "").replace(/^&/, "");
  const body = answer ?? (problem ? JSON.stringify(problem) : "");
  const hasAnswer = code >= 200 && code !== 304;
  showAnswer({
    title: `Answer ${method} ${decode(path)} from now on`,
    help: "Requests of your front end get this answer, and are not carried out. End it in the banner above the page.",
    verb: "Answer so",
    code: hasAnswer ? code : 200,
    body,
    path: method === "GET" && (!hasAnswer || request.truncated) ? fullPath(request) : "",
    run: (chosen) => addRuleFirst({ ...chosen, methods: [method], path: patternOf(path), ...(query && { query }) }),
  });
}

/** Where the page shows what a request was for: null if it does not. */
function placeIn(request: Bodies): { address: string; what: string } | null {
  if ((request.session ?? "") !== session.value || request.status === 404) return null;
  const path = ownPath(request),
    [name = "", id, ...more] = path.split("/").slice(1).filter(Boolean).map(decode);
  if (more.length > 0 || (id !== undefined && request.method === "DELETE")) return null;
  if (hasObject(name) && id === undefined) return { address: "#" + path, what: "object" };
  if (!hasCollection(name)) return null;
  if (id !== undefined) return { address: "#" + path, what: "record" };
  const isList = safeMethods.includes(request.method);
  return isList ? { address: "#" + path + (request.query ? "?" + request.query : ""), what: "table" } : null;
}

/** Returns why a request cannot be sent once more, "" if it can. */
function whyNotAgain(request: Bodies): string {
  if (isReadOnly.value && !safeMethods.includes(request.method)) return whyLocked.value;
  if (request.type && !request.body) return "It cannot be sent again: its body was not recorded.";
  if ((fullPath(request) + (request.body ?? "")).includes("…")) {
    return "It cannot be sent again: possible secrets in it were removed.";
  }
  return !request.body || isJSON(request.body) ? "" : "It cannot be sent again: only part of its body was recorded.";
}

interface ActionsProps {
  request: Bodies;
  text: RequestText;
  onSend: (isSent: boolean) => void; // or it is edited first
}

function Actions({ request, text, onSend }: ActionsProps) {
  const place = placeIn(request),
    why = whyNotAgain(request);
  return (
    <>
      <div class="row-of wrap">
        {place && (
          <a class="button" href={place.address}>
            <Icon name="table" />
            {place.what === "table" ? "Open as a table" : "Open the " + place.what}
          </a>
        )}
        {why === "" && (
          <Button icon="play" onClick={() => onSend(true)}>
            Send again
          </Button>
        )}
        <Button onClick={() => onSend(false)}>Edit and send</Button>
        {canAnswer(request) && (
          <Button icon="flask" onClick={() => answerFromNowOn(request)}>
            Answer this from now on
          </Button>
        )}
        <CopyRequest request={() => text} />
      </div>
      {why !== "" && <p class="dim">{why}</p>}
    </>
  );
}
