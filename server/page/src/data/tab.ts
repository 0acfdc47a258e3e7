// The identity of this tab. It lasts as long as the tab, also when the page is loaded anew. A
// duplicate of the tab, which has its session storage, too, takes another one.
const key = "pickup.tab";

const makeID = (): string => Math.random().toString(36).slice(2);

let id = sessionStorage.getItem(key) ?? makeID();
sessionStorage.setItem(key, id);

/** Returns what the ids of this tab's requests begin with. */
export const idOfTab = (): string => `page:${id}:`;

const listeners = new Set<() => void>();

/** Calls the listener if this tab turns out to be a duplicate, which has done nothing yet. */
export const onDuplicate = (listener: () => void): void => void listeners.add(listener);

interface Claim {
  id: string;
  isTaken?: boolean;
}

const others = new BroadcastChannel(key);
others.onmessage = ({ data }: MessageEvent<Claim>) => {
  if (data.id !== id) return;
  if (!data.isTaken) return others.postMessage({ id, isTaken: true } satisfies Claim);
  id = makeID();
  sessionStorage.setItem(key, id);
  for (const listener of listeners) listener();
};
others.postMessage({ id } satisfies Claim);
