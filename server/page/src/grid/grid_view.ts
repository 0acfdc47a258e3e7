// Which part of a table is visible, and which elements show it.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Author } from "../data/live.ts";
import type { Rows } from "./rows.ts";

const rowsAbove = 40,
  rowsBelow = 80; // requested before they are visible

/** Returns the part of the grid that is visible. */
export function useView(scroller: { current: HTMLElement | null }) {
  const [view, setView] = useState({ top: 0, height: 600, left: 0, right: Infinity });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    let frame = 0;
    const update = () => {
      frame = 0;
      const { scrollTop: top, clientHeight: height, scrollLeft: left, clientWidth } = element;
      const now = { top, height, left, right: left + clientWidth };
      setView((v) => (v.top === top && v.height === height && v.left === left && v.right === now.right ? v : now));
    };
    const schedule = () => {
      frame ||= requestAnimationFrame(update);
    };
    element.addEventListener("scroll", schedule, { passive: true });
    const observer = new ResizeObserver(schedule);
    observer.observe(element);
    update();
    return () => {
      element.removeEventListener("scroll", schedule);
      observer.disconnect();
      cancelAnimationFrame(frame);
    };
  }, [scroller.current]);
  return view;
}

/**
 * Requests the rows around the visible ones. While the scroll bar is dragged this
 * happens every 60 ms, and requests for rows that were passed are given up.
 */
export function useRequests(rows: Rows, total: number | null, first: number, last: number): void {
  const range = useRef<[from: number, to: number]>([0, 0]),
    timer = useRef(0);
  range.current = total === null ? [0, 60] : [first - rowsAbove, Math.min(total - 1, last + rowsBelow)];
  useEffect(() => {
    const request = () => {
      timer.current = 0;
      rows.want(...range.current);
    };
    if (total === null || rows.at(first)) request();
    else timer.current ||= window.setTimeout(request, 60);
  }, [rows, first, last, total]);
}

export function scrollToRow(grid: HTMLElement, y: number, height: number, top: number, scale: number): void {
  const room = grid.clientHeight - height; // the header covers a row
  if (y < top) grid.scrollTop = y / scale;
  else if (y + height > top + room) grid.scrollTop = (y + height - room) / scale;
}

export function scrollToColumn(grid: HTMLElement, column: number): void {
  const cell = grid.querySelector<HTMLElement>(`.head [data-cell="-1:${column}"]`);
  const fixed = grid.querySelector<HTMLElement>(`.head [data-cell="-1:0"]`)?.offsetWidth ?? 0;
  if (!cell || column === 0) return;
  const left = cell.offsetLeft,
    right = left + cell.offsetWidth;
  if (left - fixed < grid.scrollLeft) grid.scrollLeft = left - fixed;
  else if (right > grid.scrollLeft + grid.clientWidth) grid.scrollLeft = right - grid.clientWidth;
}

/** Returns the rows that have elements: the visible ones, the one with the tab stop and the one that is edited. */
export function visibleRows(
  first: number,
  last: number,
  others: [active: number, edited: number],
  count: number,
): number[] {
  const indices = new Set<number>();
  for (let i = first; i <= last; i++) indices.add(i);
  if (others[0] < count) indices.add(others[0]);
  indices.add(others[1]);
  indices.delete(-1);
  return [...indices].sort((a, b) => a - b);
}

/** Keeps the row that is edited where it is on the screen when others come or go above it. */
export function useStill(
  scroller: { current: HTMLElement | null },
  id: string | undefined,
  row: number,
  height: number,
): void {
  const before = useRef({ id, row });
  useLayoutEffect(() => {
    const { id: lastID, row: last } = before.current;
    if (id !== undefined && id === lastID) scroller.current?.scrollBy(0, (row - last) * height);
    before.current = { id, row };
  }, [id, row]);
}

/** Returns who changed a record, and its marks: the fields that changed, or "*" for a new record. */
export function marksOf(fresh: ReadonlyMap<string, Author>, id: string): string {
  if (fresh.size === 0 || id === "") return "";
  const own = [...fresh].filter(([mark]) => mark === id || mark.startsWith(id + "/"));
  return [...own.slice(-1).map(([, by]) => by), ...own.map(([mark]) => mark.slice(id.length + 1) || "*")].join("\n");
}

/**
 * Returns which element shows which row. A record keeps its element when its row
 * moves, with the focus in it; and the element of a row that is scrolled out of sight
 * shows one that comes into it. That is half the work of making new ones.
 */
export function useSlots(indices: number[], idAt: (row: number) => string): Map<number, number> {
  const kept = useRef({ ids: new Map<string, number>(), rows: new Map<number, number>() });
  const next = new Map<number, number>(),
    ids = new Map<string, number>(),
    taken = new Set<number>();
  const take = (row: number, slot: number | undefined) => {
    if (slot === undefined || next.has(row) || taken.has(slot)) return;
    next.set(row, slot);
    taken.add(slot);
  };
  for (const i of indices) take(i, kept.current.ids.get(idAt(i)));
  for (const i of indices) take(i, kept.current.rows.get(i));
  let free = 0;
  for (const i of indices) {
    while (taken.has(free) && !next.has(i)) free++;
    take(i, free);
    if (idAt(i)) ids.set(idAt(i), next.get(i)!);
  }
  kept.current = { ids, rows: next };
  return next;
}
