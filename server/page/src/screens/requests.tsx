// The requests of front ends, live, and the rules for simulated answers.
import type { ComponentChild } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, pathOf, prefix, read, session, type Schemas } from "../data/api.ts";
import { collections, hasCollection, hasObject, isReadOnly, objects, status, whyLocked } from "../data/catalog.ts";
import { Icon } from "../icons.tsx";
import { isJSON, layOut } from "../data/json.ts";
import { requests, type LoggedRequest } from "../data/live.ts";
import { toastError } from "../messages.tsx";
import { PanelEdge } from "../panel_edge.tsx";
import { paused, pause, pauseWhileAway, isFailed, newer, setSeen } from "../data/request_log.ts";
import { go, route } from "../route.ts";
import { canSimulate, rules } from "../data/simulation.ts";
import { RequestEditor } from "./request_editor.tsx";
import { SimulationPanel } from "./simulate.tsx";
import { StatusCode } from "./status_code.tsx";
import { languages, type RequestText } from "../data/snippets.ts";
import { Skeleton, Button, Copy, count, Empty, ErrorBox, formatCount, placeOf, Segments, useNarrow } from "../ui.tsx";

type Bodies = Schemas["RequestBodies"];

const filters = ["all", "writes", "failed"] as const;
type Filter = (typeof filters)[number];

const shown = 200; // requests
const safeMethods = ["GET", "HEAD", "OPTIONS", "QUERY"];

function matches(request: LoggedRequest, filter: Filter, word: string): boolean {
  if (filter === "writes" && safeMethods.includes(request.method)) return false;
  if (filter === "failed" && !isFailed(request)) return false;
  return decode(request.path + "?" + (request.query ?? ""))
    .toLowerCase()
    .includes(word.toLowerCase());
}

export function Requests() {
  if (!status.value?.mode.requests) return <Off />;
  return <Log />;
}

function Off() {
  const [button, panel] = useSimulate();
  return (
    <main class="screen" aria-labelledby="title">
      <header class="top">
        <h1 id="title">Requests</h1>
        <span class="grow" />
        {button}
      </header>
      {panel}
      <Empty icon="pulse" title="Requests are not recorded">
        <p>
          Start the server with <span class="code">--requests=on</span> to see the requests of your front end here.
        </p>
      </Empty>
    </main>
  );
}

function Log() {
  const { value: now } = requests;
  useEffect(setSeen, [now]);
  const id = route.value.path[2];
  const [filter, setFilter] = useState<Filter>("all"),
    [word, setWord] = useState("");
  const isPaused = paused.value !== null,
    all = paused.value ?? now;
  const list = (all ?? []).filter((request) => matches(request, filter, word)),
    [button, panel] = useSimulate(),
    waiting = newer().filter((request) => matches(request, filter, word)).length;
  const toggle = () => {
    pause(!isPaused, true);
    if (isPaused) document.querySelector(".log")?.scrollTo(0, 0);
  };
  const forget = () => {
    pause(false, false);
    ask("DELETE", "/_/requests").catch((error: unknown) => toastError("Could not clear the list.", error));
  };
  return (
    <>
      <main class="screen list" aria-labelledby="title">
        <header class="top">
          <h1 id="title">Requests</h1>
          <span class="count" aria-live="polite">
            {all && count(all.length, "request")}
          </span>
          <span class="grow" />
          <Segments label="Which requests" options={filters} value={filter} onChange={setFilter} />
        </header>
        <div class="tools">
          <input
            id="filter"
            class="search"
            type="search"
            aria-label="Search in paths"
            placeholder="path"
            value={word}
            onInput={(event) => setWord(event.currentTarget.value)}
          />
          {button}
          <Button icon={isPaused ? "play" : "pause"} label={isPaused ? "Resume" : "Pause"} onClick={toggle}>
            <span class="phone-no">{isPaused ? "Resume" : "Pause"}</span>
            {waiting > 0 && <span class="n">{waiting} new</span>}
          </Button>
          <Button kind="quiet" icon="trash" label="Clear" onClick={forget} />
          <Button icon="plus" label="New request" onClick={() => go("#/_/requests/new")}>
            <span class="phone-no">New request</span>
          </Button>
        </div>
        {panel}
        {all === null && <Skeleton count={3} />}
        {all?.length === 0 && <NoRequests />}
        {all !== null && all.length > 0 && list.length === 0 && <Empty icon="pulse" title="No matches" />}
        {list.length > 0 && <Table list={list} opened={id} />}
      </main>
      {id === "new" ? <NewRequest /> : id !== undefined && <RequestPanel key={id} id={id} />}
    </>
  );
}

