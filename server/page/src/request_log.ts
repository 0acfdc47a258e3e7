// The latest requests of other clients, as the server records them. The stream is
// closed while the tab is hidden, see live.ts.
import { computed, effect, signal } from "@preact/signals";
import { problemOf, Refused, send, type Schemas } from "./api.ts";
import { status } from "./catalog.ts";
import { readEvents, type ServerEvent } from "./events.ts";
import { parse } from "./json.ts";
import { connection } from "./live.ts";

export type LoggedRequest = Schemas["Request"];

export const requests = signal<LoggedRequest[] | null>(null); // the newest first
export const requestsError = signal<unknown>(null);

export const isFailed = (request: LoggedRequest): boolean => request.status >= 400 || request.status === 0;

const seenUntil = signal(Number(sessionStorage.getItem("pickup.seen"))); // the time of a request

/** The number of requests that failed since the list was shown. 401 is how a browser begins. */
export const unseenFailures = computed(
  () =>
    (requests.value ?? []).filter((r) => isFailed(r) && r.status !== 401 && Date.parse(r.at) > seenUntil.value)
      .length,
);

export function setSeen(): void {
  seenUntil.value = Date.parse(requests.value?.[0]?.at ?? "") || seenUntil.value;
  sessionStorage.setItem("pickup.seen", String(seenUntil.value));
}

const kept = 500;
const retryAfter = 2000; // ms

let lastID = "";

function receive(event: ServerEvent): void {
  if (event.id) lastID = event.id;
  if (!event.data) return;
  const data = parse(event.data) as unknown;
  if (event.name === "reset") requests.value = (data as { requests: LoggedRequest[] }).requests;
  else requests.value = [data as LoggedRequest, ...(requests.value ?? [])].slice(0, kept);
}

async function listen(signal: AbortSignal): Promise<void> {
  try {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (lastID) headers["Last-Event-ID"] = lastID;
    const response = await send("GET", "/_/requests", { signal }, headers);
    if (!response.ok || !response.body)
      throw new Refused(problemOf(response, await response.text()), response.status);
    requestsError.value = null;
    await readEvents(response.body, receive);
  } catch (error) {
    if (error instanceof Refused) requestsError.value = error;
  }
  setTimeout(() => {
    if (!signal.aborted) void listen(signal);
  }, retryAfter);
}

const isVisible = signal(true);
const isWanted = computed(
  () => isVisible.value && connection.value === "live" && status.value?.mode.requests === true,
);
const updateVisible = () => {
  isVisible.value = document.visibilityState === "visible";
};
document.addEventListener("visibilitychange", updateVisible);
updateVisible();

effect(() => {
  if (!isWanted.value) return;
  const stream = new AbortController();
  void listen(stream.signal);
  return () => stream.abort();
});
