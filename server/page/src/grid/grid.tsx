// The table of records: an ARIA grid that has elements only for the visible
// rows. One cell has the tab stop. Its row stays in the page wherever the grid is
// scrolled to, so that the keyboard does not lose its place.
import { options } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { isReadOnly, idOf } from "../data/catalog.ts";
import { useCellEdit } from "./cell_edit.ts";
import { columnsIn, isOneCell, placeOf, rangeOf, useRangeDrag, type Place, type Range } from "./range.ts";
import { faultsOf } from "../data/findings.ts";
import { Row, Skeleton } from "./grid_row.tsx";
import { memberOf, type Json, type Obj } from "../data/json.ts";
import type { Author } from "../data/live.ts";
import { hasLetters } from "../keys.tsx";
import { withTools } from "../lazy.tsx";
import { announce } from "../messages.tsx";
import { href } from "../route.ts";
import type { Rows } from "./rows.ts";
import { isStructured, type Field, type Shape } from "../data/schema.ts";
import type { Sort } from "../data/query.ts";
import { mostChanged } from "../data/transaction.ts";
import { Icon } from "../icons.tsx";
import { count as countOf, drag, Empty, ErrorBox, hasModifier, useNarrow } from "../ui.tsx";
import { WriteButton } from "../write_button.tsx";
import { setWidth, useWidths } from "./columns.ts";

const rowHeight = 34,
  cardHeight = 60,
  plusWidth = 34; // px
const rowsAround = 6; // in the page above and below the visible ones
const rowsAbove = 40,
  rowsBelow = 80; // requested before they are visible

// Browsers draw nothing below some 17 million pixels. A taller table is scrolled by
// a factor.
const maxHeight = 15_000_000;

export interface GridProps {
  isReady: boolean; // to be shown
  rows: Rows;
  shape: Shape;
  columns: Field[];
  sort: Sort[];
  opened: string | undefined; // the id of the record next to the table
  isFiltered: boolean;
  selected: ReadonlySet<string>;
  onSelect: (id: string, isRange: boolean) => void; // isRange: with those since the last one
  onSelectAll: () => void;
  onSort: (member: string, more: boolean) => void;
  onOpen: (id: string) => void;
  onStep: (by: number) => void; // to the record below or above the opened one
  onFilter: (member: string, value: Json | undefined, without?: boolean) => void; // undefined: with it, and without it the second time
  onNew: () => void;
  onMenu: (member: string) => void;
}

