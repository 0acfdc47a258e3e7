// The tools of the page, in the order in which the contents list them.
import type { IconName } from "./icons.tsx";

export interface Tool {
  name: string;
  screen: string;
  icon: IconName;
}

export const tools: Tool[] = [
  { name: "Requests", screen: "requests", icon: "pulse" },
  { name: "Changes", screen: "changes", icon: "history" },
  { name: "Problems", screen: "problems", icon: "alert" },
  { name: "Relations", screen: "relations", icon: "share" },
  { name: "Sessions", screen: "sessions", icon: "layers" },
];
