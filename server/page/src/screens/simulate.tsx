// The rules for answers that are slow or fail, each on or off.
import { useEffect, useId, useState } from "preact/hooks";
import { prefix, read, session, type Schemas } from "../data/api.ts";
import { collections, isReadOnly, objects, whyLocked } from "../data/catalog.ts";
import { Icon } from "../icons.tsx";
import { onNews } from "../data/live.ts";
import { toastError } from "../messages.tsx";
import {
  addRules,
  canSimulate,
  changeRule,
  describeRule,
  endingOf,
  endings,
  listedRules,
  patternOf,
  release,
  removeRule,
  rules,
  switchRule,
  withEnding,
  type ListedRule,
  type Rule,
} from "../data/simulation.ts";
import { showAnswer } from "./answer_dialog.tsx";
import { Button, count, Empty } from "../ui.tsx";

type Hold = Schemas["Hold"];

const purpose =
  "These apply to the requests of your front end, not to requests of this page. The first rule that matches applies.";
const offNote =
  " A rule that is off is kept in this browser alone, until it is removed; the server and other people do not have it.";
const endingNames: Record<string, string> = { "": "as usual", hold: "hold until released" };
const methodChoices: Record<string, string[]> = {
  "all requests": [],
  writes: ["POST", "PUT", "PATCH", "DELETE"],
  reads: ["GET", "HEAD", "QUERY"],
};
const presets: Record<string, Rule> = {
  "Slow answers": { path: "/**", delay: 600 },
  "Failing writes": { path: "/**", methods: methodChoices["writes"]!, code: 503 },
  "Held requests": { path: "/**", hold: "page" },
};

/** The rules as a screen of their own: on a phone they leave no room for the requests. */
export function Simulation() {
  return (
    <main class="screen" aria-labelledby="title">
      <h1 id="title">Simulate</h1>
      {canSimulate.value ? (
        <SimulationPanel />
      ) : (
        <Empty icon="flask" title="Simulation is off">
          {isReadOnly.value ? (
            <p>{whyLocked}</p>
          ) : (
            <p>
              Start the server with <code>--simulate=on</code>.
            </p>
          )}
        </Empty>
      )}
    </main>
  );
}

const notChanged = (error: unknown) => toastError("Could not change it.", error);

export function SimulationPanel() {
  const list = listedRules.value;
  const paths = [
    "/**",
    ...collections.value.flatMap(({ name }) => [`/${name}`, `/${name}/*`, `/${name}/**`]),
    ...objects.value.map(({ name }) => "/" + name),
  ];
  return (
    <section
      class={rules.value.length > 0 ? "simulation on" : "simulation"}
      aria-label="Simulate slow and failing answers"
    >
      <p class="dim">
        {purpose}
        {list.some(({ isOn }) => !isOn) && offNote}
      </p>
      <datalist id="paths">
        {paths.map((path) => (
          <option key={path} value={path} />
        ))}
      </datalist>
      {list.map((listed, i) => (
        <RuleRow key={i} listed={listed} isReached={!list.slice(0, i).some(takesAll)} />
      ))}
      <Holds />
      <div class="row-of wrap">
        {Object.entries(presets).map(([name, rule]) => (
          <Button key={name} icon="plus" onClick={() => void addRules(rule).catch(notChanged)}>
            {name}
          </Button>
        ))}
      </div>
    </section>
  );
}

/** Whether a rule applies to every request, so that those after it never do. */
const takesAll = ({ rule, isOn }: ListedRule): boolean =>
  isOn &&
  (rule.path ?? "/**") === "/**" &&
  !rule.methods?.length &&
  (["percent", "query", "after", "times"] as const).every((name) => rule[name] === undefined);

