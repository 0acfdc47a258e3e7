// Small parts that several screens use.
import type { ComponentChildren, JSX } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { otherFaults, messageOf, Refused } from "./data/api.ts";
import { Icon, type IconName } from "./icons.tsx";
import { pointerNames } from "./data/json.ts";
import { announce, toastError } from "./messages.tsx";

type ButtonProps = Omit<JSX.IntrinsicElements["button"], "class" | "label"> & {
  icon?: IconName;
  kind?: "plain" | "primary" | "danger" | "quiet";
  label?: string | undefined; // of a button that shows an icon only
  class?: string;
};

export function Button({ icon, kind = "plain", label, children, class: more = "", ...rest }: ButtonProps) {
  const square = children === undefined ? "square" : "";
  return (
    <button type="button" class={`button ${kind} ${square} ${more}`} aria-label={label} title={label} {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button that copies a text, which is made when it is pressed. */
export function Copy({
  text,
  label = "Copy",
  children,
}: {
  text: () => string;
  label?: string;
  children?: ComponentChildren;
}) {
  const [done, setDone] = useState(false);
  const run = async () => {
    try {
      await copyText(text());
    } catch (error) {
      toastError("Could not copy.", error);
      return;
    }
    setDone(true);
    announce("Copied");
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <Button
      kind="quiet"
      class="copy"
      icon={done ? "check" : "copy"}
      label={children ? undefined : label}
      onClick={() => void run()}
    >
      {children}
    </Button>
  );
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // There is no clipboard outside of https and localhost. Outside of a modal dialog nothing can be selected.
    const before = document.activeElement as HTMLElement | null,
      area = document.createElement("textarea");
    area.value = text;
    area.className = "offscreen";
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    before?.focus({ preventScroll: true });
    if (!isCopied) throw new Error("The browser does not allow it.");
  }
}

interface DialogProps {
  title: string;
  children: ComponentChildren;
  onClose?: () => void; // without it, the dialog stays
  class?: string;
}

/** A modal dialog. The browser keeps the focus in it and gives it back. */
export function Dialog({ title, children, onClose, class: name = "" }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = ref.current!;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class={name}
      aria-label={title}
      // With Escape, and not when it has gone.
      onClose={() => ref.current && (onClose ?? (() => ref.current?.showModal()))()}
      onKeyDown={(event) => event.stopPropagation()}
      onClick={(event) => {
        if (event.target === ref.current) onClose?.(); // outside of it
      }}
    >
      {children}
    </dialog>
  );
}

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} size={28} />
      <h2>{title}</h2>
      <div>{children}</div>
    </div>
  );
}

/** What went wrong, with each fault that the server lists. */
export function ErrorBox({ error, title }: { error: unknown; title?: string }) {
  const problem = error instanceof Refused ? error.problem : null;
  const message = messageOf(error);
  const faults = problem ? otherFaults(problem) : [];
  return (
    <div class="wrong" role="alert">
      <Icon name="alert" size={18} />
      <div>
        <strong>{title ?? (problem ? `${problem.status} ${problem.title}` : "No answer")}</strong>
        <p>{message}</p>
        <Faults list={faults.map((fault) => ({ place: placeOf(fault), detail: fault.detail ?? "" }))} />
      </div>
    </div>
  );
}

/** Faults with their places, each of which is named once. */
export function Faults({ list }: { list: { place: string; detail: string }[] }) {
  if (list.length === 0) return null;
  return (
    <ul>
      {list.map(({ place, detail }, i) => (
        <li key={i}>
          <span class="code">{place || "/"}</span> {withoutName(detail, place)}
        </li>
      ))}
    </ul>
  );
}

/** Returns a sentence without the name at its beginning, if a place next to it ends in that name. */
export function withoutName(sentence: string, place: string): string {
  const name = pointerNames(place).at(-1) + " is ";
  return sentence.startsWith(name) ? sentence.slice(name.length) : sentence;
}

/** Returns where a fault is: a JSON Pointer or the name of a parameter. */
export function placeOf(fault: { pointer?: string } | { parameter?: string }): string {
  if ("pointer" in fault && fault.pointer) return fault.pointer;
  return "parameter" in fault && fault.parameter ? fault.parameter : "";
}

/** Grey bars where contents will be. */
export function Skeleton({ count }: { count: number }) {
  const bars = Array.from({ length: count }, (_, i) => <span key={i} class="skeleton-bar" />);
  return <div class="skeleton">{bars}</div>;
}

interface SegmentsProps<T extends string> {
  label: string;
  options: readonly T[];
  value: T;
  onChange: (value: T) => void;
  children?: ComponentChildren;
}

/** Buttons of which one is pressed. */
export function Segments<T extends string>({ label, options, value, onChange, children }: SegmentsProps<T>) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {options.map((option) => (
        <button key={option} type="button" aria-pressed={option === value} onClick={() => onChange(option)}>
          {option}
        </button>
      ))}
      {children}
    </div>
  );
}

export const formatCount = (n: number): string => n.toLocaleString("en");

/** Returns a number and a noun, as in "2 entries". */
export function count(n: number, noun: string): string {
  const plural = noun.endsWith("y") ? noun.slice(0, -1) + "ies" : noun + "s";
  return formatCount(n) + " " + (n === 1 ? noun : plural);
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });

/** The time, in ms, brought up to date now and then. */
export const now = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 10_000);

const units: [unit: Intl.RelativeTimeFormatUnit, seconds: number, until: number][] = [
  ["second", 1, 60],
  ["minute", 60, 3600],
  ["hour", 3600, 86_400],
  ["day", 86_400, Infinity],
];

/** A time, as the time since then. */
export function Ago({ at }: { at: string }) {
  const seconds = (now.value - Date.parse(at)) / 1000;
  const [unit, length] = units.find(([, , until]) => seconds < until) ?? ["day", 86_400];
  const text = seconds < 8 ? "now" : relative.format(-Math.round(seconds / length), unit);
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {text}
    </time>
  );
}

/** Has something searched a moment after the last change of its inputs, and gives up the search before. */
export function useSearch(search: (signal: AbortSignal) => Promise<void>, after: number, inputs: unknown[]): void {
  useEffect(() => {
    const request = new AbortController();
    const timer = setTimeout(() => void search(request.signal).catch(() => {}), after); // nothing is found then
    return () => {
      clearTimeout(timer);
      request.abort();
    };
  }, inputs);
}

/** Whether a media query holds. */
function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query),
      update = () => setMatches(media.matches);
    update();
    media.addEventListener("change", update);
    return () => media.removeEventListener("change", update);
  }, [query]);
  return matches;
}

/** Whether the window has the width of a phone. */
export const useNarrow = (): boolean => useMedia("(max-width: 600px)");

/** Follows the pointer until it is released. onMove gets the distance from where it was pressed, in px. */
export function drag(event: PointerEvent, onMove: (x: number) => void): void {
  const grip = event.target as HTMLElement;
  const move = (now: PointerEvent) => onMove(now.clientX - event.clientX);
  event.preventDefault();
  grip.setPointerCapture(event.pointerId);
  grip.addEventListener("pointermove", move);
  grip.addEventListener("lostpointercapture", () => grip.removeEventListener("pointermove", move), { once: true });
}

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
export const controlKey = isMac ? "⌘" : "Ctrl";

/** Whether Ctrl or ⌘ is held. With Alt it is the AltGr of a letter. */
export const hasModifier = (event: KeyboardEvent | MouseEvent): boolean =>
  (event.ctrlKey || event.metaKey) && !event.altKey;
