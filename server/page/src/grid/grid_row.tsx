// A row of the grid.
import { Component } from "preact";
import type { CellEdit } from "./cell_edit.ts";
import { messageOf } from "../data/api.ts";
import { nameOf, idOf } from "../data/catalog.ts";
import type { OnInput } from "../record/input_props.ts";
import { Lazy } from "../lazy.tsx";
import { isObject, memberOf, stringify, type Json, type Obj } from "../data/json.ts";
import type { Field, Kind, Shape } from "../data/schema.ts";
import { Value } from "../values.tsx";

interface RowProps {
  index: number;
  y: number; // px
  id: string;
  record: Obj | undefined; // undefined while it is not loaded
  columns: Field[];
  active: number; // the column with the tab stop, or -1
  isOpened: boolean;
  isSelected: boolean;
  range: string; // the columns that are selected, as in "1:3", or ""
  fresh: string; // who has just changed it, and the fields, one a line
  faults: ReadonlyMap<string, string> | undefined; // by field
  edit: CellEdit | null;
  onEdit: OnInput;
  card: Shape | null; // on a phone
}

export class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    return (Object.keys(next) as (keyof RowProps)[]).some(
      (name) => name !== "onEdit" && next[name] !== this.props[name],
    );
  }

  override render(props: RowProps) {
    const { index, y, record, columns, active, fresh, edit, card } = props;
    const style = { transform: `translateY(${y}px)` };
    if (record === undefined) {
      return (
        <div class="row" role="row" aria-rowindex={index + 2} style={style}>
          <div
            role="gridcell"
            class="cell wait"
            aria-colspan={columns.length}
            data-cell={index + ":" + Math.max(0, active)}
            tabIndex={active >= 0 ? 0 : -1}
          >
            <span class="offscreen">not loaded yet</span>
          </div>
        </div>
      );
    }
    const [by = "", ...marks] = fresh.split("\n"),
      [left = 0, right = -1] = props.range ? props.range.split(":").map(Number) : [];
    const classes = ["row", by];
    if (props.isOpened) classes.push("opened");
    if (props.isSelected) classes.push("selected");
    if (marks.includes("*")) classes.push("new");
    else if (card && fresh) classes.push("changed");
    if (edit) classes.push("editing");
    return (
      <div
        class={classes.join(" ")}
        role="row"
        aria-rowindex={index + 2}
        aria-selected={props.isSelected}
        aria-current={props.isOpened || undefined}
        style={style}
      >
        {columns.map((field, column) => (
          <Cell
            key={field.name}
            place={index + ":" + column}
            column={column}
            field={field}
            record={record}
            isActive={active === column}
            isInRange={column >= left && column <= right}
            isFresh={marks.includes(field.name)}
            fault={card ? [...(props.faults?.values() ?? [])].join(" ") : props.faults?.get(field.name)}
            edit={edit?.member === field.name ? edit : null}
            onEdit={props.onEdit}
            card={card}
          />
        ))}
      </div>
    );
  }
}

interface CellProps {
  place: string;
  column: number;
  field: Field;
  record: Obj;
  isActive: boolean;
  isInRange: boolean;
  isFresh: boolean;
  fault: string | undefined;
  edit: CellEdit | null;
  onEdit: OnInput;
  card: Shape | null;
}

function Cell({ place, column, field, record, isActive, isInRange, isFresh, fault, edit, onEdit, card }: CellProps) {
  const classes = ["cell"];
  if (column > 0 && field.kind === "number") classes.push("right");
  if (isFresh) classes.push("changed");
  if (edit) classes.push("edits");
  if (isInRange) classes.push("ranged");
  return (
    <div
      role={column === 0 ? "rowheader" : "gridcell"}
      aria-colindex={column + 1}
      data-cell={place}
      tabIndex={isActive && !edit ? 0 : -1}
      class={classes.join(" ")}
      aria-selected={isInRange || undefined}
      aria-invalid={fault ? true : undefined}
      title={fault || undefined}
    >
      {edit ? (
        <CellInput field={field} edit={edit} onEdit={onEdit} />
      ) : card ? (
        <Card record={record} shape={card} />
      ) : column === 0 && !isObject(record) ? (
        <span class="clip">{stringify(record as Json)}</span>
      ) : column === 0 && memberOf(record, field.name) === undefined ? (
        <span class="faint">no id</span>
      ) : (
        <Value value={memberOf(record, field.name)} field={field} />
      )}
    </div>
  );
}

function CellInput({ field, edit, onEdit }: { field: Field; edit: CellEdit; onEdit: OnInput }) {
  return (
    <>
      <Lazy
        show={({ Input }) => (
          <Input
            field={field}
            value={edit.draft}
            was={edit.was}
            autoFocus
            isTypedOver={edit.isTypedOver}
            label={field.name}
            isInvalid={edit.error !== null}
            describedBy={edit.error === null ? "" : "cell-error"}
            onInput={onEdit}
          />
        )}
      />
      {edit.error !== null && (
        <div class="cellerror" id="cell-error" role="alert">
          {messageOf(edit.error)}
        </div>
      )}
    </>
  );
}

/** A record in two lines. */
function Card({ record, shape }: { record: Obj; shape: Shape }) {
  const first = (...kinds: Kind[]) =>
    shape.fields.find(
      (f) => f.name !== shape.key && kinds.includes(f.kind) && (memberOf(record, f.name) ?? null) !== null,
    );
  const shown = [first("choice", "boolean"), first("reference"), first("time", "date") ?? first("number")];
  return (
    <span class="card-row">
      <span class="card-name">
        <b>{isObject(record) ? nameOf(shape.name, record) : stringify(record as Json)}</b>
        <span class="refid">{idOf(shape.name, record) || "no id"}</span>
      </span>
      <span class="card-more">
        {shown.map(
          (field) => field && <Value key={field.name} value={memberOf(record, field.name)} field={field} plain />,
        )}
      </span>
    </span>
  );
}

/** Grey bars where rows will be. */
export function Skeleton({ columns, height }: { columns: number; height: number }) {
  const cells = Array.from({ length: columns }, (_, i) => (
    <div key={i} class="cell" role="gridcell">
      <span class="skeleton-bar" />
    </div>
  ));
  return (
    <>
      {Array.from({ length: 12 }, (_, i) => (
        <div key={i} class="row" role="row" style={{ transform: `translateY(${i * height}px)` }}>
          {cells}
        </div>
      ))}
    </>
  );
}
