// The keys that work on every screen, and their list.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { hasCollection, whyLocked } from "./catalog.ts";
import { isPaletteOpen } from "./palette.tsx";
import { go, href, route } from "./route.ts";
import { Button, Dialog, hasModifier, isMac } from "./ui.tsx";
import { undoLast } from "./undo.ts";

export const isHelpOpen = signal(false);

// WCAG 2.1.4: somebody who speaks to the page can switch off keys of one letter.
const hasLetters = signal(localStorage.getItem("pickup.letters") !== "off");

const chordTime = 900; // ms between G and the next letter
const screens: Record<string, string> = {
  o: "#/",
  r: "#/_/requests",
  c: "#/_/changes",
  p: "#/_/problems",
  l: "#/_/relations",
  s: "#/_/sessions",
};

export function useKeys(): void {
  useEffect(() => {
    let chord = 0;
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement,
        key = event.key.toLowerCase();
      const isTyping = target.closest("input, textarea, select, [contenteditable=true], .editor, dialog") !== null;
      if (hasModifier(event) && key === "k") {
        event.preventDefault();
        isPaletteOpen.value = !isPaletteOpen.value;
        return;
      }
      if (event.defaultPrevented || isTyping || event.altKey) return;
      if (hasModifier(event)) {
        if (key !== "z" || event.shiftKey) return;
        event.preventDefault();
        void undoLast();
        return;
      }
      if (!hasLetters.value) return;
      const isChord = Date.now() - chord < chordTime;
      chord = key === "g" ? Date.now() : 0;
      if (isChord && screens[key]) go(screens[key]);
      else if (!press(key)) return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** Does what a letter stands for, and reports whether it has a meaning. */
function press(key: string): boolean {
  const [name = ""] = route.value.path;
  switch (key) {
    case "/": {
      const filter = document.getElementById("filter");
      if (filter) filter.focus();
      else isPaletteOpen.value = true;
      return true;
    }
    case "n":
      if (whyLocked.value || !hasCollection(name)) return false;
      go(href(["_", "new", name], route.value.query));
      return true;
    case "?":
      isHelpOpen.value = true;
      return true;
  }
  return false;
}

const control = isMac ? "⌘" : "Ctrl";

const keys: { place: string; list: [keys: string, effect: string][] }[] = [
  {
    place: "Everywhere",
    list: [
      [control + " K", "find anything"],
      ["/", "filter"],
      ["N", "new record"],
      ["G, then O R C P L S", "overview, requests, changes, problems, relations, sessions"],
      [control + " Z", "undo the last change made here"],
      ["?", "this list"],
    ],
  },
  {
    place: "In a table",
    list: [
      ["← ↑ → ↓", "move; with " + control + " to the end"],
      ["Home End PgUp PgDn", "move further"],
      ["Enter, F2", "edit; Enter saves, Esc cancels"],
      ["Tab", "save, and move right"],
      ["Space, O", "open the record"],
      [control + " Enter", "open the record that the value refers to"],
      ["F, Shift F", "only records with this value, or without it"],
      [control + " C", "copy the value; with Shift as JSON"],
      ["Shift Space", "select the record"],
      ["Delete", "set the value to null"],
      ["Enter, Shift Enter", "on a column header: sort, or add to the sorting"],
      ["Shift F10", "on a column header: columns"],
      ["Esc", "go to the filter"],
    ],
  },
  {
    place: "In a record",
    list: [
      [control + " S", "save"],
      ["Alt ↑ ↓", "record above, below"],
      [control + " ] [", "indent, in JSON"],
      ["Esc", "back to the table"],
    ],
  },
];

export function KeyHelp() {
  const close = () => {
    isHelpOpen.value = false;
  };
  const setLetters = (on: boolean) => {
    hasLetters.value = on;
    localStorage.setItem("pickup.letters", on ? "on" : "off");
  };
  return (
    <Dialog title="Keys" onClose={close}>
      <h2>Keys</h2>
      {keys.map(({ place, list }) => (
        <section key={place} class="keys">
          <h3>{place}</h3>
          <dl>
            {list.map(([key, effect]) => (
              <div key={key + effect}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{effect}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <label class="check">
        <input
          type="checkbox"
          checked={hasLetters.value}
          onChange={(event) => setLetters(event.currentTarget.checked)}
        />
        Use keys of a single letter (switch off for speech input)
      </label>
      <div class="row-of end">
        <Button onClick={close}>Close</Button>
      </div>
    </Dialog>
  );
}
