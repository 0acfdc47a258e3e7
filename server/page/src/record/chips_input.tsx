// A list of texts as chips: what is typed becomes one with Enter, and each can be removed.
import { useState } from "preact/hooks";
import { parse, type Json } from "../data/json.ts";
import { Icon } from "../icons.tsx";

/** Whether a value is a list of texts that is not empty. */
export const areTexts = (value: Json | undefined): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");

interface ChipsInputProps {
  id: string | undefined;
  label: string;
  value: string; // JSON
  isInvalid: boolean;
  describedBy: string | undefined;
  onInput: (value: string) => void;
}

export function ChipsInput({ id, label, value, isInvalid, describedBy, onInput }: ChipsInputProps) {
  const [isOpen, setOpen] = useState(false); // the last text is being typed
  const list = textsIn(value),
    chips = isOpen ? list.slice(0, -1) : list;
  const put = (next: string[]) => onInput(JSON.stringify(next, null, 2));
  const type = (text: string) => {
    setOpen(text !== "");
    put(text === "" ? chips : [...chips, text]);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && isOpen && !event.ctrlKey && !event.metaKey) setOpen(false);
    else if (event.key === "Backspace" && !isOpen) put(chips.slice(0, -1));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="chips">
      {chips.map((text, i) => (
        <span key={i} class="pill">
          <span class="clip">{text}</span>
          <button type="button" aria-label={"Remove " + text} onClick={() => put(list.filter((_, at) => at !== i))}>
            <Icon name="close" size={12} />
          </button>
        </span>
      ))}
      <input
        id={id}
        aria-label={label}
        aria-invalid={isInvalid ? true : undefined}
        aria-describedby={describedBy}
        autocomplete="off"
        spellcheck={false}
        placeholder="add one"
        value={isOpen ? list.at(-1) : ""}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={onKey}
        onBlur={() => setOpen(false)}
      />
    </div>
  );
}

function textsIn(value: string): string[] {
  try {
    const list = parse(value);
    return Array.isArray(list) ? list.map(String) : [];
  } catch {
    return []; // it was emptied
  }
}
