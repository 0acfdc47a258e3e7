// Switches for answers that are slow or fail, and the rules that others have set.
import { useEffect, useState } from "preact/hooks";
import { ask, read, type Schemas } from "../data/api.ts";
import { isReadOnly, whyLocked } from "../data/catalog.ts";
import { Icon } from "../icons.tsx";
import { onNews } from "../data/live.ts";
import { toastError } from "../messages.tsx";
import { canSimulate, describeRule, off, otherRules, removeRule, rules, setSwitches, switches, type Switches } from "../data/simulation.ts";
import { ForgottenRules } from "./simulation_banner.tsx";
import { Button, count, Empty } from "../ui.tsx";

type Hold = Schemas["Hold"];

const maxDelay = 5000; // ms
const purpose = "This applies to the requests of your front end, not to requests of this page.";
const endings = ["503", "500", "502", "401", "404", "429", "connection-reset", "empty-response", "lost-answer", "hold"];
const methodChoices: Record<string, string[]> = {
  all: [],
  writes: ["POST", "PUT", "PATCH", "DELETE"],
  reads: ["GET", "HEAD", "QUERY"],
};

/** The switches as a screen of their own: on a phone they leave no room for the requests. */
export function Simulation() {
  return (
    <main class="screen" aria-labelledby="title">
      <h1 id="title">Simulate</h1>
      <p class="dim">{purpose}</p>
      {canSimulate.value ? (
        <SimulationBar />
      ) : (
        <Empty icon="flask" title="Simulation is off">
          {isReadOnly.value ? <p>{whyLocked}</p> : <p>Start the server with <code>--simulate=on</code>.</p>}
        </Empty>
      )}
    </main>
  );
}

export function SimulationBar() {
  const [draft, setDraft] = useState<Partial<Switches>>({}); // what is not set yet
  if (!canSimulate.value) return null;
  const now = { ...switches.value, ...draft };
  const set = (part: Partial<Switches>) => {
    const next = { ...draft, ...part };
    setDraft(next);
    setSwitches({ ...switches.value, ...next })
      .catch((error: unknown) => toastError("Could not change it.", error))
      .finally(() => setDraft((latest) => (latest === next ? {} : latest)));
  };
  const isOn = switches.value.delay > 0 || switches.value.percent > 0;
  const methods =
    Object.keys(methodChoices).find((name) => methodChoices[name]!.join() === now.methods.join()) ?? "all";
  return (
    <>
      <fieldset
        class={isOn ? "simulation on" : "simulation"}
        title={purpose}
      >
        <legend class="offscreen">Simulate slow and failing answers</legend>
        <Icon name="flask" />
        <label>
          Delay
          <input
            type="range"
            min={0}
            max={maxDelay}
            step={100}
            value={now.delay}
            aria-valuetext={now.delay + " milliseconds"}
            onInput={(event) => setDraft({ ...draft, delay: Number(event.currentTarget.value) })}
            onChange={(event) => set({ delay: Number(event.currentTarget.value) })}
          />
          <output>{now.delay > 0 ? (now.delay / 1000).toFixed(1) + " s" : "none"}</output>
        </label>
        <label>
          Failing
          <input
            type="range"
            min={0}
            max={100}
            step={5}
            value={now.percent}
            aria-valuetext={now.percent + " percent"}
            onInput={(event) => setDraft({ ...draft, percent: Number(event.currentTarget.value) })}
            onChange={(event) => set({ percent: Number(event.currentTarget.value) })}
          />
          <output>{now.percent > 0 ? now.percent + " %" : "none"}</output>
        </label>
        <Choice label="with" value={now.how} options={endings} onChange={(how) => set({ how })} />
        <Choice
          label="of"
          value={methods}
          options={Object.keys(methodChoices)}
          onChange={(name) => set({ methods: methodChoices[name]! })}
        />
        <label>
          to
          <input
            class="path"
            value={now.path}
            spellcheck={false}
            onInput={(event) => setDraft({ ...draft, path: event.currentTarget.value })}
            onChange={(event) => set({ path: event.currentTarget.value || off.path })}
          />
        </label>
        {isOn && <Button onClick={() => set(off)}>Off</Button>}
      </fieldset>
      <ForgottenRules />
      <Holds />
      {otherRules.value.length > 0 && (
        <ul class="plain-list">
          {otherRules.value.map((rule) => (
            <li key={rule.id} class="row-of">
              <Icon name="flask" size={14} />
              <span>{describeRule(rule)}</span>
              <span class="dim phone-no">applied {count(rule.hits ?? 0, "time")}</span>
              <Button
                kind="quiet"
                icon="trash"
                label="Remove the rule"
                onClick={() => void removeRule(rule).catch((error: unknown) => toastError("Could not remove it.", error))}
              />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** The requests that wait, and what lets them go on. */
function Holds() {
  const [list, setList] = useState<Hold[]>([]);
  const load = () => {
    read<Hold[]>("/_/holds").then(setList, () => setList([]));
  };
  useEffect(() => {
    load();
    return onNews(load);
  }, []);
  const names = new Set([...rules.value.map((rule) => rule.hold), ...list.map((hold) => hold.name)]);
  return (
    <>
      {[...names].map((name) => {
        if (!name) return null;
        const held = list.filter((hold) => hold.name === name);
        const release = () => {
          ask("POST", "/_/release/" + encodeURIComponent(name)).then(load, (error: unknown) =>
            toastError("Could not release them.", error),
          );
        };
        return (
          <div key={name} class="row-of">
            <Icon name="pause" size={14} />
            <span>{held.length === 1 ? "1 request is waiting" : held.length + " requests are waiting"}</span>
            <span class="dim clip">{held.map((hold) => hold.method + " " + hold.path).join(", ")}</span>
            <Button icon="play" onClick={release}>
              Release
            </Button>
          </div>
        );
      })}
    </>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  options: string[];
  onChange: (value: string) => void;
}

function Choice({ label, value, options, onChange }: ChoiceProps) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </label>
  );
}
