// Requests to the server. The types of its own resources come from its OpenAPI
// document (server.d.ts); records are whatever the file holds.
import { signal } from "@preact/signals";
import type { components } from "./server.d.ts";
import { parse, pointer, type Json } from "./json.ts";
import { idOfTab } from "./tab.ts";

export type Schemas = components["schemas"];
export type Problem = Schemas["Problem"];

/** An answer that is an error. */
export class Refused extends Error {
  constructor(
    readonly problem: Problem,
    readonly status: number,
  ) {
    super(problem.detail ?? problem.title);
  }

  /** Returns what is wrong with a field or a part of it. */
  faultOf(member: string): string | undefined {
    const own = pointer(member);
    return this.problem.errors?.find(
      (fault) => "pointer" in fault && (fault.pointer === own || fault.pointer?.startsWith(own + "/")),
    )?.detail;
  }
}

/** The server cannot be reached. */
export class Unreachable extends Error {
  constructor() {
    super("The server does not answer.");
  }
}

export interface Answer {
  data: Json;
  tag: string;
  total: number | undefined;
  revision: string; // "" if a write has changed nothing
  status: number;
  milliseconds: number;
}

export interface RequestOptions {
  body?: string | undefined;
  type?: string | undefined;
  tag?: string | undefined;
  signal?: AbortSignal | undefined;
  session?: string | undefined; // instead of the page's, "" for none
  isMinimal?: boolean; // the answer needs no body
  isTrial?: boolean; // nothing is stored
  isNew?: boolean; // there must be none yet
}

/** The session whose database the page shows, "" for the file. It lasts as long as the tab. */
export const session = signal(sessionStorage.getItem("pickup.session") ?? "");

/** Whether the session has ended, and a request of the page has begun it again. */
export const isSessionNew = signal(sessionStorage.getItem("pickup.begun") === session.value && session.value !== "");

function setSessionNew(): void {
  isSessionNew.value = true;
  sessionStorage.setItem("pickup.begun", session.value); // also when the page is loaded again
}

export function enterSession(name: string): void {
  sessionStorage.removeItem("pickup.begun");
  if (name) sessionStorage.setItem("pickup.session", name);
  else sessionStorage.removeItem("pickup.session");
  session.value = name; // until the page is loaded anew
  location.assign(location.pathname + "#/");
  location.reload();
}

// Requests of this tab have ids by which it knows its own changes.
const loadedAt = Date.now().toString(36);
let requestCount = 0;

/** Whether a request was this tab's, and its answer had no record, which its list would need. */
export const isBlind = (request: string | undefined): boolean => request?.endsWith("+") === true;

export const isOfTab = (request: string | undefined): boolean => request?.startsWith(idOfTab()) === true;
export const isOfPage = (request: string | undefined): boolean => request?.startsWith("page:") === true;

/** Whether a path is a resource of the server and not of a session. */
const isOutside = (path: string): boolean => /^\/_\/(requests|findings|sessions|readyz|metrics)\b/.test(path);

/** Whether the server does not accept the credentials of the browser any more. */
export const isSignedOut = signal(false);

/** Sends a request as the page's own, which no rule delays and no list of requests shows. */
export async function send(
  method: string,
  path: string,
  options: RequestOptions,
  more: Record<string, string>,
): Promise<Response> {
  if (/^[^?]*\/\.\.?([/?]|$)/.test(path))
    throw new Error(`A browser cannot send a request for ${path}: it removes the dots.`);
  const headers: Record<string, string> = {
    "Pickup-Page": "1",
    "X-Request-Id": `${idOfTab()}${loadedAt}.${++requestCount}` + (options.isMinimal ? "+" : ""),
    ...more,
  };
  const name = options.session ?? (isOutside(path) ? "" : session.value);
  if (name) headers["Pickup-Session"] = name;
  if (options.body !== undefined) headers["Content-Type"] = options.type ?? "application/json";
  if (options.tag) headers["If-Match"] = options.tag;
  const preferences = [options.isMinimal && "return=minimal", options.isTrial && "tx=rollback"].filter(Boolean);
  if (preferences.length > 0) headers["Prefer"] = preferences.join(", ");
  if (options.isNew) headers["If-None-Match"] = "*";
  // The origin leaves out the password that the page's own address may have.
  const response = await fetch(location.origin + path, {
    method,
    headers,
    body: options.body ?? null,
    signal: options.signal ?? null,
    cache: "no-store",
  });
  if (response.headers.has("Pickup-Session-New") && options.session === undefined) setSessionNew();
  isSignedOut.value = response.status === 401;
  return response;
}

/** Sends a request and returns its answer with the body, or throws Refused or Unreachable. */
async function exchange(method: string, path: string, options: RequestOptions): Promise<[Response, string]> {
  let response: Response, body: string;
  try {
    response = await send(method, path, options, { Accept: "application/json" });
    body = await response.text();
  } catch (error) {
    if (error instanceof TypeError && !options.signal?.aborted) throw new Unreachable();
    throw error;
  }
  if (!response.ok) throw new Refused(problemOf(response, body), response.status);
  return [response, body];
}

/** Sends a request and returns its answer. */
export async function ask(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  const start = performance.now();
  const [response, body] = await exchange(method, path, options);
  const total = response.headers.get("X-Total-Count");
  return {
    data: body ? parse(body) : null,
    tag: response.headers.get("ETag") ?? "",
    total: total === null ? undefined : Number(total),
    revision: (!response.headers.has("Pickup-Unchanged") && response.headers.get("Pickup-Revision")) || "",
    status: response.status,
    milliseconds: performance.now() - start,
  };
}

/** Returns the problem document of an answer, or one made of its text. */
export function problemOf(response: Response, body: string): Problem {
  try {
    const problem = JSON.parse(body) as Problem;
    if (typeof problem.title === "string") return problem;
  } catch {
    // An answer of a proxy, for example.
  }
  const detail = body.slice(0, 500) || response.statusText || "The status is " + response.status + ".";
  return { type: "about:blank", title: response.statusText || "Error", status: response.status, detail };
}

export const get = (path: string, signal?: AbortSignal): Promise<Answer> => ask("GET", path, { signal });

/** Reads a text as it is. */
export const readText = async (path: string): Promise<string> => (await exchange("GET", path, {}))[1];

/** Reads a resource of the server itself. */
export async function read<T>(path: string): Promise<T> {
  return (await get(path)).data as unknown as T;
}

/** What the paths of the API begin with (--prefix). */
export const prefix = signal("");

/** Returns the path of a collection, an object or a record. */
export const pathOf = (collection: string, id?: string): string =>
  prefix.value + "/" + encodeURIComponent(collection) + (id === undefined ? "" : "/" + encodeURIComponent(id));

/** Returns the faults that the detail of a problem does not mention. */
export const otherFaults = ({ detail = "", errors = [] }: Problem): NonNullable<Problem["errors"]> =>
  errors.filter((fault) => !detail.toLowerCase().includes(fault.detail.toLowerCase()));

/** Returns what went wrong, with all faults and conflicts, as one text. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Refused)) return messageOf(error);
  const { conflicts = [] } = error.problem;
  const names = conflicts.map(({ collection, id }) => (id === undefined ? collection : `${collection} ${id}`));
  const reasons = [error.message, ...otherFaults(error.problem).map((fault) => fault.detail)];
  return (names.length > 0 ? [...reasons, `In conflict: ${names.join(", ")}.`] : reasons).join(" ");
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
