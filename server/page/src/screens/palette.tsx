// Finds anything by typing: collections, screens, commands, and records.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get, pathOf } from "../data/api.ts";
import { collections, idOf, isReadOnly, nameOf, objects, status, whyOff } from "../data/catalog.ts";
import { Icon, type IconName } from "../icons.tsx";
import type { Obj } from "../data/json.ts";
import { isHelpOpen, isPaletteOpen } from "../dialogs.ts";
import { toast, toastError } from "../messages.tsx";
import { switchTheme } from "../appearance.ts";
import { tools } from "../tool_list.ts";
import { paused, pause } from "../data/request_log.ts";
import { go, href } from "../route.ts";
import { canSimulate, removeAllRules, rules } from "../data/simulation.ts";
import { count, Dialog, useSearch } from "../ui.tsx";
import { takeKeys } from "../typing.tsx";
import { undoLast } from "../data/undo.ts";

interface Entry {
  name: string;
  note: string;
  icon: IconName;
  run: () => void;
  isOff?: boolean; // its note says why
}

const maxFixed = 8,
  maxRecords = 4; // entries; records of each collection
const searchAfter = 150; // ms

const link = (name: string, note: string, icon: IconName, address: string): Entry => ({
  name,
  note,
  icon,
  run: () => go(address),
});

const command = (name: string, icon: IconName, run: () => void, note = ""): Entry => ({ name, note, icon, run });

function fixedEntries(): Entry[] {
  const list = [
    ...collections.value.map((c) => link(c.name, count(c.count, "record"), "table", href([c.name]))),
    ...objects.value.map((o) => link(o.name, "object", "braces", href([o.name]))),
    link("Overview", "", "home", "#/"),
    ...tools.map((tool) => link(tool.name, "", tool.icon, href(["_", tool.screen]))),
    command("API", "book", () => location.assign("/_/docs")),
    command("Switch between light and dark", "moon", () => void switchTheme()),
    command("Keyboard shortcuts", "braces", () => {
      isHelpOpen.value = true;
    }),
  ];
  if (canSimulate.value) list.push(link("Simulate", "slow and failing answers", "flask", "#/_/simulate"));
  const isPaused = paused.value !== null;
  if (status.value?.mode.requests) {
    list.push(
      command(isPaused ? "Resume the log" : "Pause the log", isPaused ? "play" : "pause", () => pause(!isPaused, true)),
    );
  }
  if (rules.value.length > 0 && !isReadOnly.value) {
    list.push(command("Stop simulating", "flask", () => void removeAllRules().catch(notDone)));
  }
  if (isReadOnly.value) return list;
  const writes = [
    command("Undo the last change", "undo", () => void undoLast(), "made in this tab"),
    ...collections.value.map((c) => link("New record in " + c.name, "", "plus", href(["_", "new", c.name]))),
  ];
  return [...list, ...(whyOff.value ? writes.map(turnOff) : writes)];
}

/** Returns an entry of what cannot be done at the moment, which says why. */
const turnOff = (entry: Entry): Entry => ({
  ...entry,
  note: whyOff.value,
  run: () => void toast(whyOff.value, { bad: true }),
  isOff: true,
});

const notDone = (error: unknown) => toastError("Could not remove the rules.", error);

/** Returns the records of all collections that contain a text. */
function useRecords(word: string): Entry[] {
  const [found, setFound] = useState<Entry[]>([]);
  useEffect(() => setFound([]), [word]);
  const search = async (signal: AbortSignal) => {
    const look = async (name: string) => {
      const query = `?q=${encodeURIComponent(word)}&_start=0&_end=${maxRecords}`;
      const { data } = await get(pathOf(name) + query, signal);
      if (signal.aborted) return;
      const entries = (data as Obj[]).map((record) => {
        const id = idOf(name, record);
        return link(nameOf(name, record), `${name} ${id}`, "right", href([name, id]));
      });
      setFound((others) => [...others, ...entries]);
    };
    if (word) await Promise.allSettled(collections.value.map(({ name }) => look(name)));
  };
  useSearch(search, searchAfter, [word]);
  return found;
}

export function Palette() {
  const [typed, setTyped] = useState(""),
    [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => takeKeys(input.current), []);
  const word = typed.trim().toLowerCase();
  const records = useRecords(word);
  const fixed = fixedEntries().filter((entry) => entry.name.toLowerCase().includes(word));
  const list = [...fixed.slice(0, maxFixed), ...records];
  const close = () => {
    isPaletteOpen.value = false;
  };
  const run = (entry: Entry | undefined) => {
    close();
    entry?.run();
  };
  const onKey = (event: KeyboardEvent) => {
    const n = Math.max(1, list.length);
    if (event.key === "ArrowDown") setAt((at + 1) % n);
    else if (event.key === "ArrowUp") setAt((at + n - 1) % n);
    else if (event.key === "Enter") run(list[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Find anything" class="top-most" onClose={close}>
      <div class="palette">
        <div class="palette-in">
          <Icon name="search" />
          <input
            ref={input}
            type="text"
            role="combobox"
            aria-label="Find a collection, a screen or a record"
            aria-expanded="true"
            aria-controls="found"
            aria-activedescendant={list[at] ? "found-" + at : undefined}
            autocomplete="off"
            spellcheck={false}
            placeholder="Find a collection, a screen or a record"
            value={typed}
            onInput={(event) => {
              setTyped(event.currentTarget.value);
              setAt(0);
            }}
            onKeyDown={onKey}
          />
        </div>
        <ul id="found" role="listbox" aria-label="Results">
          {list.map((entry, i) => (
            <li
              key={entry.name + entry.note}
              id={"found-" + i}
              role="option"
              aria-selected={i === at}
              aria-disabled={entry.isOff}
              onMouseEnter={() => setAt(i)}
              onClick={() => run(entry)}
            >
              <Icon name={entry.icon} />
              <span class="clip">{entry.name}</span>
              <span class="dim">{entry.note}</span>
            </li>
          ))}
        </ul>
        {list.length === 0 && <p class="dim none">No matches.</p>}
      </div>
    </Dialog>
  );
}
