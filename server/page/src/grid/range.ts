// A range of cells, from the one with the tab stop, where it begins, to its end.
import { useRef } from "preact/hooks";

/** A cell; row -1 is the header. */
export interface Place {
  row: number;
  column: number;
  id?: string | undefined; // of its record
}

/** The rows and columns of a range, the last ones included. */
export interface Range {
  top: number;
  bottom: number;
  left: number;
  right: number;
}

export function rangeOf(stop: Place, end: Place | null): Range {
  const { row, column } = end ?? stop;
  return {
    top: Math.max(0, Math.min(row, stop.row)),
    bottom: Math.max(row, stop.row),
    left: Math.min(column, stop.column),
    right: Math.max(column, stop.column),
  };
}

export const isOneCell = ({ top, bottom, left, right }: Range): boolean => top >= bottom && left === right;

/** Returns the columns of a row that are in a range, as "first:last", "" for none. */
export const columnsIn = (range: Range, row: number): string =>
  row >= range.top && row <= range.bottom && !isOneCell(range) ? range.left + ":" + range.right : "";

export function placeOf(element: Element | null): Place | null {
  const text = element?.closest<HTMLElement>("[data-cell]")?.dataset["cell"];
  const [row, column] = (text ?? "").split(":").map(Number);
  return row === undefined || column === undefined ? null : { row, column };
}

/**
 * Returns what begins to follow the pointer when it is pressed on a cell: extend gets
 * the cell that it is over. Above and below the grid it gets the next row.
 */
export function useRangeDrag(extend: (to: Place) => void) {
  const latest = useRef(extend);
  latest.current = extend;
  return (event: PointerEvent, from: Place): void => {
    const grid = event.currentTarget as HTMLElement,
      end = new AbortController(),
      { signal } = end;
    let to = from;
    const move = ({ clientX, clientY }: PointerEvent) => {
      const { top, bottom } = grid.getBoundingClientRect();
      const under = grid.contains(document.elementFromPoint(clientX, clientY))
        ? placeOf(document.elementFromPoint(clientX, clientY))
        : null;
      const beyond = clientY < top ? -1 : clientY > bottom ? 1 : 0;
      const next = beyond !== 0 ? { ...to, row: Math.max(0, to.row + beyond) } : under;
      if (!next || next.row < 0 || (next.row === to.row && next.column === to.column)) return;
      grid.classList.add("dragged"); // no text is selected
      getSelection()?.removeAllRanges();
      to = next;
      latest.current(next);
    };
    const stop = () => {
      grid.classList.remove("dragged");
      end.abort();
    };
    addEventListener("pointermove", move, { signal });
    addEventListener("pointerup", stop, { signal });
    addEventListener("pointercancel", stop, { signal });
  };
}

const boxWidth = 26; // px

/** Whether a click in the first column is on the box that selects the record. */
export const isOnBox = (event: MouseEvent): boolean =>
  event.clientX < (event.currentTarget as HTMLElement).getBoundingClientRect().left + boxWidth &&
  (event as PointerEvent).pointerType !== "touch";

export const clamp = (n: number, min: number, max: number): number => Math.max(min, Math.min(max, n));

export const cellAt = (grid: HTMLElement | null, place: Place): HTMLElement | null =>
  grid?.querySelector<HTMLElement>(`[data-cell="${place.row}:${place.column}"]`) ?? null;
