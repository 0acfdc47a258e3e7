// The tools of the page, in the order in which the contents list them.
import { session } from "./data/api.ts";
import { relations } from "./data/catalog.ts";
import { sessions } from "./data/sessions.ts";
import type { IconName } from "./icons.tsx";

export interface Tool {
  name: string;
  screen: string;
  icon: IconName;
}

/** Returns the tools that have something to show: a session has no file that could be wrong. */
export const shownTools = (): Tool[] =>
  tools.filter(({ screen }) => {
    if (screen === "problems") return !session.value;
    if (screen === "relations") return relations.value.length > 0;
    return screen !== "sessions" || session.value !== "" || (sessions.value ?? []).length > 0;
  });

export const tools: Tool[] = [
  { name: "Requests", screen: "requests", icon: "pulse" },
  { name: "Changes", screen: "changes", icon: "history" },
  { name: "Problems", screen: "problems", icon: "alert" },
  { name: "Relations", screen: "relations", icon: "share" },
  { name: "Sessions", screen: "sessions", icon: "layers" },
];
