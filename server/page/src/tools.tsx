// The second bundle: the screens of the tools, and the dialogs of the other screens.
import { Changes } from "./screens/changes.tsx";
import { NoScreen } from "./screens/not_found.tsx";
import { Problems } from "./screens/problems.tsx";
import { Relations } from "./screens/relations.tsx";
import { Requests } from "./screens/requests.tsx";
import { Sessions } from "./screens/sessions.tsx";
import { Simulation } from "./screens/simulate.tsx";

export { showAddField } from "./grid/add_field.tsx";
export { clearBlock, copyBlock, cutBlock, fillBlock, fillDown, pasteBlock } from "./grid/block.ts";
export { showCellMenu } from "./grid/cell_menu.tsx";
export { showCollectionMenu } from "./grid/collection_menu.tsx";
export { ColumnMenu } from "./grid/column_menu.tsx";
export { showImport } from "./grid/import.tsx";
export { showNewCollection } from "./grid/new_collection.tsx";
export { showCode } from "./screens/code.tsx";
export { LeaveDialog } from "./leave_dialog.tsx";
export { KeyHelp } from "./screens/key_help.tsx";
export { NoCollection } from "./screens/not_found.tsx";
export { EmptyFile, MadeSchema, OverviewCards } from "./screens/overview_cards.tsx";
export { Palette } from "./screens/palette.tsx";
export { Input } from "./record/inputs.tsx";
export { RecordPanel } from "./record/record.tsx";
export { resolveInput } from "./data/references.ts";
export { unseenFailures } from "./data/request_log.ts";
export { SelectionBar } from "./grid/selection.tsx";
export { showSimulateMenu } from "./screens/simulate_menu.tsx";
export { SimulationBanner } from "./screens/simulation_banner.tsx";

const screens = new Map([
  ["changes", Changes],
  ["problems", Problems],
  ["relations", Relations],
  ["requests", Requests],
  ["sessions", Sessions],
  ["simulate", Simulation],
]);

export function Tool({ name }: { name: string }) {
  const ToolScreen = screens.get(name);
  return ToolScreen ? <ToolScreen /> : <NoScreen name={name} />;
}