/** A rule: which requests it is for, and what it does with them. */
function RuleRow({ listed, isReached }: { listed: ListedRule; isReached: boolean }) {
  const { rule, isOn } = listed,
    id = useId();
  const change = (part: Rule) => {
    void changeRule(listed, (now) => ({ ...now, ...part })).catch(notChanged); // JSON has nothing that is undefined
  };
  const methods =
    Object.keys(methodChoices).find((name) => methodChoices[name]!.join() === (rule.methods ?? []).join()) ??
    rule.methods!.join(", ");
  const ending = endingOf(rule),
    more = (["query", "after", "times"] as const)
      .filter((name) => rule[name] !== undefined)
      .map((name) => `${name} ${rule[name]}`);
  return (
    <fieldset class={isOn ? "rule" : "rule off"}>
      <legend class="offscreen">{describeRule(rule)}</legend>
      <label class="switch">
        <span>On</span>
        <input
          type="checkbox"
          role="switch"
          checked={isOn}
          onChange={() => void switchRule(listed).catch(notChanged)}
        />
      </label>
      <Choice
        label="For"
        value={methods}
        options={Object.keys(methodChoices)}
        onChange={(name) => change({ methods: methodChoices[name] ?? [] })}
      />
      <Typed
        label="Path"
        value={rule.path ?? "/**"}
        list="paths"
        onChange={(path) => change({ path: path || "/**" })}
      />
      <Typed
        label="Delay, ms"
        value={String(rule.delay ?? "")}
        placeholder="0, or 200-800"
        onChange={(text) => change({ delay: /^\d+$/.test(text) ? Number(text) : text || undefined } as Rule)}
      />
      <Choice
        label="Answer"
        value={ending}
        options={["", ...endings]}
        names={endingNames}
        onChange={(how) => void changeRule(listed, (now) => withEnding(now, how)).catch(notChanged)}
      />
      <Typed
        label="Share, %"
        value={String(rule.percent ?? "")}
        placeholder="100"
        onChange={(text) => change({ percent: text === "" || text === "100" ? undefined : Number(text) } as Rule)}
      />
      <span class="dim hits" id={id}>
        {!isOn ? "off" : isReached ? `applied ${count(rule.hits ?? 0, "time")}` : "never: a rule above applies to all"}
        {more.length > 0 && `; ${more.join(", ")}`}
      </span>
      <Button
        kind="quiet"
        icon="trash"
        label="Remove the rule"
        aria-describedby={id}
        onClick={() => void removeRule(listed).catch(notChanged)}
      />
    </fieldset>
  );
}

interface TypedProps {
  label: string;
  value: string;
  placeholder?: string;
  list?: string;
  onChange: (text: string) => void;
}

/** A labelled input whose text counts when it is left. */
function Typed({ label, value, onChange, ...rest }: TypedProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return (
    <label>
      <span>{label}</span>
      <input
        {...rest}
        type="text"
        value={text}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
        onChange={(event) => onChange(event.currentTarget.value.trim())}
      />
    </label>
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
        const releaseAll = () => {
          release(name).then(load, (error: unknown) => toastError("Could not release them.", error));
        };
        return (
          <div key={name} class="row-of held">
            <Icon name="pause" size={14} />
            <span>{held.length === 1 ? "1 request is waiting" : held.length + " requests are waiting"}</span>
            <Button icon="play" onClick={releaseAll}>
              Release
            </Button>
            {held.filter(isOwn).map((hold, i) => (
              <Button key={i} onClick={() => answerHeld(hold, load)}>
                Answer <span class="code clip">{hold.method + " " + hold.path}</span>…
              </Button>
            ))}
          </div>
        );
      })}
    </>
  );
}

const isOwn = (hold: Hold): boolean => (hold.session ?? "") === session.value;

/** Asks for the answer of a held request. That of a read is prepared. */
function answerHeld({ name, method, path }: Hold, onDone: () => void): void {
  showAnswer({
    title: `Answer ${method} ${path}`,
    help: "The held request gets this answer, and is not carried out.",
    verb: "Release with this answer",
    code: method === "GET" ? 200 : 503,
    path: method === "GET" ? prefix.value + path : "",
    run: async (answer) => {
      await release(name, { ...answer, methods: [method], path: patternOf(path), times: 1 });
      onDone();
    },
  });
}

interface ChoiceProps {
  label: string;
  value: string;
  options: string[];
  names?: Record<string, string>;
  onChange: (value: string) => void;
}

function Choice({ label, value, options, names = {}, onChange }: ChoiceProps) {
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {[...new Set([...options, value])].map((option) => (
          <option key={option} value={option}>
            {names[option] ?? option}
          </option>
        ))}
      </select>
    </label>
  );
}
