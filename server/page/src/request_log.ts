// The latest requests of other clients, as the server records them. The stream is
// open while the screen is shown.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { problemOf, Refused, send, type Schemas } from "./api.ts";
import { readEvents, type ServerEvent } from "./events.ts";
import { parse } from "./json.ts";

export type LoggedRequest = Schemas["Request"];

export const requests = signal<LoggedRequest[] | null>(null); // the newest first
export const requestsError = signal<unknown>(null);

const kept = 500;
const retryAfter = 2000; // ms

/** Follows the requests while a component is shown. */
export function useRequestLog(): void {
  useEffect(() => {
    const stop = new AbortController();
    let lastID = "";
    const receive = (event: ServerEvent) => {
      if (event.id) lastID = event.id;
      if (!event.data) return;
      const data = parse(event.data) as unknown;
      if (event.name === "reset") requests.value = (data as { requests: LoggedRequest[] }).requests;
      else requests.value = [data as LoggedRequest, ...(requests.value ?? [])].slice(0, kept);
    };
    const listen = async () => {
      try {
        const headers: Record<string, string> = { Accept: "text/event-stream" };
        if (lastID) headers["Last-Event-ID"] = lastID;
        const response = await send("GET", "/_/requests", { signal: stop.signal }, headers);
        if (!response.ok || !response.body)
          throw new Refused(problemOf(response, await response.text()), response.status);
        requestsError.value = null;
        await readEvents(response.body, receive);
      } catch (error) {
        if (stop.signal.aborted) return;
        if (error instanceof Refused) requestsError.value = error;
      }
      if (!stop.signal.aborted) setTimeout(() => void listen(), retryAfter);
    };
    void listen();
    return () => stop.abort();
  }, []);
}
