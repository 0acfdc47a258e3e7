// The address: the part after # is the API's own address.
//   #/                     the overview
//   #/schedules?status=…   the list that GET /schedules?status=… returns
//   #/schedules/4?status=… a record next to that list
//   #/_/requests           a screen of the page
import { computed, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

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

/** The name of the collection or object that is shown, "" if none is. */
export const shownName = computed(() => {
  const [first, second, third] = route.value.path;
  return (first === "_" ? second === "new" && third : first) || "";
});

/** Whether a record or a request is open next to a list. */
export const hasPanel = computed(() => {
  const [first, second, third] = route.value.path;
  if (first === "_") return second === "new" || (second === "requests" && third !== undefined);
  return second !== undefined;
});

/** What a component has that is lost if the page goes elsewhere. */
interface Unsaved {
  name: string;
  isChanged: () => boolean;
  save: () => Promise<boolean>; // whether it is stored
}

const parts = new Set<{ current: Unsaved }>();

const unsavedParts = (): Unsaved[] => [...parts].map(({ current }) => current).filter((part) => part.isChanged());

/** Whether something is not saved. */
export const isUnsaved = (): boolean => unsavedParts().length > 0;

/** Returns the names of what is not saved. */
export const unsavedNames = (): string[] => unsavedParts().map((part) => part.name);

/** Saves what is not saved, and returns whether all of it is stored. */
export async function saveAll(): Promise<boolean> {
  for (const part of unsavedParts()) if (!(await part.save())) return false;
  return true;
}

/** What the page does as soon as a person has decided about what is not saved. */
export const waiting = signal<(() => void) | null>(null);

/** Runs what leaves a screen, but asks before if something would be lost. */
export function leave(run: () => void): void {
  if (isUnsaved()) waiting.value = run;
  else run();
}

/** Asks before the page goes elsewhere while a component has something that is not saved. */
export function useUnsaved(part: Unsaved): void {
  const latest = useRef(part);
  latest.current = part;
  useEffect(() => {
    parts.add(latest);
    return () => void parts.delete(latest);
  }, []);
}

addEventListener("beforeunload", (event) => {
  if (isUnsaved()) event.preventDefault();
});

let last = location.hash,
  isDecided = false; // the next address is shown, whatever is not saved

// The entries of the history are numbered, so that the page finds back to one.
const entry = (): number | undefined => (history.state as { entry?: number } | null)?.entry;
let current = entry() ?? 0;
history.replaceState({ entry: current }, "");

function show(): void {
  current = entry() ?? current + 1;
  history.replaceState({ entry: current }, "");
  last = location.hash;
  route.value = read();
}

addEventListener("hashchange", () => {
  if (location.hash === last) return;
  if (isDecided || keeps(read()) || !isUnsaved()) {
    isDecided = false;
    return show();
  }
  const by = (entry() ?? current + 1) - current;
  history.go(-by);
  leave(() => {
    isDecided = true;
    history.go(by);
  });
});

/** Whether a record that is edited stays where it is: another list next to it is no other record. */
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
  if (address === location.hash) return;
  const run = () => {
    location.hash = address;
    show();
  };
  if (keeps(read(address))) run();
  else leave(run);
}
