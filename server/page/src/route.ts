// The address: the part after # is the API's own address.
//   #/                     the overview
//   #/schedules?status=…   the list that GET /schedules?status=… returns
//   #/schedules/4?status=… a record beside that list
//   #/_/requests           a screen of the page
import { computed, signal } from "@preact/signals";

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

function read(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#/, "").split(/\?(.*)/s);
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

/** Asks before the page goes elsewhere; false stays. */
export const guard: { ask: (() => boolean) | null } = { ask: null };

let last = location.hash;

addEventListener("hashchange", () => {
  if (location.hash === last) return;
  if (guard.ask && !guard.ask()) {
    history.replaceState(null, "", last || "#/");
    return;
  }
  last = location.hash;
  route.value = read();
});

export const href = (path: (string | undefined)[], query = ""): string =>
  "#/" +
  path
    .filter((name) => name !== undefined)
    .map(encodeURIComponent)
    .join("/") +
  (query ? "?" + query : "");

/** Goes to an address at once, so that the next key finds the new one. */
export function go(address: string): void {
  if (address === location.hash || (guard.ask && !guard.ask())) return;
  location.hash = address;
  last = location.hash;
  route.value = read();
}
