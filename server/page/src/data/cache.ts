// What the page keeps of the server: it is asked for once, and again when a revision changes it.
import { signal } from "@preact/signals";
import { concerns, onChange, onReset } from "./live.ts";

interface Entry<T> {
  collection: string;
  id: string; // "" for all of the collection
  value: T | undefined;
  order: number; // of the request that the value is from
  isAsked: boolean;
}

/** Values by collection and id. Many of a collection are asked for at once. */
export class Cache<T> {
  private entries = new Map<string, Entry<T>>();
  private wanted = new Map<string, Set<Entry<T>>>(); // by collection
  private readonly version = signal(0); // grows when values change or are stale
  private requests = 0;

  /** read returns the values of ids in their order. The cache begins anew when it holds most. */
  constructor(
    private readonly read: (collection: string, ids: string[]) => Promise<T[]>,
    private readonly most = Infinity,
  ) {
    onReset(() => this.invalidate());
    onChange((revisions) =>
      this.invalidate((entry) => revisions.some((r) => concerns(r, entry.collection, entry.id))),
    );
  }

  /** Returns a value, undefined until it is known. One that is stale is kept until the next is there. */
  get(collection: string, id = ""): T | undefined {
    void this.version.value;
    if (this.entries.size >= this.most) this.entries.clear(); // what is shown is asked for again
    const key = collection + "/" + id;
    const entry: Entry<T> = this.entries.get(key) ?? { collection, id, value: undefined, order: 0, isAsked: false };
    this.entries.set(key, entry);
    if (!entry.isAsked) {
      entry.isAsked = true;
      if (this.wanted.size === 0) setTimeout(() => this.ask(), 16);
      this.wanted.set(collection, (this.wanted.get(collection) ?? new Set()).add(entry));
    }
    return entry.value;
  }

  /** Asks again for what is stale as soon as somebody gets it. */
  invalidate(isStale: (entry: Entry<T>) => boolean = () => true): void {
    for (const entry of this.entries.values()) if (isStale(entry)) entry.isAsked = false;
    this.version.value++;
  }

  private ask(): void {
    for (const [collection, entries] of this.wanted) void this.load(collection, [...entries]);
    this.wanted.clear();
  }

  private async load(collection: string, entries: Entry<T>[]): Promise<void> {
    const order = ++this.requests;
    try {
      const ids = entries.map((entry) => entry.id);
      const values = await this.read(collection, ids);
      entries.forEach((entry, i) => {
        if (entry.order < order) Object.assign(entry, { value: values[i], order });
      });
      this.version.value++;
    } catch {
      for (const entry of entries) entry.isAsked = false; // the page works without the values
    }
  }
}
