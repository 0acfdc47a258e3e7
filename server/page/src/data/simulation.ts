// The rules for simulated answers that are set at run time. The page has two of
// its own at most, the last in the list: one for requests that fail, and one for
// the others, which are only slow.
import { computed, signal } from "@preact/signals";
import { ask, read, type Schemas } from "./api.ts";
import { isReadOnly, status } from "./catalog.ts";
import { onNews } from "./live.ts";

export type Rule = Schemas["SimulationRule"];

export const rules = signal<Rule[]>([]);

export const canSimulate = computed(() => status.value?.mode.simulate === true && !isReadOnly.value);

/** What the switches of the page are set to. */
export interface Switches {
  delay: number; // ms
  percent: number; // of the requests that fail
  how: string; // a status, a fault of the connection, or "hold"
  path: string;
  methods: string[]; // none: all
}

export const off: Switches = { delay: 0, percent: 0, how: "503", path: "/**", methods: [] };

const holdName = "page"; // under which the switches hold requests

/** Whether a rule is one that the switches can make. */
const isOwn = (rule: Rule): boolean =>
  Object.keys(rule).every((name) =>
    ["id", "hits", "path", "methods", "delay", "code", "fault", "hold", "percent"].includes(name),
  ) &&
  (rule.hold ?? holdName) === holdName &&
  (rule.code ?? rule.fault ?? rule.hold) === undefined === (rule.percent === undefined);

function ownRules(): Rule[] {
  const [first, second] = rules.value.slice(-2).filter(isOwn);
  if (!first || !second) return first ? [first] : [];
  const areOne =
    first.percent !== undefined && second.percent === undefined && targetOf(first) === targetOf(second);
  return areOne ? [first, second] : [second];
}

/** Returns the requests that a rule is for, and their delay. */
const targetOf = (rule: Rule): string => JSON.stringify([rule.path, rule.methods, rule.delay]);

export const otherRules = computed(() => {
  const own = new Set(ownRules());
  return rules.value.filter((rule) => !own.has(rule));
});

/** What the rules of the page say. */
export const switches = computed<Switches>(() => {
  const own = ownRules(),
    failing = own.find((rule) => rule.percent !== undefined),
    [first] = own;
  if (!first) return off;
  return {
    delay: Number(own.find((rule) => rule.delay !== undefined)?.delay ?? 0),
    percent: failing?.percent ?? 0,
    how: failing?.hold ? "hold" : String(failing?.fault ?? failing?.code ?? off.how),
    path: first.path ?? "/**",
    methods: first.methods ?? [],
  };
});

async function loadRules(): Promise<void> {
  if (!status.value?.mode.simulate) return;
  rules.value = await read<Rule[]>("/_/simulate");
}

let changes = 0, // that are not done yet
  latest = Promise.resolve();

/** Replaces the rules of the page, after the changes before. */
export function setSwitches(next: Switches): Promise<void> {
  changes++;
  const own = latest.then(() => replaceOwn(next)).finally(() => changes--);
  latest = own.catch(() => {});
  return own;
}

/** Leaves the rules of others as they are: a rule that is set anew would forget what it has answered. */
async function replaceOwn(next: Switches): Promise<void> {
  await loadRules();
  const { delay, percent, how, path, methods } = next;
  const base: Rule = { path, ...(methods.length > 0 ? { methods } : {}), ...(delay > 0 ? { delay } : {}) };
  const own: Rule[] = [];
  const end = how === "hold" ? { hold: holdName } : /^\d+$/.test(how) ? { code: Number(how) } : { fault: how as never };
  if (percent > 0) own.push({ ...base, percent, ...end });
  if (delay > 0) own.push(base);
  for (const { id = "" } of ownRules()) await ask("DELETE", "/_/simulate/" + encodeURIComponent(id));
  for (const rule of own) await ask("POST", "/_/simulate", { body: JSON.stringify(rule) });
  await loadRules();
}

export async function removeRule(rule: Rule): Promise<void> {
  await ask("DELETE", "/_/simulate/" + encodeURIComponent(rule.id ?? ""));
  await loadRules();
}

export async function removeAllRules(): Promise<void> {
  await ask("DELETE", "/_/simulate");
  await loadRules();
}

/** Returns in words what a rule does. */
export function describeRule(rule: Rule): string {
  const parts: string[] = [];
  if (rule.delay !== undefined) parts.push(`wait ${rule.delay} ms`);
  if (rule.hold) parts.push(`are held as ${rule.hold}`);
  if (rule.code !== undefined || rule.body !== undefined) parts.push("get " + (rule.code ?? 200));
  if (rule.fault) parts.push("end with " + rule.fault);
  const which = rule.percent === undefined ? "" : `${rule.percent} % of `;
  return `${which}${rule.methods?.join(", ") ?? "all requests"} to ${rule.path ?? "/**"} ${parts.join(" and ")}`;
}

/** Reads the rules, or keeps those that are known. */
const update = (): void => {
  if (changes === 0) loadRules().catch(() => {});
};
update();
onNews(update);
