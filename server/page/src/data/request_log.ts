// Which of the latest requests have been seen, and the list that stands still.
import { computed, signal } from "@preact/signals";
import { requests, type LoggedRequest } from "./live.ts";

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

/** The list while it stands still, null while it follows. */
export const held = signal<LoggedRequest[] | null>(null);

let isByHand = false; // and not because the list is scrolled

export function hold(on: boolean, byHand: boolean): void {
  isByHand = on && byHand;
  held.value = on ? (requests.value ?? []) : null;
}

/** Keeps the list still while somebody reads further down, unless it is held by hand anyway. */
export function holdWhileAway(isAway: boolean): void {
  if (!isByHand && isAway !== (held.value !== null)) hold(isAway, false);
}

/** Returns the requests that came after those of a list that stands still. */
export function newer(): LoggedRequest[] {
  if (!held.value) return [];
  const now = requests.value ?? [],
    latest = held.value[0]?.id,
    at = now.findIndex((request) => request.id === latest);
  return at < 0 ? now : now.slice(0, at);
}
