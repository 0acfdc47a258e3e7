/** A server for a run of tests. */
export interface Server {
  /** Its address, with the prefix. It is also in PICKUP_URL. */
  url: string;
  stop(): Promise<void>;
}

/** Starts a server. A global setup calls it and returns `stop`. */
export function start(options?: {
  /** The file or directory to serve. Default: "db.json". */
  file?: string;
  /** The path of the API, such as "/api". Default: none. */
  prefix?: string;
  /** Keep writes outside of sessions in memory, too. Default: true. */
  ephemeral?: boolean;
  /** More arguments of "pickup serve", such as ["--seed", "7"]. */
  args?: string[];
  /** The directory that the file is relative to. */
  cwd?: string;
}): Promise<Server>;

/** A rule for simulated responses; see docs/simulate.md. Without a condition it applies to every request. */
export interface Rule {
  path?: string;
  methods?: string[];
  query?: string;
  where?: string;
  "request-headers"?: Record<string, string>;
  delay?: string;
  hold?: string;
  fault?: "connection-reset" | "empty-response" | "lost-answer";
  code?: number;
  body?: unknown;
  headers?: Record<string, string>;
  percent?: number;
  after?: number;
  times?: number;
}

/** A change that a session has made. Without a record before or after, it is null. */
export interface Change {
  collection: string;
  id?: string | number;
  op: "created" | "updated" | "deleted";
  before?: unknown;
  after?: unknown;
}

/** A database of one test. Requests reach it by its URL, or with its headers. */
export interface Session {
  name: string;
  url: string;
  headers: { "Pickup-Session": string };
  /** Replaces the rules of the session; without arguments it removes them. */
  simulate(...rules: Rule[]): Promise<(Rule & { id: string; hits: number })[]>;
  /** Makes matching requests, by default all, wait until the name is released. */
  hold(name: string, rule?: Rule): Promise<Rule & { id: string; hits: number }>;
  /** Waits for a request held under the name, and lets all of them continue. Returns their number. */
  release(name: string, wait?: string): Promise<number>;
  /** Takes back all changes of the session. */
  reset(): Promise<{ changes: unknown[] }>;
  /** Lists the changes of the session. */
  changes(): Promise<Change[]>;
  end(): Promise<void>;
}

/** Starts a session, by default of the server in PICKUP_URL, with the data of `from`. */
export function session(options?: {
  url?: string;
  name?: string;
  from?: "now" | "baseline" | (string & {});
}): Promise<Session>;