export function Grid(props: GridProps) {
  const { rows, shape, sort, opened, isFiltered, selected, onSort, onOpen, onFilter } = props;
  const scroller = useRef<HTMLDivElement>(null);
  // On a phone a record is two lines and not a row of which only the id is visible.
  const isNarrow = useNarrow();
  const columns = useMemo(() => (isNarrow ? props.columns.slice(0, 1) : props.columns), [isNarrow, props.columns]);
  const hasPlus = !isNarrow && !isReadOnly.value; // after the last header
  const lastColumn = (row: number) => columns.length - (row < 0 && hasPlus ? 0 : 1);
  const height = isNarrow ? cardHeight : rowHeight;
  const [stop, setActive] = useState<Place>({ row: 0, column: 0 });
  const [anchor, setAnchor] = useState<Place | null>(null); // where a range of cells begins that ends at the tab stop
  const focusOn = useRef<Place | null>(null),
    hasFocus = useRef(false);
  const view = useView(scroller);
  const total = props.isReady ? rows.total.value : null,
    fresh = rows.fresh.value;
  void rows.version.value;
  const lastRow = total === null ? stop.row : total - 1;
  const row = Math.min(stop.row, lastRow),
    active = { ...stop, row, column: clamp(stop.column, 0, lastColumn(row)) };
  rows.pinned = Math.max(0, active.row);

  const count = total ?? 0,
    fullHeight = count * height,
    shownHeight = Math.min(fullHeight, maxHeight);
  const scale = fullHeight > maxHeight ? (fullHeight - view.height) / (maxHeight - view.height) : 1;
  const top = view.top * scale;
  const first = Math.max(0, Math.floor(top / height) - rowsAround);
  const last = Math.min(count - 1, Math.ceil((top + view.height) / height) + rowsAround);

  useEffect(() => {
    scroller.current?.scrollTo(0, 0);
    setActive({ row: 0, column: 0 });
    setAnchor(null);
  }, [rows]);
  useRequests(rows, total, first, last);
  useEffect(() => {
    const row = opened === undefined || !scroller.current ? -1 : rows.indexOf(opened);
    if (row >= 0) scrollToRow(scroller.current!, row * height, height, top, scale);
  }, [opened, rows, total === null]);
  useLayoutEffect(() => {
    // A cell that had the focus and was replaced, as when its record arrives, gives it to its
    // successor, before the heading of the screen takes it (see focus.ts).
    const place = focusOn.current ?? (hasFocus.current && document.activeElement === document.body ? active : null);
    const cell = place && cellAt(scroller.current, place);
    if (!cell) return;
    focusOn.current = null;
    (cell.querySelector<HTMLElement>("input, select, textarea") ?? cell).focus({ preventScroll: true });
  });

  // The tab stop follows its record when others come or go above it.
  const idAt = (row: number): string => idOf(shape.name, rows.at(row) ?? {});
  const stopAt = ({ row, column }: Place) => setActive({ row, column, id: idAt(row) });
  useLayoutEffect(() => {
    const id = idAt(active.row);
    if (id === "" || id === active.id) return;
    const row = active.id ? rows.indexOf(active.id) : -1;
    setActive(row < 0 ? { ...active, id } : { ...active, row });
    if (row >= 0) setAnchor((from) => from && { ...from, row: clamp(from.row + row - active.row, 0, lastRow) });
  }, [rows, rows.version.value]);

  const moveTo = (row: number, column: number, from: Place | null = null) => {
    const inside = clamp(row, from ? 0 : -1, count - 1),
      place = { row: inside, column: clamp(column, 0, lastColumn(inside)) };
    const element = scroller.current!;
    if (place.row >= 0) scrollToRow(element, place.row * height, height, top, scale);
    scrollToColumn(element, place.column);
    focusOn.current = place;
    stopAt(place);
    setAnchor(from);
    if (from) announceRange(rangeOf(place, from));
  };
  const edit = useCellEdit(rows, shape, columns, onOpen, moveTo);
  useStill(scroller, edit.cell?.id, edit.row, height / scale);
  const recordAt = (place: Place): Obj | undefined => (place.row < 0 ? undefined : rows.at(place.row));
  const range = rangeOf(active, anchor);
  const block = { rows, shape, columns, range };
  const addField = () => withTools((tools) => tools.showAddField(shape));
  const openMenu = (x: number, y: number, { row, column }: Place) =>
    withTools((tools) =>
      tools.showCellMenu({
        ...props,
        ...block,
        x,
        y,
        row,
        column,
        onEdit: () => void edit.begin(row, column),
      }),
    );

  const onKey = (event: KeyboardEvent) => {
    if ((event.target as HTMLElement).closest(".edits")) {
      if (edit.onKey(event)) event.preventDefault();
      event.stopPropagation();
      return;
    }
    const { row, column } = active,
      key = event.key.toLowerCase(),
      control = hasModifier(event);
    if (isTyped(event) && edit.canType(row, column)) {
      renderNow(() => void edit.begin(row, column, true)); // the key is typed into the input
      event.stopPropagation();
      return;
    }
    if (event.altKey) {
      if (opened === undefined || !/^Arrow(Up|Down)$/.test(event.key)) return;
      props.onStep(event.key === "ArrowDown" ? 1 : -1);
      event.preventDefault();
      return;
    }
    const target = targetOf(
      event.key,
      control,
      active,
      count,
      lastColumn(row),
      Math.floor(view.height / height) - 2,
    );
    const record = recordAt(active),
      field = columns[column];
    const value = record && field ? memberOf(record, field.name) : undefined;
    const id = record && idOf(shape.name, record);
    if (row < 0 && field && event.shiftKey && /Arrow(Left|Right)/.test(event.key)) {
      const width = (cellAt(scroller.current, active)?.offsetWidth ?? 0) + (event.key === "ArrowLeft" ? -20 : 20);
      setWidth(shape.name, field.name, width);
      announce(width + " pixels");
    } else if (isMenuKey(event)) {
      const { left, bottom } = cellAt(scroller.current, active)!.getBoundingClientRect();
      openMenu(left + 8, bottom - 4, active);
    } else if (target) moveTo(target.row, target.column, event.shiftKey && row >= 0 ? (anchor ?? active) : null);
    else if (row < 0) {
      if (!field && /^(Enter| )$/.test(event.key)) addField();
      else if (!field) return;
      else if (event.key === " " && event.shiftKey) props.onSelectAll();
      else if (event.key === "Enter" || event.key === " ") onSort(field.name, event.shiftKey);
      else return;
    } else if (!record || !field || !id) return;
    else if (event.key === "Enter" && control) {
      if (!field.collection || typeof value === "object" || value === undefined) return;
      location.hash = href([field.collection, String(value)]);
    } else if (event.key === "Enter" && event.shiftKey) props.onNew();
    else if (event.key === "Enter" || event.key === "F2") void edit.begin(row, column);
    else if (event.key === " " && event.shiftKey) props.onSelect(id, false);
    else if (event.key === " ") onOpen(id);
    else if (event.key === "Delete" || event.key === "Backspace") {
      if (isOneCell(range)) void edit.clear(row, column);
      else withTools((tools) => tools.clearBlock(block));
    } else if (control && key === "f" && event.shiftKey) {
      if (isStructured(field, value)) announce("Cannot filter by a list or an object");
      else onFilter(field.name, value);
    } else if (control && key === "c" && !String(getSelection())) {
      withTools((tools) => tools.copyBlock(block, event.shiftKey, selected));
    } else if (control && key === "d" && range.bottom > range.top) withTools((tools) => tools.fillDown(block));
    else if (event.key === "Escape") {
      if (anchor) setAnchor(null);
      else document.getElementById("filter")?.focus();
    }
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  // One listener serves all cells, so that rows that become visible bring none.
  const onPointer = (event: MouseEvent, isDouble: boolean) => {
    const target = event.target as HTMLElement,
      place = placeOf(target);
    if (!place) return;
    const field = columns[place.column];
    if (isDouble && field && target.matches(".grip")) setWidth(shape.name, field.name, undefined);
    if (target.closest("a, input, select, textarea, .grip")) return;
    const record = recordAt(place);
    if (isDouble) {
      if (place.row >= 0) void edit.begin(place.row, place.column);
      return;
    }
    if (event.shiftKey && place.row >= 0 && place.column > 0 && active.row >= 0) {
      return moveTo(place.row, place.column, anchor ?? active);
    }
    stopAt(place);
    setAnchor(null);
    if (place.row < 0) {
      if (!field) addField();
      else if (target.closest(".menu-of")) props.onMenu(field.name);
      else if (place.column === 0 && isOnBox(event)) props.onSelectAll();
      else onSort(field.name, event.shiftKey);
    } else if (place.column === 0 && record) {
      const id = idOf(shape.name, record);
      if (event.shiftKey || hasModifier(event) || isOnBox(event)) props.onSelect(id, event.shiftKey);
      else onOpen(id);
    }
  };

  const startDrag = useRangeDrag((from, to) => moveTo(to.row, to.column, from));
  const onPress = (event: PointerEvent) => {
    const target = event.target as HTMLElement,
      place = placeOf(target),
      field = columns[place?.column ?? -1];
    if (!place || !field) return;
    if (!target.matches(".grip")) {
      const isMouse = event.pointerType === "mouse" && event.button === 0 && !event.shiftKey;
      if (isMouse && place.row >= 0 && !isNarrow && !target.closest("a, .edits")) startDrag(event, place);
      return;
    }
    const width = target.parentElement!.offsetWidth;
    drag(event, (x) => setWidth(shape.name, field.name, width + x));
  };

  const recordIn = (row: number): Obj | undefined =>
    row === edit.row && idAt(row) !== edit.cell?.id ? edit.cell?.record : rows.at(row);
  const indices = visibleRows(first, last, [active.row, edit.row], count);
  const slots = useSlots(indices, (row) => idOf(shape.name, recordIn(row) ?? {}));
  const widths = useWidths(columns, rows, shape),
    plus = hasPlus ? plusWidth : 0;
  if (rows.error.value && total === null) return <ErrorBox error={rows.error.value} />;
  const template = widths.map(({ least, most }) => `minmax(${least}px, ${most}px)`).join(" ") + ` minmax(${plus}px, 1fr)`;
  const sum = widths.reduce((all, { least }) => all + least, plus);
  const columnOf = (row: number) => (active.row === row ? active.column : -1);

  return (
    <div
      class="gridbox"
      data-more={!isNarrow && sum > view.right ? "" : undefined}
      data-less={!isNarrow && view.left > 0 ? "" : undefined}
      style={{ "--fixed": (widths[0]?.least ?? 0) + "px" }}
    >
      <div
        ref={scroller}
        class={isNarrow ? "grid narrow" : "grid"}
        role="grid"
        aria-label={shape.name}
        aria-rowcount={total === null ? -1 : count + 1}
        aria-colcount={lastColumn(-1) + 1}
        aria-busy={total === null}
        aria-multiselectable={true}
        data-all={total !== null && total > 0 && selected.size >= Math.min(total, mostChanged.value) ? "" : undefined}
        aria-readonly={isReadOnly.value || undefined}
        style={{ "--columns": template, "--wide": sum + "px", "--row": height + "px" }}
        onKeyDown={onKey}
        onFocusIn={(event) => {
          hasFocus.current = true;
          const place = placeOf(event.target as HTMLElement);
          if (place && (place.row !== active.row || place.column !== active.column)) stopAt(place);
        }}
        onFocusOut={(event) => {
          const to = event.relatedTarget as Node | null,
            edited = (event.target as HTMLElement).closest(".edits");
          if (!to) return;
          hasFocus.current = false;
          if (edited && !edited.contains(to)) void edit.save();
        }}
        onPointerDown={onPress}
        onMouseDown={(event) => {
          if (event.shiftKey && !(event.target as HTMLElement).closest(".edits")) event.preventDefault(); // selects no text
        }}
        onContextMenu={(event) => {
          const place = placeOf(event.target as HTMLElement);
          if (!place || event.shiftKey || (event.target as HTMLElement).closest("a, .edits")) return; // the browser's own
          event.preventDefault();
          if (columnsIn(range, place.row) === "" || place.column < range.left || place.column > range.right) {
            stopAt(place);
            setAnchor(null);
          }
          openMenu(event.clientX, event.clientY, place);
        }}
        onPaste={(event) => {
          const text = event.clipboardData?.getData("text/plain") ?? "";
          if ((event.target as HTMLElement).closest(".edits") || active.row < 0 || text === "") return;
          event.preventDefault();
          withTools((tools) => tools.pasteBlock(block, text));
        }}
        onClick={(event) => onPointer(event, false)}
        onDblClick={(event) => onPointer(event, true)}
      >
        <div class="head row" role="row" aria-rowindex={1} hidden={isNarrow}>
          {columns.map((field, i) => (
            <ColumnHeader key={field.name} field={field} column={i} sort={sort} isActive={columnOf(-1) === i} />
          ))}
          {hasPlus && (
            <div
              role="columnheader"
              title="Add a field"
              aria-colindex={columns.length + 1}
              class="cell plus"
              data-cell={"-1:" + columns.length}
              tabIndex={columnOf(-1) === columns.length ? 0 : -1}
            >
              <Icon name="plus" size={14} />
              <span class="offscreen">Add a field</span>
            </div>
          )}
        </div>
        <div class="spacer" role="rowgroup" style={{ height: shownHeight + "px" }}>
          {total === null ? (
            <Skeleton columns={columns.length} height={height} />
          ) : (
            indices.map((i) => {
              const record = recordIn(i),
                id = record ? idOf(shape.name, record) : "";
              return (
                <Row
                  key={slots.get(i)}
                  index={i}
                  y={Math.round(i * height - view.top * (scale - 1))}
                  id={id}
                  record={record}
                  columns={columns}
                  active={columnOf(i)}
                  isOpened={id !== "" && id === opened}
                  isSelected={selected.has(id)}
                  range={columnsIn(range, i)}
                  fresh={marksOf(fresh, id)}
                  faults={faultsOf(shape.name, id)}
                  edit={edit.row === i ? edit.cell : null}
                  onEdit={edit.type}
                  card={isNarrow ? shape : null}
                />
              );
            })
          )}
        </div>
      </div>
      {total === 0 && <NoRows isFiltered={isFiltered} onNew={props.onNew} />}
    </div>
  );
}

function NoRows({ isFiltered, onNew }: { isFiltered: boolean; onNew: () => void }) {
  if (isFiltered) {
    return (
      <Empty icon="filter" title="No matches">
        <p>No record meets all of these conditions. Remove one above.</p>
      </Empty>
    );
  }
  return (
    <Empty icon="table" title="No records yet">
      <p>
        Send a <span class="code">POST</span>, or add one to the file. It appears here at once.
      </p>
      <WriteButton icon="plus" onClick={onNew}>
        New record
      </WriteButton>
    </Empty>
  );
}

interface ColumnHeaderProps {
  field: Field;
  column: number;
  sort: Sort[];
  isActive: boolean;
}

function ColumnHeader({ field, column, sort, isActive }: ColumnHeaderProps) {
  const at = sort.findIndex((s) => s.member === field.name),
    own = sort[at];
  const direction = own ? (own.descending ? "descending" : "ascending") : "none";
  return (
    <div
      role="columnheader"
      aria-colindex={column + 1}
      aria-sort={direction}
      class={"cell" + (column > 0 && field.kind === "number" ? " right" : "")}
      data-cell={"-1:" + column}
      tabIndex={isActive ? 0 : -1}
      title={field.description || field.name}
    >
      <span class="name">{field.name}</span>
      {own && <Icon name={own.descending ? "sortdown" : "sortup"} size={13} />}
      {own && sort.length > 1 && <sup>{at + 1}</sup>}
      <span class="menu-of" aria-hidden="true">
        <Icon name="dots" size={14} />
      </span>
      <span class="grip" />
    </div>
  );
}

const boxWidth = 26; // px

/** Whether a click in the first column is on the box that selects the record. */
const isOnBox = (event: MouseEvent): boolean =>
  event.clientX < (event.currentTarget as HTMLElement).getBoundingClientRect().left + boxWidth &&
  (event as PointerEvent).pointerType !== "touch";

const clamp = (n: number, min: number, max: number): number => Math.max(min, Math.min(max, n));

const cellAt = (grid: HTMLElement | null, place: Place): HTMLElement | null =>
  grid?.querySelector<HTMLElement>(`[data-cell="${place.row}:${place.column}"]`) ?? null;

const announceRange = ({ top, bottom, left, right }: Range) =>
  announce(`${countOf(bottom - top + 1, "row")}, ${countOf(right - left + 1, "column")}`);

/** Whether a key types something, or begins to compose it. */
const isTyped = (event: KeyboardEvent): boolean =>
  hasLetters.value &&
  event.key !== " " &&
  (event.key.length === 1 || event.key === "Process") &&
  (event.getModifierState("AltGraph") || !(event.ctrlKey || event.metaKey || event.altKey));

const isMenuKey = (event: KeyboardEvent): boolean =>
  event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);

