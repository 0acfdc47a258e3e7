// The menu of a cell or of a column's header.
import { ask, pathOf } from "../data/api.ts";
import { canWrite, hasCollection, idOf, isReadOnly } from "../data/catalog.ts";
import { dialog } from "../dialogs.ts";
import { isObject, memberOf, stringify, type Json, type Obj } from "../data/json.ts";
import { toast, toastError } from "../messages.tsx";
import { showMenu, type MenuItem } from "../menu.tsx";
import { go, href } from "../route.ts";
import { fieldOf, isStructured, type Field } from "../data/schema.ts";
import { deleteRecords } from "../data/transaction.ts";
import { toastUndo } from "../data/undo.ts";
import { controlKey, count } from "../ui.tsx";
import { showAddField } from "./add_field.tsx";
import { clearBlock, copyBlock, fillDown, pasteBlock, type Block } from "./block.ts";
import { FindReplace } from "./find_replace.tsx";
import { isOneCell } from "./range.ts";
import { showRemove, showRename, type Part } from "./reshape.tsx";

interface CellMenuOptions extends Block {
  x: number;
  y: number;
  row: number; // -1 is the header
  column: number;
  selected: ReadonlySet<string>;
  onEdit: () => void;
  onOpen: (id: string) => void;
  onFilter: (member: string, value: Json | undefined, without: boolean) => void;
  onSort: (member: string, more: boolean) => void;
  onMenu: (member: string) => void;
  onNew: () => void;
}

export function showCellMenu(options: CellMenuOptions): void {
  const { x, y, row, column, columns } = options,
    field = columns[column];
  if (!field) return;
  const groups = row < 0 ? headerItems(options, field) : cellItems(options, field);
  const all = groups.map((group) => group.filter((item) => !item.writes || !isReadOnly.value));
  showMenu(row < 0 ? "Column " + field.name : "Cell", x, y, all);
}

function headerItems({ rows, shape, onSort, onMenu }: CellMenuOptions, field: Field): MenuItem[][] {
  const show = (): MenuItem[] => [replaceItem({ rows, shape }, field)];
  return [
    [
      { name: "Sort", icon: "sortup", keys: "Enter", run: () => onSort(field.name, false) },
      { name: "Sort by this, too", keys: "Shift Enter", run: () => onSort(field.name, true) },
    ],
    [{ name: "Columns…", icon: "columns", run: () => onMenu(field.name) }],
    [
      ...(canWrite(shape, field) ? show() : []),
      { name: "Add a field…", icon: "plus", writes: true, run: () => showAddField(shape) },
      ...(canWrite(shape, field) ? reshapeItems({ collection: shape.name, field: field.name }) : []),
    ],
  ];
}

const reshapeItems = (part: Part & { field: string }): MenuItem[] => [
  { name: `Rename ${part.field}…`, writes: true, run: () => showRename(part) },
  { name: `Remove ${part.field}…`, icon: "trash", writes: true, run: () => showRemove(part) },
];

const replaceItem = ({ rows, shape }: Pick<Block, "rows" | "shape">, field: Field): MenuItem => ({
  name: `Find and replace in ${field.name}…`,
  icon: "search",
  writes: true,
  run: () => {
    dialog.value = <FindReplace rows={rows} shape={shape} field={field.name} />;
  },
});

function cellItems(options: CellMenuOptions, field: Field): MenuItem[][] {
  const { rows, shape, range, selected, onOpen, onFilter } = options,
    record = rows.at(options.row);
  if (!record) return [];
  const isOne = isOneCell(range),
    id = idOf(shape.name, record),
    value = memberOf(record, field.name),
    isPlain = !isStructured(field, value),
    isWritable = options.columns.slice(range.left, range.right + 1).some((own) => canWrite(shape, own));
  const target = field.collection && isPlain && value !== undefined && value !== null ? String(value) : "";
  const one: MenuItem[] = [];
  if (id !== "") {
    if (canWrite(shape, field) && isPlain) one.push({ name: "Edit", keys: "Enter", writes: true, run: options.onEdit });
    one.push({ name: "Open", icon: "right", keys: "Space", run: () => onOpen(id) });
  }
  if (target && hasCollection(field.collection)) {
    const open = () => go(href([field.collection, target]));
    one.push({ name: `Open ${field.collection} ${target}`, icon: "right", keys: controlKey + " Enter", run: open });
  }
  const filters: MenuItem[] = [
    {
      name: "Only with this value",
      icon: "filter",
      keys: controlKey + " Shift F",
      run: () => onFilter(field.name, value, false),
    },
    { name: "Only without it", run: () => onFilter(field.name, value, true) },
  ];
  const block: MenuItem[] = [
    { name: "Copy", icon: "copy", keys: controlKey + " C", run: () => void copyBlock(options, false, selected) },
    { name: "Copy as JSON", keys: controlKey + " Shift C", run: () => void copyBlock(options, true, selected) },
  ];
  if (isWritable) {
    block.push({ name: "Paste", keys: controlKey + " V", writes: true, run: () => void paste(options) });
    const { top, bottom } = range;
    if (bottom > top)
      block.push({ name: "Fill down", keys: controlKey + " D", writes: true, run: () => void fillDown(options) });
    block.push({ name: "Clear", keys: "Delete", writes: true, run: () => void clearBlock(options) });
  }
  const records =
    isOne && selected.size === 0 ? "record" : count(isOne ? selected.size : range.bottom - range.top + 1, "record");
  const whole: MenuItem[] = [
    { name: "New record", icon: "plus", keys: "Shift Enter", writes: true, run: options.onNew },
    ...(isOne ? [{ name: "Duplicate the record", writes: true, run: () => void duplicate(options, record) }] : []),
    { name: "Delete the " + records, icon: "trash", writes: true, run: () => void remove(options) },
  ];
  return [
    isOne ? one : [],
    isOne && isPlain ? filters : [],
    block,
    canWrite(shape, field) && isPlain ? [replaceItem(options, field)] : [],
    whole,
  ];
}

/** Pastes what the clipboard has. Not every browser tells a page. */
async function paste(block: Block): Promise<void> {
  let text;
  try {
    text = await navigator.clipboard.readText();
  } catch {
    toast(`The browser does not give the page the clipboard. Press ${controlKey} V.`, { bad: true });
    return;
  }
  await pasteBlock(block, text);
}

async function duplicate({ shape }: Block, record: Obj): Promise<void> {
  const own = Object.entries(record).filter(([name]) => name !== shape.key && !fieldOf(shape, name).readOnly);
  try {
    const answer = await ask("POST", pathOf(shape.name), { body: stringify(Object.fromEntries(own)) });
    const made = isObject(answer.data) ? idOf(shape.name, answer.data) : "";
    toastUndo(`${shape.name} ${made} created`, answer.revision);
  } catch (error) {
    toastError("Could not duplicate it.", error);
  }
}

async function remove({ rows, shape, range, selected }: CellMenuOptions): Promise<void> {
  try {
    const isOfRange = !isOneCell(range) || selected.size === 0;
    const ids = isOfRange ? new Set(await rows.idsOf(range.top, range.bottom + 1)) : selected;
    await deleteRecords(shape.name, ids, count(ids.size, "record") + " deleted");
  } catch (error) {
    toastError("Nothing was deleted.", error);
  }
}
