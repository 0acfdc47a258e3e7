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
      [control + " Z, " + control + " Y", "undo the last change made here, and make it again"],
      ["?, " + control + " /", "this list"],
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
      ["any character", "type over the cell; so N, G, / and ? work on ids and headers only"],
      ["Enter, F2", "edit; Enter saves, Esc cancels"],
      ["Tab", "save, and move right"],
      ["Shift and a move", "select a range of cells; Esc unselects it"],
      [control + " Enter", "while a cell of a range is edited: fill the range"],
      [control + " A", "select all records"],
      [control + " C, " + control + " V", "copy the cells, paste a block of them"],
      [control + " X", "copy the cells and clear them"],
      [control + " Shift C", "copy as JSON"],
      [control + " D", "fill the range with its first row"],
      ["Delete", "set values to null, or remove them"],
      ["Space", "open the record; change true and false"],
      ["Shift Enter", "new record"],
      [control + " Enter", "open the record that the value refers to"],
      [control + " Shift F", "only records with this value; again, those without it"],
      ["Shift F10", "menu of the cell, or of the column"],
      ["Shift Space", "select the record; on a column header, all"],
      ["Enter, Shift Enter", "on a column header: sort, or add to the sorting"],
      ["Shift ← →", "on a column header: narrower, wider"],
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
        Use single letters: shortcuts, and typing over a cell (switch off for speech input)
      </label>
      <div class="row-of end">
        <Button autofocus onClick={close}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}
