// Messages: what a screen reader hears, and what everyone sees for a moment.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { reasonOf } from "./data/api.ts";
import { Icon } from "./icons.tsx";
import { Catcher } from "./typing.tsx";

const spoken = signal(""),
  urgent = signal(""); // interrupts what the screen reader says

/** Has a screen reader say a text. */
export function announce(text: string, voice = spoken): void {
  voice.value = "";
  setTimeout(() => {
    voice.value = text;
  }, 30);
}

interface Toast {
  id: number;
  text: string;
  bad?: boolean;
  action?: { name: string; run: () => void };
}

const toasts = signal<Toast[]>([]);
const shownFor = 7000,
  shownLong = 10_000; // ms
let lastID = 0;

/** Shows a message for a moment and returns its id. */
export function toast(text: string, options: Omit<Toast, "id" | "text"> = {}): number {
  // The latest alone, and one that has the focus: the list is Changes.
  const focused = document.activeElement?.closest(".toast")?.id;
  toasts.value = [...toasts.value.filter((t) => "toast-" + t.id === focused), { id: ++lastID, text, ...options }];
  announce(text, options.bad ? urgent : spoken);
  return lastID;
}

/** Shows why something did not happen. */
export function toastError(what: string, error: unknown): void {
  toast(what + " " + reasonOf(error), { bad: true });
}

// What had the focus before a message did.
let before: HTMLElement | null = null;

function remember(event: FocusEvent): void {
  const from = event.relatedTarget as HTMLElement | null;
  if (from && !from.closest(".toasts")) before = from;
}

/** Gives the focus back if it is in a message. */
function returnFocus(id: number): void {
  if (document.activeElement?.closest(".toast")?.id !== "toast-" + id) return;
  const target = before?.isConnected ? before : document.querySelector<HTMLElement>("[data-cell][tabindex='0']");
  target?.focus({ preventScroll: true });
}

/** Takes a message away, if it is still shown. */
export const dismiss = (id: number): void => {
  returnFocus(id);
  toasts.value = toasts.value.filter((t) => t.id !== id);
};

export function Messages() {
  return (
    <>
      <div class="offscreen" role="status" aria-live="polite">
        {spoken}
      </div>
      <div class="offscreen" role="alert">
        {urgent}
      </div>
      <section class="toasts" aria-label="Messages" onFocusIn={remember}>
        <Catcher />
        {toasts.value.map((t) => (
          <ToastBox key={t.id} toast={t} />
        ))}
      </section>
    </>
  );
}

/** A message that goes away by itself, but not while the pointer or the focus is on it. */
function ToastBox({ toast: t }: { toast: Toast }) {
  const timer = useRef(0);
  useEffect(() => {
    start();
    return stop;
  }, []);
  const start = () => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => dismiss(t.id), t.bad || t.action ? shownLong : shownFor);
  };
  const stop = () => clearTimeout(timer.current);
  return (
    <div
      id={"toast-" + t.id}
      class={t.bad ? "toast bad" : "toast"}
      onMouseEnter={stop}
      onMouseLeave={start}
      onFocusIn={stop}
      onFocusOut={start}
    >
      <span>{t.text}</span>
      {t.action && (
        <button
          type="button"
          class="button quiet"
          onClick={() => {
            t.action!.run();
            dismiss(t.id);
          }}
        >
          {t.action.name}
        </button>
      )}
      <button
        type="button"
        class="button quiet square"
        aria-label="Dismiss"
        title="Dismiss"
        onClick={() => dismiss(t.id)}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}
