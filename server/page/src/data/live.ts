// What the server reports by itself: one stream of changes and requests. A tab that
// is not visible for a while closes its stream, because a browser opens only six
// connections to a host over HTTP/1.1.
import { signal } from "@preact/signals";
import { isOfPage, isOfTab, isSignedOut, problemOf, read, send, session, type Schemas } from "./api.ts";
import { readEvents, type ServerEvent } from "./events.ts";
import { parse, type Obj } from "./json.ts";

export interface Change {
  collection: string;
  id?: string;
  op?: "created" | "updated" | "deleted";
  before?: Obj | Obj[]; // an array: the records of a whole collection
  after?: Obj | Obj[];
  records?: number; // of a collection that is too large for before and after
}

export interface Revision {
  rev: string;
  at: string;
  by: "api" | "file" | "elsewhere"; // elsewhere: through another server of a cluster
  request?: string;
  session?: string; // whose commit it is
  undoes?: string;
  changes: Change[] | null; // null: too many, see collections
  collections?: Record<string, number>;
}

export type Author = "tab" | "page" | "api" | "file" | "elsewhere";

/** Returns who made a revision. */
export function authorOf(revision: Revision): Author {
  if (revision.by !== "api") return revision.by;
  if (isOfTab(revision.request)) return "tab";
  return isOfPage(revision.request) ? "page" : "api";
}

/** Whether a revision may have changed a collection or an object. */
export const concerns = (revision: Revision, name: string): boolean =>
  revision.changes === null
    ? Object.hasOwn(revision.collections ?? {}, name)
    : revision.changes.some((c) => c.collection === name);

export const connection = signal<"connecting" | "live" | "lost">("connecting");

/** Why the file cannot be read, "" while it can. */
export const broken = signal("");

export type LoggedRequest = Schemas["Request"];

/** The latest requests of other clients, the newest first; null until they are known. */
export const requests = signal<LoggedRequest[] | null>(null);

type Listener<T> = (value: T) => void;

/** Listeners of one kind of event. add returns a function that removes the listener again. */
class Listeners<T> {
  private all = new Set<Listener<T>>();
  add(listener: Listener<T>): () => void {
    this.all.add(listener);
    return () => void this.all.delete(listener);
  }
  call(value: T): void {
    for (const listener of [...this.all]) listener(value);
  }
}

const changed = new Listeners<Revision[]>();
const replaced = new Listeners<void>(),
  news = new Listeners<void>();

/** Calls the listener with the latest revisions, at most four times a second. */
export const onChange = (listener: Listener<Revision[]>): (() => void) => changed.add(listener);

/** Calls the listener when anything has to be read again: the stream was lost, or begins anew. */
export const onReset = (listener: () => void): (() => void) => replaced.add(listener);

/**
 * Calls the listener when something else than records may have changed: the state of a file,
 * what is simulated or held.
 */
export const onNews = (listener: () => void): (() => void) => news.add(listener);

const interval = 250; // ms

/** Returns a function that calls run, but at most four times a second. */
function limited(run: () => void): () => void {
  let timer = 0,
    isWanted = false;
  const call = () => {
    isWanted = timer > 0;
    if (isWanted) return;
    timer = window.setTimeout(() => {
      timer = 0;
      if (isWanted) call();
    }, interval);
    run();
  };
  return call;
}

let revisions: Revision[] = [];
const deliver = limited(() => {
  const latest = revisions;
  revisions = [];
  changed.call(latest);
});

const keptRequests = 500;
let lastRequest = "0", // the id of the latest
  arrived: LoggedRequest[] = []; // the newest last
const showArrived = limited(() => {
  requests.value = [...arrived.reverse(), ...(requests.value ?? [])].slice(0, keptRequests);
  arrived = [];
});

function showRequests(all: LoggedRequest[]): void {
  lastRequest = all[0]?.id ?? "0";
  arrived = [];
  requests.value = all;
}

let isPolling = false;

