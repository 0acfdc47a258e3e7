// The keys that work on every screen.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { hasCollection, isReadOnly, whyOff } from "./data/catalog.ts";
import { isHelpOpen, isPaletteOpen } from "./dialogs.ts";
import { toast } from "./messages.tsx";
import { go, href, route } from "./route.ts";
import { hasModifier } from "./ui.tsx";
import { catchKeys, openForm } from "./typing.tsx";
import { redoLast, undoLast } from "./data/undo.ts";

// WCAG 2.1.4: somebody who speaks to the page can switch off keys of one letter.
export const hasLetters = signal(localStorage.getItem("pickup.letters") !== "off");

const chordTime = 900; // ms between G and the next letter
const screens: Record<string, string> = {
  o: "#/",
  r: "#/_/requests",
  c: "#/_/changes",
  p: "#/_/problems",
  l: "#/_/relations",
  s: "#/_/sessions",
};

export function useKeys(): void {
  useEffect(() => {
    let chord = 0;
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement,
        key = event.key.toLowerCase();
      const isTyping = target.closest("input, textarea, select, [contenteditable=true], .editor, dialog") !== null;
      if (hasModifier(event) && key === "k" && !event.shiftKey) {
        event.preventDefault();
        if (!isPaletteOpen.value) catchKeys();
        isPaletteOpen.value = !isPaletteOpen.value;
        return;
      }
      if (event.defaultPrevented || isTyping || event.altKey) return;
      if (hasModifier(event)) {
        if (key === "/") isHelpOpen.value = true;
        else if (key === "y" || (key === "z" && event.shiftKey)) void redoLast();
        else if (key === "z") void undoLast();
        else return;
        event.preventDefault();
        return;
      }
      if (!hasLetters.value) return;
      const isChord = Date.now() - chord < chordTime;
      chord = key === "g" ? Date.now() : 0;
      if (isChord && screens[key]) go(screens[key]);
      else if (!press(key)) return;
      event.preventDefault();
    };
    // Keys that compose a character, as in Japanese, have no other meaning.
    const onCompose = (event: KeyboardEvent) => {
      if (event.isComposing && !(event.target as HTMLElement).closest(".editor")) event.stopPropagation();
    };
    addEventListener("keydown", onKey);
    addEventListener("keydown", onCompose, true);
    return () => {
      removeEventListener("keydown", onKey);
      removeEventListener("keydown", onCompose, true);
    };
  }, []);
}

/** Does what a letter stands for, and reports whether it has a meaning. */
function press(key: string): boolean {
  const [name = ""] = route.value.path;
  switch (key) {
    case "/": {
      const filter = document.getElementById("filter");
      if (filter) filter.focus();
      else isPaletteOpen.value = true;
      return true;
    }
    case "n":
      if (isReadOnly.value || !hasCollection(name)) return false;
      if (whyOff.value) toast(whyOff.value, { bad: true });
      else openForm(href(["_", "new", name], route.value.query));
      return true;
    case "?":
      isHelpOpen.value = true;
      return true;
  }
  return false;
}
