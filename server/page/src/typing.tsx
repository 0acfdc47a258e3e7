// Keys that are pressed before the input for which they are meant is there. An input that is
// always mounted takes them, as in a spreadsheet, and hands them over to that input.
import { go } from "./route.ts";
import type { Control } from "./record/input_props.ts";

type Item = string | KeyboardEvent; // a text, or a key that types none

const catcher: { current: HTMLInputElement | null } = { current: null };
let held: Item[] = [],
  isCatching = false,
  last = 0, // the number of the latest catch
  before: HTMLElement | null = null; // what had the focus

function reset(): void {
  held = [];
  isCatching = false;
  if (catcher.current) catcher.current.value = "";
}

addEventListener("pointerdown", reset, true);

/** Whether an element takes the keys that wait for another. */
export const isWaiting = (element: Node): boolean => element === catcher.current;

/** Whether keys still wait for the input for which they were caught: nobody has clicked elsewhere since. */
export const areCaught = (catching: number): boolean => isCatching && catching === last;

/** Takes the keys from now on, until takeKeys, and returns a number for areCaught. */
export function catchKeys(): number {
  const input = catcher.current;
  if (!input || document.querySelector("dialog[open]")) return 0;
  if (!isCatching) {
    reset();
    last++;
  }
  const { left, top, width, height } = (document.activeElement ?? input).getBoundingClientRect();
  Object.assign(input.style, { left: left + "px", top: top + "px", width: width + "px", height: height + "px" });
  isCatching = true;
  if (document.activeElement !== input) before = document.activeElement as HTMLElement | null;
  input.focus({ preventScroll: true });
  return last;
}

/** Goes to a form, whose first input gets the keys from now on. */
export function openForm(address: string): void {
  const from = location.hash;
  go(address);
  if (location.hash !== from) catchKeys();
}

/** Holds a key and those after it until takeKeys. */
export function holdKey(event: KeyboardEvent): number {
  const caught = catchKeys();
  held.push(event);
  event.preventDefault();
  event.stopPropagation();
  return caught;
}

/** Gives an element the focus and the keys that were meant for it. A text replaces what is selected. */
export function takeKeys(target: HTMLElement | null, isSelected = false): void {
  if (catcher.current?.matches(".composing")) {
    catcher.current.addEventListener("compositionend", () => setTimeout(() => takeKeys(target, isSelected)), {
      once: true,
    });
    return;
  }
  const items = isCatching ? [...held, catcher.current!.value].filter((item) => item !== "") : [];
  reset();
  target?.focus({ preventScroll: true });
  if (isSelected) (target as Control | null)?.select?.();
  void replay(items);
}

/** Does what keys would have done. What is rendered after one of them is there for the next. */
async function replay(items: Item[]): Promise<void> {
  for (const [i, item] of items.entries()) {
    if (isCatching) {
      held.push(catcher.current!.value, ...items.slice(i)); // the key before has begun something for which they wait
      catcher.current!.value = "";
      return;
    }
    if (typeof item === "string") typeText(item);
    else pressKey(item);
    await Promise.resolve();
  }
}

function typeText(text: string): void {
  const target = document.activeElement as Control | null;
  if (target?.matches("input, textarea")) {
    target.setRangeText(text, target.selectionStart ?? 0, target.selectionEnd ?? 0, "end");
    target.dispatchEvent(new InputEvent("input", { bubbles: true, data: text, inputType: "insertText" }));
    return;
  }
  const letters = [...text];
  for (const [i, key] of letters.entries()) {
    const isTyped = document.activeElement?.dispatchEvent(
      new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }),
    );
    if (!isCatching) continue;
    catcher.current!.value = letters.slice(isTyped ? i : i + 1).join("");
    return;
  }
}

function pressKey(event: KeyboardEvent): void {
  const isHandled = document.activeElement?.dispatchEvent(new KeyboardEvent(event.type, event)) === false;
  if (isHandled || event.key !== "Tab") return;
  const stops = [
    ...document.querySelectorAll<HTMLElement>("a, button, input, select, textarea, [tabindex='0']"),
  ].filter((element) => element.tabIndex >= 0 && element.getClientRects().length > 0);
  const at = stops.indexOf(document.activeElement as HTMLElement);
  stops[at + (event.shiftKey ? -1 : 1)]?.focus();
}

/** Whether a key changes the text in the catcher, or only what is held with another. */
const isText = (event: KeyboardEvent): boolean =>
  (event.key.length === 1 && !event.ctrlKey && !event.metaKey) ||
  [
    "Backspace",
    "Delete",
    "ArrowLeft",
    "ArrowRight",
    "Process",
    "Dead",
    "Shift",
    "Control",
    "Alt",
    "AltGraph",
    "Meta",
  ].includes(event.key);

function onKey(event: KeyboardEvent): void {
  if (isText(event)) {
    event.stopPropagation();
    return;
  }
  const input = event.currentTarget as HTMLInputElement;
  if (input.value) held.push(input.value);
  input.value = "";
  holdKey(event);
}

/** The input that takes keys. It is visible while an input method composes in it. */
export function Catcher() {
  return (
    <input
      ref={catcher}
      class="catcher"
      aria-label="What is typed"
      tabIndex={-1}
      autocomplete="off"
      spellcheck={false}
      onKeyDown={onKey}
      onFocus={() => isCatching || before?.focus({ preventScroll: true })} // as a dialog gives it back
      onCompositionStart={({ currentTarget }) => currentTarget.classList.add("composing")}
      onCompositionEnd={({ currentTarget }) => currentTarget.classList.remove("composing")}
    />
  );
}
