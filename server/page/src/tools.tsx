// The screens of the tools, a bundle of its own that is loaded when one is shown.
import { Changes } from "./changes.tsx";
import { Problems } from "./problems.tsx";
import { Relations } from "./relations.tsx";
import { Requests } from "./requests.tsx";
import { Sessions } from "./sessions.tsx";

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