/** What shows the rules for simulated answers, on a phone a way to them. */
function SimulateButton({ isOpen, onToggle }: { isOpen: boolean; onToggle: () => void }) {
  const n = rules.value.length,
    isNarrow = useNarrow();
  if (!canSimulate.value) return null;
  const name = (
    <>
      <Icon name="flask" />
      Simulate
      {n > 0 && <span class="pill simulated">{n}</span>}
    </>
  );
  if (isNarrow) {
    return (
      <a class="button" href="#/_/simulate">
        {name}
      </a>
    );
  }
  return (
    <Button aria-expanded={isOpen} onClick={onToggle}>
      {name}
    </Button>
  );
}

/** Whether the rules are shown, and what shows and hides them. They are if there are some. */
function useSimulate(): [button: ComponentChild, panel: ComponentChild] {
  const [isOpen, setOpen] = useState<boolean | null>(null),
    hadSome = useRef(false);
  hadSome.current ||= rules.value.length > 0;
  const isShown = isOpen ?? hadSome.current;
  const isNarrow = useNarrow();
  return [
    <SimulateButton key="button" isOpen={isShown} onToggle={() => setOpen(!isShown)} />,
    canSimulate.value && isShown && !isNarrow ? <SimulationPanel key="panel" /> : null,
  ];
}

function NoRequests() {
  const address = location.origin + prefix.value;
  return (
    <Empty icon="pulse" title="No requests yet">
      <p>
        Point your front end at <span class="code">{address}</span> <Copy text={() => address} />
      </p>
      <p>
        Its requests appear here as they are answered; requests of this page are left out. Pages on localhost may send
        requests, and <span class="code">--cors-origin</span> allows others.
      </p>
    </Empty>
  );
}

interface TableProps {
  list: LoggedRequest[];
  opened: string | undefined;
}

function Table({ list, opened }: TableProps) {
  useEffect(() => () => pauseWhileAway(false), []);
  return (
    <div
      class="log"
      tabIndex={0}
      role="region"
      aria-label="Requests"
      onScroll={(event) => pauseWhileAway(event.currentTarget.scrollTop > 0)}
    >
      <table class="plain log">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Status</th>
            <th scope="col">Method</th>
            <th scope="col">Request</th>
            <th scope="col" class="right">
              ms
            </th>
            <th scope="col" class="right phone-no">
              Bytes
            </th>
            <th scope="col" class="phone-no">
              From
            </th>
          </tr>
        </thead>
        <tbody>
          {list.slice(0, shown).map((request) => (
            <Line key={request.id} request={request} isOpened={request.id === opened} />
          ))}
        </tbody>
      </table>
      {list.length > shown && <p class="dim more">{formatCount(list.length - shown)} older requests are not shown. Search to find them.</p>}
    </div>
  );
}

const addressOf = (id: string): string => "#/_/requests/" + encodeURIComponent(id);
const timeOf = (request: LoggedRequest): string => new Date(request.at).toLocaleTimeString("en-GB");
const fullPath = (request: LoggedRequest): string => request.path + (request.query ? "?" + request.query : "");

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

