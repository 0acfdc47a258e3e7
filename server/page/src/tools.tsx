// The second bundle: the screens of the tools, and the dialogs of the other screens.
import { Changes } from "./changes.tsx";
import { NoScreen } from "./nowhere.tsx";
import { Problems } from "./problems.tsx";
import { Relations } from "./relations.tsx";
import { Requests } from "./requests.tsx";
import { Sessions } from "./sessions.tsx";
import { Simulation } from "./simulation_bar.tsx";

export { ColumnMenu } from "./column_menu.tsx";
export { KeyHelp } from "./key_help.tsx";
export { NoCollection } from "./nowhere.tsx";
export { EmptyFile, OverviewCards } from "./overview_cards.tsx";
export { Palette } from "./palette.tsx";
export { Input } from "./inputs.tsx";
export { RecordPanel } from "./record.tsx";
export { settle } from "./reference_input.tsx";
export { unseenFailures } from "./request_log.ts";
export { SelectionBar } from "./selection.tsx";
export { SimulationStrip } from "./simulation_strip.tsx";

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
