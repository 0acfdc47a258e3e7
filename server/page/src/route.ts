// The address: the part after # is the API's own address.
//   #/                     the overview
//   #/schedules?status=…   the list that GET /schedules?status=… returns
//   #/schedules/4?status=… a record beside that list
//   #/_/requests           a screen of the page
import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export interface Route {
  path: string[];
  query: string;
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function read(hash = location.hash): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  return { path: path.split("/").filter(Boolean).map(decode), query };
}

export const route = signal<Route>(read());

/** The screen of the page, "overview", or "data" for a collection or an object. */
export const screen = computed(() => {
  const [first, second] = route.value.path;
  if (first === "_") return second ?? "";
  return first === undefined ? "overview" : "data";
});

/** Whether a record or a request is open beside a list. */
export const hasPanel = computed(() => {
  const [first, second, third] = route.value.path;
  if (first === "_") return second === "new" || (second === "requests" && third !== undefined);
  return second !== undefined;
});

/** Whether there is something that is lost if the page goes elsewhere. */
const unsaved = new Set<() => boolean>();

/** Whether something is not saved. */
export const isUnsaved = (): boolean => [...unsaved].some((has) => has());

/** Asks before the page goes elsewhere, if something would be lost; false stays. */
export const mayLeave = (): boolean => !isUnsaved() || confirm("Leave without saving your changes?");

/** Asks before the page goes elsewhere while a component has something that is not saved. */
export function useUnsaved(has: () => boolean): void {
  useEffect(() => {
    unsaved.add(has);
    return () => void unsaved.delete(has);
  });
}

addEventListener("beforeunload", (event) => {
  if (isUnsaved()) event.preventDefault();
});

let last = location.hash;
let place = placeOf(0); // in the history of the tab

/** Returns the place of the entry that is shown. One that has none is new. */
function placeOf(next: number): number {
  const known: unknown = history.state;
  if (typeof known === "number") return known;
  history.replaceState(next, "");
  return next;
}

addEventListener("hashchange", () => {
  if (location.hash === last) return;
  const now = placeOf(place + 1);
  if (keeps(read()) || mayLeave()) arrive(now);
  else history.go(place - now || -1); // 0 would load the page anew
});

function arrive(at: number): void {
  place = at;
  last = location.hash;
  route.value = read();
}

/** Whether a record that is edited stays where it is: another list beside it is no other record. */
const keeps = (next: Route): boolean => href(next.path) === href(route.value.path);

export const href = (path: (string | undefined)[], query = ""): string =>
  "#/" +
  path
    .filter((name) => name !== undefined)
    .map(encodeURIComponent)
    .join("/") +
  (query ? "?" + query : "");

/** Goes to an address at once, so that the next key finds the new one. */
export function go(address: string): void {
  if (address === location.hash || !(keeps(read(address)) || mayLeave())) return;
  location.hash = address;
  arrive(placeOf(place + 1));
}
