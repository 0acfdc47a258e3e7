// The columns of a table: which are shown, their order and their widths.
import { useState } from "preact/hooks";
import { choiceOf, choose, resetColumns, setWidth } from "./columns.ts";
import type { Field, Shape } from "../data/schema.ts";
import { Button, Dialog } from "../ui.tsx";

interface ColumnMenuProps {
  shape: Shape;
  all: Field[];
  member: string; // of the header from which it was opened, or ""
  onSort: (member: string) => void;
  onClose: () => void;
}

const widthStep = 40; // px

export function ColumnMenu({ shape, all, member, onSort, onClose }: ColumnMenuProps) {
  const name = shape.name,
    choice = choiceOf(name);
  const order = [...choice.order, ...all.map((field) => field.name).filter((n) => !choice.order.includes(n))].filter(
    (n) => n !== shape.key && all.some((field) => field.name === n),
  );
  const [selected, setSelected] = useState(member || order[0] || "");
  const move = (by: number) => {
    const from = order.indexOf(selected),
      to = from + by;
    if (from < 0 || to < 0 || to >= order.length) return;
    const next = [...order];
    next.splice(to, 0, ...next.splice(from, 1));
    choose(name, { order: next });
  };
  const toggle = (column: string) => {
    const isHidden = choice.hidden.includes(column);
    choose(name, { hidden: isHidden ? choice.hidden.filter((h) => h !== column) : [...choice.hidden, column] });
  };
  const widen = (by: number) => setWidth(name, selected, widthOfHeader(selected) + by);
  return (
    <Dialog title={"Columns of " + name} onClose={onClose}>
      <h2>Columns of {name}</h2>
      <ul class="columns-list">
        {order.map((column) => (
          <li key={column} class={column === selected ? "opened" : ""}>
            <label class="check">
              <input
                type="checkbox"
                checked={!choice.hidden.includes(column)}
                onChange={() => toggle(column)}
                onFocus={() => setSelected(column)}
              />
              <span class="clip">{column}</span>
            </label>
          </li>
        ))}
      </ul>
      {selected && (
        <div class="row-of wrap" role="group" aria-label={"Column " + selected}>
          <span class="code clip">{selected}</span>
          <Button icon="sortup" onClick={() => onSort(selected)}>
            Sort
          </Button>
          <Button icon="up" label="Move up" onClick={() => move(-1)} />
          <Button icon="down" label="Move down" onClick={() => move(1)} />
          <Button onClick={() => widen(-widthStep)}>Narrower</Button>
          <Button onClick={() => widen(widthStep)}>Wider</Button>
        </div>
      )}
      <div class="row-of end">
        <Button onClick={() => resetColumns(name)}>Reset</Button>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}

/** Returns the width that a column has now. */
function widthOfHeader(column: string): number {
  const headers = [...document.querySelectorAll<HTMLElement>("[role=columnheader]")];
  return headers.find((header) => header.querySelector(".name")?.textContent === column)?.offsetWidth ?? 160;
}
