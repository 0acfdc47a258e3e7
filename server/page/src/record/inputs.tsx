// How a value is edited: the input that its field asks for.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { areTexts, ChipsInput } from "./chips_input.tsx";
import type { Json } from "../data/json.ts";
import type { Control, OnInput } from "./input_props.ts";
import { JSONInput, type FieldFault } from "./json_input.tsx";
import { areObjects, ObjectsInput } from "./objects_input.tsx";
import { useOwnText } from "./own_text.ts";
import { ReferenceInput } from "./reference_input.tsx";
import { isStructured, typedOf, type Field } from "../data/schema.ts";
import { TimeInput } from "./time_input.tsx";
import { takeKeys } from "../typing.tsx";

export interface InputProps {
  field: Field;
  value: string;
  was: Json | undefined; // in the file
  onInput: OnInput;
  id?: string | undefined;
  label?: string | undefined;
  isInvalid?: boolean;
  describedBy?: string | undefined;
  placeholder?: string; // while it is empty
  autoFocus?: boolean;
  isTypedOver?: boolean; // what is typed replaces the value
  faults?: FieldFault[]; // in a form, whose objects and arrays have an editor
}

const longText = 70; // characters from which a text gets several lines

export function Input(props: InputProps) {
  const { field, was, onInput, autoFocus, isTypedOver } = props;
  const ref = useRef<Control>(null);
  const [value, setOwn] = useOwnText(props.value);
  const [isChips] = useState(() => props.faults !== undefined && areTexts(was));
  const [columns] = useState(() => (props.faults !== undefined && areObjects(was) ? Object.keys(was[0]!) : null));
  const [isEditor] = useState(() => props.faults !== undefined && isStructured(field, was));
  const [lines] = useState(() => linesOf(field, value, was)); // the element stays the same while a person types in it
  useLayoutEffect(() => {
    if (!autoFocus) return;
    const input = ref.current;
    takeKeys(input, input?.tagName === "INPUT" || (input?.tagName === "TEXTAREA" && isTypedOver));
  }, []);
  const shared = {
    ref,
    id: props.id,
    value,
    "aria-invalid": props.isInvalid ? true : undefined,
    "aria-describedby": props.describedBy || undefined,
    "aria-label": props.label,
    autocomplete: "off",
    spellcheck: false,
    placeholder: props.placeholder,
    onBlur: () => setOwn(null),
  } as const;
  const input = (event: { currentTarget: { value: string } }) => {
    setOwn(event.currentTarget.value);
    onInput(event.currentTarget.value);
  };
  const typeAhead = useTypeAhead((text) => {
    setOwn(text);
    onInput(text);
  });
  if (field.kind === "choice" || field.kind === "boolean") {
    return (
      <select {...shared} onChange={input} onKeyDown={typeAhead}>
        <Choices field={field} value={value} was={was} none={props.placeholder || "–"} />
      </select>
    );
  }
  if (field.kind === "reference") {
    return (
      <ReferenceInput field={field} value={value} isInCell={autoFocus === true} onInput={onInput} shared={shared} />
    );
  }
  if (field.kind === "time" || field.kind === "date") {
    return <TimeInput field={field} value={value} onInput={onInput} shared={shared} />;
  }
  const whole = {
    id: props.id,
    label: props.label ?? field.name,
    value: props.value,
    faults: props.faults ?? [],
    isInvalid: props.isInvalid === true,
    describedBy: props.describedBy || undefined,
    onInput,
  };
  if (isChips) return <ChipsInput {...whole} />;
  if (columns) return <ObjectsInput {...whole} names={columns} />;
  if (isEditor) return <JSONInput {...whole} />;
  if (lines > 0) {
    return <textarea {...shared} class={isStructured(field, was) ? "code" : ""} rows={lines} onInput={input} />;
  }
  // The server judges values; the browser only offers a keyboard.
  const keyboards = { number: "decimal", email: "email", link: "url" } as const;
  const keyboard = keyboards[field.kind as keyof typeof keyboards];
  return <input {...shared} type="text" inputMode={keyboard} onInput={input} />;
}

const typeTime = 1000; // ms after which a letter begins another word

/** Returns a handler of keys of a select, which chooses by what is typed, also before the select was there. */
function useTypeAhead(choose: (text: string) => void) {
  const typed = useRef({ word: "", at: 0 });
  return (event: KeyboardEvent & { currentTarget: HTMLSelectElement }): void => {
    if (event.key.length !== 1 || event.ctrlKey || event.metaKey || event.altKey) return;
    const { word, at } = typed.current,
      isNew = event.timeStamp - at > typeTime;
    if (event.key === " " && isNew) return; // opens the list
    const next = (isNew ? "" : word) + event.key.toLowerCase();
    typed.current = { word: next, at: event.timeStamp };
    const found = [...event.currentTarget.options].find(
      (option) => !option.disabled && option.text.toLowerCase().startsWith(next),
    );
    if (found) choose(found.value);
    event.preventDefault();
    event.stopPropagation();
  };
}

/** Returns how many lines a text gets, 0 for an input of one line. */
function linesOf(field: Field, value: string, was: Json | undefined): number {
  if (isStructured(field, was)) return Math.min(12, value.split("\n").length + 1);
  const isLong = (field.kind === "text" || field.kind === "any") && (value.length > longText || value.includes("\n"));
  return isLong ? Math.min(8, Math.max(value.split("\n").length, Math.ceil(value.length / 50)) + 1) : 0;
}

interface ChoicesProps {
  field: Field;
  value: string;
  was: Json | undefined;
  none: string;
}

function Choices({ field, value, was, none }: ChoicesProps) {
  const choices = field.kind === "boolean" ? ["true", "false"] : field.choices.map(typedOf);
  const historic = field.historic.map(typedOf);
  const canBeEmpty = value !== "" && !choices.includes("") && (field.isNullable || !field.required);
  return (
    <>
      {canBeEmpty && <option value="">{field.isNullable ? "null" : "–"}</option>}
      {!choices.includes(value) && <option value={value}>{value === "" ? none : value + " (not allowed)"}</option>}
      {choices.map((choice) => {
        const isHistoric = historic.includes(choice);
        return (
          <option key={choice} value={choice} disabled={isHistoric && choice !== typedOf(was)}>
            {choice + (isHistoric ? " (old records only)" : "")}
          </option>
        );
      })}
    </>
  );
}
