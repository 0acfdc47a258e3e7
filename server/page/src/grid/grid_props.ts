// What a table needs of the screen that shows it.
import type { Json } from "../data/json.ts";
import type { Sort } from "../data/query.ts";
import type { Field, Shape } from "../data/schema.ts";
import type { Rows } from "./rows.ts";

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
  onFilter: (member: string, value: Json | undefined, without?: boolean) => void; // undefined: the other way each time
  onNew: () => void;
  onMenu: (member: string) => void;
}
