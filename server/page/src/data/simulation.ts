// The rules for simulated answers that are set at run time.
import { computed, effect, signal } from "@preact/signals";
import { ask, read, type Schemas } from "./api.ts";
import { isReadOnly, status } from "./catalog.ts";
import type { Obj } from "./json.ts";
import { onNews, requests } from "./live.ts";

export type Rule = Schemas["SimulationRule"];

export const rules = signal<Rule[]>([]);

export const canSimulate = computed(() => status.value?.mode.simulate === true && !isReadOnly.value);

/** A rule of the list. One that is off is kept by this browser alone, and the server does not know it. */
export interface ListedRule {
  rule: Rule;
  isOn: boolean;
}

const kept = "pickup.rules"; // those that are off
const offRules = signal<Rule[]>([]);
const loadOff = (): void => {
  offRules.value = JSON.parse(localStorage.getItem(kept) ?? "[]") as Rule[];
};
loadOff();
addEventListener("storage", loadOff); // another tab has changed them

export const listedRules = computed<ListedRule[]>(() => [
  ...rules.value.map((rule) => ({ rule, isOn: true })),
  ...offRules.value.map((rule) => ({ rule, isOn: false })),
]);

function setOff(list: Rule[]): void {
  offRules.value = list;
  localStorage.setItem(kept, JSON.stringify(list));
}

const holdName = "page"; // under which the rules of the page hold requests

export const endings = [
  "503",
  "500",
  "502",
  "401",
  "404",
  "429",
  "connection-reset",
  "empty-response",
  "lost-answer",
  "hold",
];

/** Returns how a rule ends a request: a status, a fault of the connection, "hold", or "" for as without the rule. */
export const endingOf = ({ hold, fault, code, body }: Rule): string =>
  hold ? "hold" : String(fault ?? code ?? (body === undefined ? "" : 200));

/** Returns a rule that ends requests in another way. */
export function withEnding({ hold, fault, code, body, headers, ...rest }: Rule, ending: string): Rule {
  if (ending === "") return rest;
  if (ending === "hold") return { ...rest, hold: holdName };
  return /^\d+$/.test(ending)
    ? { ...rest, code: Number(ending) }
    : { ...rest, fault: ending as NonNullable<Rule["fault"]> };
}

async function loadRules(): Promise<void> {
  if (!status.value?.mode.simulate) return;
  rules.value = await read<Rule[]>("/_/simulate");
}

let changes = 0, // that are not done yet
  latest = Promise.resolve();

/** Runs a change of the rules after the changes before it. */
function inTurn(change: () => Promise<void>): Promise<void> {
  changes++;
  const own = latest
    .then(loadRules)
    .then(change)
    .then(loadRules)
    .finally(() => changes--);
  latest = own.catch(() => {});
  return own;
}

const send = ({ id: _, hits: __, ...rule }: Rule) => ask("POST", "/_/simulate", { body: JSON.stringify(rule) });
const remove = ({ id = "" }: Rule) => ask("DELETE", "/_/simulate/" + encodeURIComponent(id));

export const addRules = (...added: Rule[]): Promise<void> =>
  inTurn(async () => {
    for (const rule of added) await send(rule);
  });

/** Adds a rule before all others, in place of one for the same requests. Used-up rules go. */
export const addRuleFirst = (rule: Rule): Promise<void> =>
  inTurn(async () => {
    const others = rules.value
      .filter((other) => requestsOf(other) !== requestsOf(rule))
      .map(({ times, hits = 0, ...rest }) => (times === undefined ? rest : { ...rest, times: times - hits }))
      .filter(({ times = 1 }: Rule) => times > 0);
    await ask("PUT", "/_/simulate", { body: JSON.stringify([rule, ...others]) });
  });

const requestsOf = ({ path, methods, query, where, "request-headers": headers }: Rule): string =>
  JSON.stringify([path, methods, query, where, headers]);

/** Returns the pattern that matches a path alone. */
export const patternOf = (path: string): string => path.replaceAll("*", "%2A").replaceAll("/:", "/%3A");

/** Releases requests that are held under a name: all, or those of a rule with its answer. */
export async function release(name: string, rule?: Rule): Promise<void> {
  await ask("POST", "/_/release/" + encodeURIComponent(name), rule ? { body: JSON.stringify(rule) } : {});
}

export function removeRule({ rule, isOn }: ListedRule): Promise<void> {
  if (isOn) return inTurn(async () => void (await remove(rule)));
  setOff(offRules.value.filter((other) => other !== rule));
  return Promise.resolve();
}

/** Turns a rule off, or on again: then it is the last. */
export const switchRule = ({ rule, isOn }: ListedRule): Promise<void> =>
  inTurn(async () => {
    if (isOn) {
      const { id: _, hits: __, ...plain } = rule;
      await remove(rule);
      setOff([...offRules.value, plain]);
    } else {
      await send(rule);
      setOff(offRules.value.filter((other) => other !== rule));
    }
  });

/**
 * Replaces a rule in its place. Those before it stay as they are: one that is set anew forgets
 * what it has answered.
 */
export function changeRule({ rule, isOn }: ListedRule, change: (rule: Rule) => Rule): Promise<void> {
  if (!isOn) {
    setOff(offRules.value.map((other) => (other === rule ? change(rule) : other)));
    return Promise.resolve();
  }
  return inTurn(async () => {
    let { id = "" } = rule;
    while (successors.has(id)) id = successors.get(id)!;
    const from = rules.value.findIndex((other) => other.id === id),
      now = rules.value[from];
    if (!now) throw new Error("The rule is no longer there.");
    const after = rules.value.slice(from + 1);
    const { data } = await send(change(now)); // at the end: a rule that is refused leaves the others as they are
    successors.set(id, String((data as Obj)["id"]));
    for (const old of [now, ...after]) await remove(old);
    for (const old of after) await send(old);
  });
}

// The ids of rules that were replaced: one may be changed twice before it is drawn.
const successors = new Map<string, string>();

export const removeAllRules = (): Promise<void> => inTurn(async () => void (await ask("DELETE", "/_/simulate")));

/** Returns in words what a rule does. */
export function describeRule(rule: Rule): string {
  const parts: string[] = [];
  if (rule.delay !== undefined) parts.push(`wait ${rule.delay} ms`);
  if (rule.hold) parts.push(`are held as ${rule.hold}`);
  if (rule.code !== undefined || rule.body !== undefined) parts.push("get " + (rule.code ?? 200));
  if (rule.fault) parts.push("end with " + rule.fault);
  const which = rule.percent === undefined ? "" : `${rule.percent} % of `;
  const left = (rule.times ?? 0) - (rule.hits ?? 0);
  const until =
    rule.times === undefined
      ? ""
      : left > 1
        ? ` (the next ${left} only)`
        : left === 1
          ? " (the next one only)"
          : " (used up)";
  const methods = rule.methods?.join(", ") ?? "all requests";
  return `${which}${methods} to ${rule.path ?? "/**"} ${parts.join(" and ")}${until}`;
}

/** Reads the rules, or keeps those that are known. */
const update = (): void => {
  if (changes === 0) loadRules().catch(() => {});
};
update();
onNews(update);
effect(() => {
  if (requests.value?.[0]?.simulated) update(); // it has applied once more
});
