// Which of the latest requests have been seen, and the list, which can be paused.
import { computed, signal } from "@preact/signals";
import { requests, type LoggedRequest } from "./live.ts";

export const isFailed = (request: LoggedRequest): boolean => request.status >= 400 || request.status === 0;

const seenUntil = signal(Number(sessionStorage.getItem("pickup.seen"))); // the time of a request

/** The number of requests that failed since the list was shown. 401 is how a browser begins. */
export const unseenFailures = computed(
  () =>
    (requests.value ?? []).filter((r) => isFailed(r) && r.status !== 401 && Date.parse(r.at) > seenUntil.value).length,
);

export function setSeen(): void {
  seenUntil.value = Date.parse(requests.value?.[0]?.at ?? "") || seenUntil.value;
  sessionStorage.setItem("pickup.seen", String(seenUntil.value));
}

/** The list while it is paused, null while it follows. */
export const paused = signal<LoggedRequest[] | null>(null);

let isByHand = false; // and not because the list is scrolled

export function pause(on: boolean, byHand: boolean): void {
  isByHand = on && byHand;
  paused.value = on ? (requests.value ?? []) : null;
}

/** Pauses the list while somebody reads further down, unless it is paused by hand anyway. */
export function pauseWhileAway(isAway: boolean): void {
  if (!isByHand && isAway !== (paused.value !== null)) pause(isAway, false);
}

/** Returns the requests that came after the list was paused. */
export function newer(): LoggedRequest[] {
  if (!paused.value) return [];
  const now = requests.value ?? [],
    latest = paused.value[0]?.id,
    at = now.findIndex((request) => request.id === latest);
  return at < 0 ? now : now.slice(0, at);
}
