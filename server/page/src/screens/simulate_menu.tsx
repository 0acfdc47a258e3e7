// What can be simulated for the endpoint that a table shows.
import { toastError } from "../messages.tsx";
import { showMenu } from "../menu.tsx";
import { go } from "../route.ts";
import { addRules, removeAllRules, rules, type Rule } from "../data/simulation.ts";

const slow = 1000; // ms

/** Shows the menu below a button. path is that of the list. */
export function showSimulateMenu(button: HTMLElement, path: string): void {
  const { left, bottom } = button.getBoundingClientRect();
  const all = [path, path + "/*"]; // the list and its records
  const add = (name: string, ...own: Rule[]) => ({
    name,
    run: () => {
      addRules(...own).catch((error: unknown) => toastError("Could not simulate it.", error));
    },
  });
  showMenu("Simulate", left, bottom + 4, [
    [
      add("Slow answers", ...all.map((own) => ({ path: own, delay: slow }))),
      add("Fail the next request", { path, code: 503, times: 1 }),
      add("Empty list", { path, methods: ["GET"], code: 200, body: [] }),
      add("Unauthorized", ...all.map((own) => ({ path: own, code: 401 }))),
    ],
    [
      { name: "More…", run: () => go("#/_/simulate") },
      ...(rules.value.length > 0 ? [{ name: "End the simulation", run: endSimulation }] : []),
    ],
  ]);
}

export function endSimulation(): void {
  removeAllRules().catch((error: unknown) => toastError("Could not remove the rules.", error));
}