function Line({ request, isOpened }: { request: LoggedRequest; isOpened: boolean }) {
  return (
    <tr
      class={isOpened ? "opened" : ""}
      onClick={(event) => {
        const isOwn = (event.target as HTMLElement).closest("a, button") !== null; // or a text is selected
        if (!isOwn && getSelection()?.isCollapsed !== false) go(addressOf(request.id));
      }}
    >
      <td class="num dim">{timeOf(request)}</td>
      <td>
        <StatusCode status={request.status} />
      </td>
      <td>
        <Method request={request} />
      </td>
      <td class="clip">
        <RequestName request={request} />
        {request.simulated && (
          <span class="pill simulated">
            <Icon name="flask" size={12} />
            {request.simulated}
          </span>
        )}
        {request.session && <span class="pill session">{request.session}</span>}
      </td>
      <td class="right num">{request.ms < 10 ? request.ms.toFixed(1) : Math.round(request.ms)}</td>
      <td class="right num phone-no">{formatCount(request.bytes)}</td>
      <td class="dim phone-no clip">{request.origin?.replace(/^https?:\/\//, "") || agentName(request.agent)}</td>
    </tr>
  );
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

function agentName(agent = ""): string {
  const known = /curl|node|Go-http|python|HTTPie/i.exec(agent)?.[0];
  return known ?? (agent.includes("Mozilla") ? "browser" : agent.slice(0, 20));
}

/** A request with what was sent and what came back. */
function RequestPanel({ id }: { id: string }) {
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
function NewRequest() {
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
        <RequestEditor request={{ method: "GET", path: first === undefined ? "/" : pathOf(first), session: session.value }} />
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
    const { status: code, ms } = request,
      body = request.answer ?? (request.problem ? JSON.stringify(request.problem) : "");
    return <RequestEditor request={text} former={{ status: code, ms, headers: [], body }} isSent={sending === "now"} />;
  }
  const { problem } = request;
  return (
    <>
      <Actions request={request} text={text} onSend={(isSent) => setSending(isSent ? "now" : "edit")} />
      {request.simulated && (
        <p class="note">
          <Icon name="flask" size={14} />
          Simulated: {request.simulated}
        </p>
      )}
      {problem && (
        <div class="wrong">
          <Icon name="alert" size={18} />
          <div>
            <strong>{problem.title}</strong>
            <p>{problem.detail}</p>
            <ul>
              {problem.errors?.map((fault, i) => (
                <li key={i}>
                  <span class="code">{placeOf(fault)}</span> {fault.detail}
                </li>
              ))}
            </ul>
          </div>
        </div>
      )}
      {request.query && (
        <>
          <h3>Query</h3>
          <dl class="pairs">
            {[...new URLSearchParams(request.query)].map(([name, value], i) => (
              <div key={i}>
                <dt class="code">{name}</dt>
                <dd class="code">{value}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
      {request.body && <Body title="Sent" note={request.type ?? ""} text={request.body} />}
      {request.answer && (
        <Body title="Answered" note={request.truncated ? "the first 16 KiB" : ""} text={request.answer} />
      )}
      <h3>From</h3>
      <p class="dim">
        {request.origin || "no page"} · {request.agent} · <span class="code">{request.request}</span>
      </p>
    </>
  );
}

/** Where the page shows what a request was for: null if it does not. */
function placeIn(request: Bodies): { address: string; what: string } | null {
  if ((request.session ?? "") !== session.value || request.status === 404) return null;
  const path = request.path.replace(/^\/_\/s\/[^/]+/, "").slice(prefix.value.length),
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
        {languages.map((language) => (
          <Copy key={language.name} text={() => language.write(text, status.value?.user)}>
            {language.name}
          </Copy>
        ))}
      </div>
      {why !== "" && <p class="dim">{why}</p>}
    </>
  );
}

function Body({ title, note, text }: { title: string; note: string; text: string }) {
  return (
    <>
      <h3>
        {title} <span class="dim">{note}</span>
      </h3>
      <pre class="code" tabIndex={0}>
        {layOut(text)}
      </pre>
    </>
  );
}
