// The records of a list, in blocks: the visible ones are requested, and those
// that were visible long ago are forgotten.
import { signal } from "@preact/signals";
import { get, pathOf } from "../data/api.ts";
import { idOf, keyOf, learn, shapeFor, wantLabels } from "../data/catalog.ts";
import { differing, type Obj } from "../data/json.ts";
import type { Author } from "../data/live.ts";
import { announce } from "../messages.tsx";
import { count } from "../ui.tsx";

const blockSize = 100;
const maxBlocks = 30;
const freshFor = 2500; // ms that a change stays marked

const blockOf = (row: number): number => Math.floor(Math.max(0, row) / blockSize);

const places: Record<Author, string> = {
  file: "in the file",
  api: "by the API",
  elsewhere: "at another server",
  page: "on another page",
  tab: "here",
};

export class Rows {
  readonly total = signal<number | null>(null);
  readonly version = signal(0); // grows when records change
  readonly error = signal<unknown>(null);
  readonly milliseconds = signal(0);

  /** What has just changed, "id/field" or "id" for a new record, and who changed it. */
  readonly fresh = signal<ReadonlyMap<string, Author>>(new Map());

  /** The row with the tab stop: its block is kept wherever the list is scrolled to. */
  pinned = 0;

  private blocks = new Map<number, Obj[]>();
  private stale = new Set<number>(); // blocks that may have changed since
  private requests = new Map<number, AbortController>();
  private view: [from: number, to: number] = [0, 0];
  private closed = false;

  constructor(
    readonly name: string,
    readonly query: string,
  ) {}

  at(row: number): Obj | undefined {
    return this.blocks.get(blockOf(row))?.[row % blockSize];
  }

  /** Returns the row of a record, -1 if it is not loaded. */
  indexOf(id: string): number {
    for (const [block, records] of this.blocks) {
      const at = records.findIndex((record) => idOf(this.name, record) === id);
      if (at >= 0) return block * blockSize + at;
    }
    return -1;
  }

  /**
   * Returns the records of the rows from..to, which is exclusive. If one of them is not
   * loaded they are requested, of the fields alone that are named.
   */
  async recordsOf(from: number, to: number, ...fields: string[]): Promise<Obj[]> {
    const records = Array.from({ length: to - from }, (_, i) => this.at(from + i));
    if (!records.includes(undefined)) return records as Obj[];
    const part = [`_start=${from}&_end=${to}`, ...fields.map((name) => "_fields=" + encodeURIComponent(name))];
    if (this.query) part.unshift(this.query);
    return (await get(`${pathOf(this.name)}?${part.join("&")}`)).data as Obj[];
  }

  async idsOf(from: number, to: number): Promise<string[]> {
    const records = await this.recordsOf(from, to, keyOf(this.name));
    return records.map((record) => idOf(this.name, record ?? {})).filter(Boolean);
  }

  /** Returns the first records, of which columns and widths are made. */
  sample(count: number): Obj[] {
    return (this.blocks.get(0) ?? []).slice(0, count);
  }

  /** Requests the rows from..to that are missing, and gives up the requests for others. */
  want(from: number, to: number): void {
    this.view = [from, to];
    const first = blockOf(from),
      last = blockOf(to);
    for (const [block, request] of this.requests) {
      if (block >= first && block <= last) continue;
      request.abort();
      this.requests.delete(block);
    }
    for (let block = first; block <= last; block++) {
      const isKnown = this.blocks.has(block) && !this.stale.has(block);
      if (!isKnown && !this.requests.has(block)) void this.request(block);
    }
  }

  /** Requests the visible rows again. Others are requested when they become visible. */
  refresh(by: Author = "api"): void {
    const [from, to] = this.view,
      first = blockOf(from),
      last = blockOf(to),
      pinned = blockOf(this.pinned);
    for (const block of [...this.blocks.keys()]) {
      this.stale.add(block);
      if ((block < first || block > last) && block !== pinned) this.blocks.delete(block);
    }
    for (let block = first; block <= last; block++) {
      this.requests.get(block)?.abort();
      void this.request(block, by);
    }
  }

  private async request(block: number, by: Author = "api"): Promise<void> {
    const request = new AbortController();
    this.requests.set(block, request);
    const part = `_start=${block * blockSize}&_end=${(block + 1) * blockSize}`;
    try {
      const answer = await get(pathOf(this.name) + "?" + (this.query ? this.query + "&" : "") + part, request.signal);
      if (this.closed) return;
      const records = answer.data as Obj[];
      const isFirst = this.fresh.value.size === 0;
      this.mark(this.blocks.get(block), records, by);
      if (isFirst && this.fresh.value.size > 0)
        announce(`${count(this.fresh.value.size, "value")} changed ${places[by]}`);
      wantLabels(shapeFor(this.name), records);
      if (block === 0 && this.query === "") learn(this.name, records.slice(0, 40));
      this.keep(block, records);
      this.total.value = answer.total ?? records.length;
      this.milliseconds.value = answer.milliseconds;
      this.error.value = null;
      this.version.value++;
    } catch (error) {
      if (!request.signal.aborted && !this.closed) this.error.value = error;
    } finally {
      if (this.requests.get(block) === request) this.requests.delete(block);
    }
  }

  private keep(block: number, records: Obj[]): void {
    this.stale.delete(block);
    this.blocks.delete(block);
    this.blocks.set(block, records); // as the latest
    for (const old of this.blocks.keys()) {
      if (this.blocks.size <= maxBlocks) break;
      if (old !== blockOf(this.pinned)) this.blocks.delete(old);
    }
  }

  /** Marks what differs from the records that were there before. */
  private mark(before: Obj[] | undefined, now: Obj[], by: Author): void {
    if (!before) return;
    const known = new Map(before.map((record) => [idOf(this.name, record), record]));
    const fresh = new Map<string, Author>();
    for (const record of now) {
      const id = idOf(this.name, record),
        old = known.get(id);
      if (old) for (const member of differing(old, record)) fresh.set(id + "/" + member, by);
      else if (now.length !== before.length) fresh.set(id, by);
    }
    if (fresh.size === 0) return;
    this.fresh.value = new Map([...this.fresh.value, ...fresh]);
    setTimeout(() => {
      this.fresh.value = new Map([...this.fresh.value].filter(([mark]) => !fresh.has(mark)));
    }, freshFor);
  }

  /** Replaces a record where it is, so that an edit of one's own does not move its row. */
  put(record: Obj): void {
    const row = this.indexOf(idOf(this.name, record)),
      records = this.blocks.get(blockOf(row));
    const old = records?.[row % blockSize];
    if (row < 0 || !records || !old) return;
    records[row % blockSize] = record;
    this.mark([old], [record], "tab");
    this.version.value++;
  }

  /** Reads a record again and replaces it where it is. */
  async reload(id: string): Promise<void> {
    this.put((await get(pathOf(this.name, id))).data as Obj);
  }

  close(): void {
    this.closed = true;
    for (const request of this.requests.values()) request.abort();
  }
}
