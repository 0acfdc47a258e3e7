// The table of records: an ARIA grid that has elements only for the visible
// rows. One cell has the tab stop. Its row stays in the page wherever the grid is
// scrolled to, so that the keyboard does not lose its place.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { canWrite, isReadOnly, idOf } from "../data/catalog.ts";
import { useCellEdit } from "./cell_edit.ts";
import {
  cellAt,
  clamp,
  columnsIn,
  isOnBox,
  isOneCell,
  placeOf,
  rangeOf,
  useRangeDrag,
  type Place,
  type Range,
} from "./range.ts";
import { faultsOf } from "../data/findings.ts";
import { ColumnHeader, NoRows } from "./grid_head.tsx";
import type { GridProps } from "./grid_props.ts";
import { isMenuKey, isTyped, targetOf } from "./grid_keys.ts";
import { Row, Skeleton } from "./grid_row.tsx";
import {
  marksOf,
  scrollToColumn,
  scrollToRow,
  useRequests,
  useSlots,
  useStill,
  useView,
  visibleRows,
} from "./grid_view.ts";
import { cardHeight, maxHeight, plusWidth, rowHeight, rowsAround } from "./grid_sizes.ts";
import { memberOf, type Obj } from "../data/json.ts";
import { withTools } from "../lazy.tsx";
import { announce } from "../messages.tsx";
import { href } from "../route.ts";
import { isStructured } from "../data/schema.ts";
import { mostChanged } from "../data/transaction.ts";
import { isWaiting, takeKeys } from "../typing.tsx";
import { Icon } from "../icons.tsx";
import { count as countOf, drag, ErrorBox, hasModifier, useNarrow } from "../ui.tsx";
import { setWidth, useWidths } from "./columns.ts";

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
  const [end, setEnd] = useState<Place | null>(null); // of a range of cells that begins at the tab stop
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
    setEnd(null);
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
    takeKeys(cell.querySelector<HTMLElement>("input, select, textarea") ?? cell);
  });

  // The tab stop follows its record when others come or go above it.
  const idAt = (row: number): string => idOf(shape.name, rows.at(row) ?? {});
  const stopAt = ({ row, column }: Place) => setActive({ row, column, id: idAt(row) });
  useLayoutEffect(() => {
    const id = idAt(active.row);
    if (id === "" || id === active.id) return;
    const row = active.id ? rows.indexOf(active.id) : -1;
    setActive(row < 0 ? { ...active, id } : { ...active, row });
    if (row >= 0) setEnd((to) => to && { ...to, row: clamp(to.row + row - active.row, 0, lastRow) });
  }, [rows, rows.version.value]);

  const scrollTo = (row: number, column: number, least: number): Place => {
    const inside = clamp(row, least, count - 1),
      place = { row: inside, column: clamp(column, 0, lastColumn(inside)) };
    const element = scroller.current!;
    if (place.row >= 0) scrollToRow(element, place.row * height, height, top, scale);
    scrollToColumn(element, place.column);
    return place;
  };
  const moveTo = (row: number, column: number) => {
    const place = scrollTo(row, column, -1);
    focusOn.current = place;
    stopAt(place);
    setEnd(null);
  };
  const extendTo = (row: number, column: number) => {
    const place = scrollTo(row, column, 0);
    setEnd(place);
    announceRange(rangeOf(active, place));
  };
  const edit = useCellEdit(rows, shape, columns, onOpen, moveTo);
  useStill(scroller, edit.cell?.id, edit.row, height / scale);
  const recordAt = (place: Place): Obj | undefined => (place.row < 0 ? undefined : rows.at(place.row));
  const range = rangeOf(active, end);
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
      if (event.key === "Enter" && hasModifier(event) && !isOneCell(range)) {
        const text = edit.cell?.draft ?? "";
        edit.cancel();
        withTools((tools) => tools.fillBlock(block, text));
        event.preventDefault();
      } else if (edit.onKey(event)) event.preventDefault();
      event.stopPropagation();
      return;
    }
    const { row, column } = active,
      key = event.key.toLowerCase(),
      control = hasModifier(event);
    if (isTyped(event) && edit.canType(row, column)) {
      void edit.begin(row, column, true); // the key is typed into the input
      event.stopPropagation();
      return;
    }
    if (event.altKey) {
      if (opened === undefined || !/^Arrow(Up|Down)$/.test(event.key)) return;
      props.onStep(event.key === "ArrowDown" ? 1 : -1);
      event.preventDefault();
      return;
    }
    const isExtending = event.shiftKey && row >= 0;
    const target = targetOf(
      event.key,
      control,
      isExtending ? (end ?? active) : active,
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
    } else if (target && isExtending) extendTo(target.row, target.column);
    else if (target) moveTo(target.row, target.column);
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
    else if (event.key === " " && typeof value === "boolean" && canWrite(shape, field)) void edit.toggle(row, column);
    else if (event.key === " ") onOpen(id);
    else if (event.key === "Delete" || event.key === "Backspace") {
      if (isOneCell(range)) void edit.clear(row, column);
      else withTools((tools) => tools.clearBlock(block));
    } else if (control && key === "f" && event.shiftKey) {
      if (isStructured(field, value)) announce("Cannot filter by a list or an object");
      else onFilter(field.name, value);
    } else if (control && key === "c" && !String(getSelection())) {
      withTools((tools) => tools.copyBlock(block, event.shiftKey, selected));
    } else if (control && key === "x" && !isReadOnly.value) withTools((tools) => tools.cutBlock(block));
    else if (control && key === "d" && range.bottom > range.top) withTools((tools) => tools.fillDown(block));
    else if (control && key === "a") props.onSelectAll();
    else if (event.key === "Escape") setEnd(null);
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
      return extendTo(place.row, place.column);
    }
    stopAt(place);
    setEnd(null);
    if (target.closest(".yes, .no") && place.column > 0 && field && canWrite(shape, field)) {
      void edit.toggle(place.row, place.column);
      return;
    }
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

  const startDrag = useRangeDrag((to) => extendTo(to.row, to.column));
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
  const template =
    widths.map(({ least, most }) => `minmax(${least}px, ${most}px)`).join(" ") + ` minmax(${plus}px, 1fr)`;
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
          if (!to || isWaiting(to)) return;
          hasFocus.current = false;
          if (edited && !edited.contains(to)) void edit.save();
        }}
        onPointerDown={onPress}
        onMouseDown={(event) => {
          const place = placeOf(event.target as HTMLElement),
            isForMenu = event.button === 2 && place !== null && columnsIn(range, place.row) !== "";
          // With Shift no text is selected, and the menu of a range leaves the range as it is.
          if ((event.shiftKey || isForMenu) && !(event.target as HTMLElement).closest(".edits")) event.preventDefault();
        }}
        onContextMenu={(event) => {
          const place = placeOf(event.target as HTMLElement);
          const isBrowsers = event.shiftKey || (event.target as HTMLElement).closest("a, .edits");
          if (!place || isBrowsers) return;
          event.preventDefault();
          if (columnsIn(range, place.row) === "" || place.column < range.left || place.column > range.right) {
            stopAt(place);
            setEnd(null);
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

const announceRange = ({ top, bottom, left, right }: Range) =>
  announce(`${countOf(bottom - top + 1, "row")}, ${countOf(right - left + 1, "column")}`);
