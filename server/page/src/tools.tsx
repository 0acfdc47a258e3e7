// The second bundle: the screens of the tools, and the dialogs of the other screens.
import { Changes } from "./changes.tsx";
import { Problems } from "./problems.tsx";
import { Relations } from "./relations.tsx";
import { Requests } from "./requests.tsx";
import { Sessions } from "./sessions.tsx";

export { ColumnMenu } from "./column_menu.tsx";
export { KeyHelp } from "./key_help.tsx";
export { NoCollection, NoScreen } from "./nowhere.tsx";
export { EmptyFile, OverviewCards } from "./overview_cards.tsx";
export { Palette } from "./palette.tsx";
export { Input } from "./inputs.tsx";
export { RecordPanel } from "./record.tsx";
export { settle } from "./reference_input.tsx";
export { unseenFailures } from "./request_log.ts";
export { SelectionBar } from "./selection.tsx";
export { SimulationStrip } from "./simulation_strip.tsx";

const screens: Record<string, () => preact.JSX.Element> = {
  changes: Changes,
  problems: Problems,
  relations: Relations,
  requests: Requests,
  sessions: Sessions,
};

export function Tool({ name }: { name: string }) {
  const ToolScreen = screens[name]!;
  return <ToolScreen />;
}
