// The header of a column, and what a table without rows says.
import type { Sort } from "../data/query.ts";
import type { Field } from "../data/schema.ts";
import { Icon } from "../icons.tsx";
import { Empty } from "../ui.tsx";
import { WriteButton } from "../write_button.tsx";

export function NoRows({ isFiltered, onNew }: { isFiltered: boolean; onNew: () => void }) {
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

export function ColumnHeader({ field, column, sort, isActive }: ColumnHeaderProps) {
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