async function pollRequests(): Promise<void> {
  if (isPolling || connection.value !== "live" || isSignedOut.value || document.visibilityState !== "visible") return;
  isPolling = true;
  try {
    const all = await read<LoggedRequest[]>("/_/requests");
    if (!requests.value || all.length !== requests.value.length || all[0]?.id !== requests.value[0]?.id)
      showRequests(all);
  } catch {
    // The stream says if the server is gone.
  }
  isPolling = false;
}

let lastID = ""; // of an event, from which the stream continues
let stream: AbortController | null = null;
let retries = 0;
let retry = 0;

const delays = [1000, 2000, 5000, 10_000];
const silence = 45_000; // ms after which the connection is lost: the server sends its place every 15 s
let watch = 0,
  hasRequests = false;

/**
 * Opens the stream. since is the revision that the page has read; withRequests says whether the
 * server records requests.
 */
export function follow(since: string, withRequests: boolean): void {
  lastID ||= since;
  hasRequests = withRequests && !session.value;
  if (withRequests && session.value) setInterval(() => void pollRequests(), 1000); // the stream of a session has none
  if (!stream) void listen();
}

async function listen(): Promise<void> {
  clearTimeout(retry);
  const own = new AbortController();
  stream = own;
  const expect = () => {
    clearTimeout(watch);
    watch = window.setTimeout(() => own.abort(), silence);
  };
  try {
    expect();
    const query =
      `?_fields=id&_streams=1&_since=${encodeURIComponent(lastID)}` + (hasRequests ? "&_requests=" + lastRequest : "");
    const headers = { Accept: "text/event-stream", "Last-Event-ID": lastID };
    const response = await send("GET", "/_/changes" + query, { signal: own.signal }, headers);
    if (response.status === 403) hasRequests = false; // the server was restarted and records none
    if (!response.ok || !response.body) throw new Error(problemOf(response, await response.text()).detail ?? "");
    retries = 0;
    const wasLost = connection.value === "lost";
    connection.value = "live";
    news.call(); // of which it has missed some
    if (wasLost) replaced.call(); // some requests of the page may have failed
    await readEvents(response.body, (event) => {
      expect();
      receive(event);
    });
  } catch {
    // The server does not answer, the connection has ended, or the tab has closed it.
  }
  if (stream !== own) return; // closed, and perhaps opened again
  stream = null;
  clearTimeout(watch);
  if (isSignedOut.value) return;
  connection.value = "lost";
  retry = window.setTimeout(() => void listen(), delays[Math.min(retries++, delays.length - 1)]);
}

function receive(event: ServerEvent): void {
  if (event.id) lastID = event.id;
  if (!event.data) return;
  const data = parse(event.data) as Obj;
  switch (event.name) {
    case "reset":
      broken.value = "";
      replaced.call();
      break;
    case "change":
      revisions.push(data as unknown as Revision);
      deliver();
      break;
    case "requests":
      showRequests(data["requests"] as unknown as LoggedRequest[]);
      break;
    case "request":
      if (Number(data["id"]) <= Number(lastRequest)) break; // sent again
      lastRequest = String(data["id"]);
      arrived.push(data as unknown as LoggedRequest);
      showArrived();
      break;
    default: // broken, mended, status
      if (event.name === "broken") broken.value = String(data["detail"]);
      if (event.name === "mended") broken.value = "";
      news.call();
  }
}

/** Connects at once if the connection is lost. */
function reconnect(): void {
  if (stream || !lastID || isSignedOut.value) return;
  retries = 0;
  void listen();
}

function disconnect(): void {
  const own = stream;
  stream = null;
  clearTimeout(retry);
  clearTimeout(watch);
  own?.abort();
}

const hiddenFor = 30_000; // ms after which a hidden tab closes its stream
let hidden = 0;

document.addEventListener("visibilitychange", () => {
  clearTimeout(hidden);
  if (document.visibilityState === "visible") reconnect();
  else hidden = window.setTimeout(disconnect, hiddenFor);
});
addEventListener("online", reconnect);
isSignedOut.subscribe((isOut) => {
  if (!isOut) reconnect();
});
addEventListener("pagehide", disconnect);
