// A date or a time: the text as it is stored, and the browser's picker.
import { useRef } from "preact/hooks";
import type { SharedProps } from "./input_props.ts";
import { typedOf, type Field } from "../data/schema.ts";
import { Button } from "../ui.tsx";

interface TimeInputProps {
  field: Field;
  value: string;
  onInput: (value: string) => void;
  shared: SharedProps;
}

/**
 * The picker has the date and the time as they are written, whatever the time zone,
 * and replaces only them: seconds and the zone stay as they are.
 */
export function TimeInput({ field, value, onInput, shared }: TimeInputProps) {
  const picker = useRef<HTMLInputElement>(null);
  const isDate = field.kind === "date";
  const format = isDate ? /^\d{4}-\d\d-\d\d$/ : /^\d{4}-\d\d-\d\dT\d\d:\d\d/;
  const { length } = isDate ? "2026-09-14" : "2026-09-14T07:40";
  const pick = (picked: string) => {
    const like = [value, typedOf(field.example), "2026-09-14T07:40:00Z"].find((text) => format.test(text)) ?? "";
    if (picked) onInput(picked.slice(0, length) + like.slice(length));
  };
  return (
    <span class="timed">
      <input {...shared} value={value} type="text" onInput={(event) => onInput(event.currentTarget.value)} />
      <input
        ref={picker}
        class="picker"
        type={isDate ? "date" : "datetime-local"}
        tabIndex={-1}
        aria-hidden="true"
        value={format.exec(value)?.[0] ?? ""}
        onChange={(event) => pick(event.currentTarget.value)}
      />
      <Button
        kind="quiet"
        icon="calendar"
        label={"Choose " + (isDate ? "a date" : "a date and a time") + " for " + field.name}
        onClick={() => picker.current?.showPicker()}
      />
    </span>
  );
}
