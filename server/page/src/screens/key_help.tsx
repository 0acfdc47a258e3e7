// The list of the keys.
import { hasLetters } from "../keys.tsx";
import { isHelpOpen } from "../dialogs.ts";
import { Button, Dialog, isMac } from "../ui.tsx";

const control = isMac ? "⌘" : "Ctrl";

const keys: { place: string; list: [keys: string, effect: string][] }[] = [
  {
    place: "Everywhere",
    list: [
      [control + " K", "find anything"],
      ["/", "filter, or find where there is no table"],
      ["N", "new record"],
      ["G, then O R C P L S", "overview, requests, changes, problems, relations, sessions"],
      [control + " Z", "undo the last change made here"],
      ["?", "this list"],
    ],
  },
  {
    place: "In a record",
    list: [
      [control + " S, " + control + " Enter", "save"],
      ["Alt ↑ ↓", "record above or below; in the table, too"],
      [control + " ] [", "indent, in JSON"],
      ["Esc", "back to the table"],
    ],
  },
  {
    place: "In a table",
    list: [
      ["← ↑ → ↓", "move; with " + control + ", to the end"],
      ["Home End PgUp PgDn", "move further"],
      ["Enter, F2", "edit; Enter saves, Esc cancels"],
      ["Tab", "save, and move right"],
      ["Space, O", "open the record"],
      [control + " Enter", "open the record that the value refers to"],
      ["F, Shift F", "only records with this value, or without it"],
      [control + " C", "copy the value; with Shift as JSON"],
      ["Shift Space", "select the record; on a column header, all"],
      ["Delete", "set the value to null, or remove it"],
      ["Enter, Shift Enter", "on a column header: sort, or add to the sorting"],
      ["Shift ← →", "on a column header: narrower, wider"],
      ["Shift F10", "on a column header: columns"],
      ["Esc", "go to the filter"],
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
    <Dialog title="Keyboard shortcuts" class="wide" onClose={close}>
      <h2>Keyboard shortcuts</h2>
      <div class="columned">
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
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={hasLetters.value}
          onChange={(event) => setLetters(event.currentTarget.checked)}
        />
        Use single-letter shortcuts (switch off for speech input)
      </label>
      <div class="row-of end">
        <Button autofocus onClick={close}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}
