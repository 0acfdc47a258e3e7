// A field that holds an object or an array, as JSON in an editor, which is opened when the field
// is on the screen or has the focus.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type * as EditorModule from "./editor.ts";
import { NotJSON, parse, pointerNames } from "../data/json.ts";
import { toastError } from "../messages.tsx";
import type { OnInput } from "./input_props.ts";

export interface FieldFault {
  pointer: string; // from the field on
  detail: string;
}

interface JSONInputProps {
  id: string | undefined;
  label: string;
  value: string;
  faults: FieldFault[];
  isInvalid: boolean;
  onInput: OnInput;
}

export function JSONInput({ id, label, value, faults, isInvalid, onInput }: JSONInputProps) {
  const host = useRef<HTMLDivElement>(null),
    editor = useRef<EditorModule.Editor | null>(null);
  const typed = useRef<string[]>([]); // what was typed, and has not come back as the value yet
  const [isNeeded, setNeeded] = useState(false),
    [isOpen, setOpen] = useState(false);
  const hadFocus = useRef(false);
  useLayoutEffect(() => {
    if (hadFocus.current) editor.current?.focus(); // the element itself takes none any more
  }, [isOpen]);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) setNeeded(true);
    });
    observer.observe(host.current!);
    return () => observer.disconnect();
  }, []);
  const current = useRef({ value, onInput, mark: () => {} });
  current.current = {
    value,
    onInput,
    mark: () => {
      try {
        parse(value);
        editor.current?.mark(faults.map(({ pointer, detail }) => ({ names: pointerNames(pointer), detail })));
      } catch (e) {
        if (e instanceof NotJSON && value) editor.current?.mark([{ names: [], at: e.at, detail: e.message }]);
      }
    },
  };
  useEffect(() => {
    if (!isNeeded) return;
    let isGone = false;
    const onChange = (text: string) => {
      if (text === current.current.value) return;
      typed.current.push(text);
      current.current.onInput(text);
    };
    import("./editor.ts").then(
      (module) => {
        if (isGone || !host.current) return;
        editor.current = module.open(host.current, current.current.value, { label, isReadOnly: false, onChange });
        hadFocus.current = document.activeElement === host.current;
        host.current.focus = editor.current.focus;
        setOpen(true);
        current.current.mark();
      },
      (error: unknown) => toastError("The editor could not be loaded.", error),
    );
    return () => {
      isGone = true;
      editor.current?.close();
    };
  }, [isNeeded]);
  useEffect(() => {
    const text = editor.current?.text(),
      known = typed.current.indexOf(value);
    typed.current.splice(0, known + 1);
    if (known < 0 && text !== undefined && text !== value && !means(text, value)) editor.current?.set(value);
    current.current.mark();
  }, [value, faults.map((fault) => fault.pointer + fault.detail).join()]);
  return (
    <div
      ref={host}
      id={id}
      class={isOpen ? "editor small" : "editor small code closed"}
      data-invalid={isInvalid ? "" : undefined}
      role={isOpen ? undefined : "textbox"}
      aria-label={isOpen ? undefined : label}
      tabIndex={isOpen ? undefined : 0}
      onFocus={() => setNeeded(true)}
    >
      {isOpen ? null : value}
    </div>
  );
}

/** Whether a text is another spelling of a value. */
function means(text: string, value: string): boolean {
  try {
    return JSON.stringify(parse(text)) === JSON.stringify(parse(value));
  } catch {
    return false;
  }
}
