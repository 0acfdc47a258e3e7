// A reference: a combobox that finds records by their names (ARIA Authoring
// Practices, editable combobox with automatic selection).
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { labelFor } from "../data/catalog.ts";
import { matching, readChoices, type Choice, type PickedRecord } from "../data/references.ts";
import type { Field } from "../data/schema.ts";
import { hasModifier, useSearch } from "../ui.tsx";
import { areCaught, holdKey, takeKeys } from "../typing.tsx";
import type { OnInput, SharedProps } from "./input_props.ts";

const byName: PickedRecord = {};

const askAfter = 120; // ms

/** Whether a key moves in the list, or saves what is selected in it. */
const needsChoice = (event: KeyboardEvent, isInCell: boolean): boolean =>
  ["ArrowDown", "ArrowUp", "Enter"].includes(event.key) ||
  (event.key === "Tab" && isInCell) ||
  (hasModifier(event) && event.key.toLowerCase() === "s");

interface ReferenceInputProps {
  field: Field;
  value: string;
  isInCell: boolean; // of a table: the list opens at once, and Escape is the cell's
  onInput: OnInput;
  shared: SharedProps;
}

/** While the list is open, the value is the id of the record that is selected in it, or a name until it is found. */
export function ReferenceInput({ field, value, isInCell, onInput, shared }: ReferenceInputProps) {
  const { collection } = field,
    list = useId();
  const [typed, setTyped] = useState<string | null>(null); // null: nothing, the value is shown
  const [isOpen, setOpen] = useState(isInCell);
  const [known, setKnown] = useState<Choice[]>([]), // for what is typed
    [isAll, setAll] = useState(false),
    [answered, setAnswered] = useState(""); // the text that the known ones are for
  const before = useRef(value); // when the list was opened
  const caught = useRef(0); // keys wait for the answer
  const found = typed === null || !isAll ? known : matching(known, typed);
  const isAsking = !isAll && (typed ?? "").trim() !== "" && typed !== answered;
  const at = isOpen ? found.findIndex((choice) => choice.id === value) : -1;

  const open = () => {
    if (isOpen) return;
    before.current = value;
    setOpen(true);
  };
  const close = () => {
    setOpen(false);
    setTyped(null);
    setKnown([]); // they may change until it is opened again
    setAll(false);
    setAnswered("");
  };
  const type = (text: string) => {
    open();
    setTyped(text);
    const [first] = isAll && text.trim() ? matching(known, text) : [];
    onInput(first?.id ?? text, first?.picked ?? (text.trim() ? byName : undefined));
  };
  const current = useRef({ typed, onInput });
  current.current = { typed, onInput };

  const text = isAll ? "" : (typed ?? "");
  const search = async (signal: AbortSignal) => {
    if (isOpen && !isAll) {
      const [choices, areAll] = await readChoices(collection, text, signal).catch(() => [[], false] as const);
      if (signal.aborted) return;
      const { typed: now } = current.current;
      const ordered = matching([...choices], areAll ? "" : text);
      setKnown(ordered);
      setAll(areAll);
      setAnswered(text);
      const [first] = now?.trim() ? matching(ordered, now) : [];
      if (first) current.current.onInput(first.id, first.picked);
      const take = () => areCaught(caught.current) && takeKeys(shared.ref.current); // unless somebody clicks elsewhere
      if (areCaught(caught.current)) setTimeout(take);
      else if (document.activeElement !== shared.ref.current) close();
    }
  };
  useSearch(search, text ? askAfter : 0, [collection, isOpen, isAll, text]);

  const move = (step: number) => {
    if (!isOpen) return open();
    const n = found.length;
    const next = found[at < 0 && step < 0 ? n - 1 : (at + step + n) % n];
    if (next) onInput(next.id, next.picked);
  };
  const onKey = (event: KeyboardEvent) => {
    if (isAsking && needsChoice(event, isInCell)) {
      caught.current = holdKey(event);
      return;
    }
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    switch (event.key) {
      case "ArrowDown":
        move(1);
        break;
      case "ArrowUp":
        move(-1);
        break;
      case "Enter":
        close();
        return;
      case "Escape":
        if (!isOpen || isInCell) return;
        onInput(before.current, before.current ? byName : undefined);
        close();
        event.stopPropagation();
        break;
      default:
        return;
    }
    event.preventDefault();
  };
  const isShown = isOpen && found.length > 0;
  return (
    <>
      <input
        {...shared}
        type="text"
        role="combobox"
        aria-expanded={isShown}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={at >= 0 ? `${list}-${at}` : undefined}
        value={typed ?? (labelFor(collection, value) || value)}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={onKey}
        onClick={open}
        onBlur={() => {
          if (!isAsking) close(); // otherwise the answer does
        }}
      />
      <Choices
        id={list}
        label={collection}
        choices={isShown ? found : []}
        at={at}
        input={shared.ref}
        onChoose={({ id, picked }) => {
          onInput(id, picked);
          close();
        }}
      />
    </>
  );
}

interface ChoicesProps {
  id: string;
  label: string;
  choices: Choice[];
  at: number;
  input: { current: HTMLElement | null };
  onChoose: (choice: Choice) => void;
}

/** The list of a combobox. It is over everything, so that no table or dialog cuts it off. */
function Choices({ id, label, choices, at, input, onChoose }: ChoicesProps) {
  const box = useRef<HTMLUListElement>(null);
  const isShown = choices.length > 0;
  useLayoutEffect(() => {
    if (!isShown || !box.current || !input.current) return;
    const popover = box.current,
      anchor = input.current;
    const place = () => {
      const { left, top, bottom, width } = anchor.getBoundingClientRect();
      const isAbove = bottom + popover.offsetHeight > innerHeight && top > innerHeight - bottom;
      popover.style.left = left + "px";
      popover.style.minWidth = width + "px";
      popover.style.top = (isAbove ? top - popover.offsetHeight - 3 : bottom + 3) + "px";
    };
    popover.showPopover();
    place();
    addEventListener("scroll", place, true);
    addEventListener("resize", place);
    return () => {
      removeEventListener("scroll", place, true);
      removeEventListener("resize", place);
      popover.hidePopover();
    };
  }, [isShown, choices.length]);
  useEffect(() => {
    box.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at, choices]);
  return (
    <ul ref={box} id={id} popover="manual" role="listbox" aria-label={label} class="suggestions choices">
      {choices.map((choice, i) => (
        <li
          key={choice.id}
          id={`${id}-${i}`}
          role="option"
          aria-selected={i === at}
          onMouseDown={(event) => {
            event.preventDefault(); // the input keeps the focus
            onChoose(choice);
          }}
        >
          <span class="clip">{choice.name}</span>
          <span class="refid">{choice.id}</span>
        </li>
      ))}
    </ul>
  );
}