/** Renders what changes before it returns. */
function renderNow(change: () => void): void {
  const { debounceRendering } = options;
  options.debounceRendering = (render) => render();
  change();
  if (debounceRendering) options.debounceRendering = debounceRendering;
  else delete options.debounceRendering;
}

/** Returns where a key leads, or undefined. */
function targetOf(
  key: string,
  control: boolean,
  from: Place,
  rows: number,
  last: number, // column
  page: number,
): Place | undefined {
  const { row, column } = from,
    far = Math.max(1, page);
  switch (key) {
    case "ArrowUp":
      return { row: control ? 0 : row - 1, column };
    case "ArrowDown":
      return { row: control ? rows - 1 : row + 1, column };
    case "ArrowLeft":
      return { row, column: control ? 0 : column - 1 };
    case "ArrowRight":
      return { row, column: control ? last : column + 1 };
    case "Home":
      return { row: control ? 0 : row, column: 0 };
    case "End":
      return { row: control ? rows - 1 : row, column: last };
    case "PageUp":
      if (control) break; // the tab to the left
      return { row: Math.max(0, row - far), column };
    case "PageDown":
      if (control) break;
      return { row: row + far, column };
  }
  return undefined;
}

/** Returns the part of the grid that is visible. */
function useView(scroller: { current: HTMLElement | null }) {
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
function useRequests(rows: Rows, total: number | null, first: number, last: number): void {
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

function scrollToRow(grid: HTMLElement, y: number, height: number, top: number, scale: number): void {
  const room = grid.clientHeight - height; // the header covers a row
  if (y < top) grid.scrollTop = y / scale;
  else if (y + height > top + room) grid.scrollTop = (y + height - room) / scale;
}

function scrollToColumn(grid: HTMLElement, column: number): void {
  const cell = grid.querySelector<HTMLElement>(`.head [data-cell="-1:${column}"]`);
  const fixed = grid.querySelector<HTMLElement>(`.head [data-cell="-1:0"]`)?.offsetWidth ?? 0;
  if (!cell || column === 0) return;
  const left = cell.offsetLeft,
    right = left + cell.offsetWidth;
  if (left - fixed < grid.scrollLeft) grid.scrollLeft = left - fixed;
  else if (right > grid.scrollLeft + grid.clientWidth) grid.scrollLeft = right - grid.clientWidth;
}

/** Returns the rows that have elements: the visible ones, the one with the tab stop and the one that is edited. */
function visibleRows(first: number, last: number, others: [active: number, edited: number], count: number): number[] {
  const indices = new Set<number>();
  for (let i = first; i <= last; i++) indices.add(i);
  if (others[0] < count) indices.add(others[0]);
  indices.add(others[1]);
  indices.delete(-1);
  return [...indices].sort((a, b) => a - b);
}

/** Keeps the row that is edited where it is on the screen when others come or go above it. */
function useStill(scroller: { current: HTMLElement | null }, id: string | undefined, row: number, height: number): void {
  const before = useRef({ id, row });
  useLayoutEffect(() => {
    const { id: lastID, row: last } = before.current;
    if (id !== undefined && id === lastID) scroller.current?.scrollBy(0, (row - last) * height);
    before.current = { id, row };
  }, [id, row]);
}

/** Returns who changed a record, and its marks: the fields that changed, or "*" for a new record. */
function marksOf(fresh: ReadonlyMap<string, Author>, id: string): string {
  if (fresh.size === 0 || id === "") return "";
  const own = [...fresh].filter(([mark]) => mark === id || mark.startsWith(id + "/"));
  return [...own.slice(-1).map(([, by]) => by), ...own.map(([mark]) => mark.slice(id.length + 1) || "*")].join("\n");
}

/**
 * Returns which element shows which row. A record keeps its element when its row
 * moves, with the focus in it; and the element of a row that is scrolled out of sight
 * shows one that comes into it. That is half the work of making new ones.
 */
function useSlots(indices: number[], idAt: (row: number) => string): Map<number, number> {
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
