// What the editor does for JSON by itself: keys, indentation, and the bracket that
// belongs to the one at the cursor. Packages for any language would be a seventh of
// what it loads.
import {
  cursorDocEnd,
  cursorDocStart,
  cursorGroupLeft,
  cursorGroupRight,
  cursorLineBoundaryBackward,
  cursorLineBoundaryForward,
  cursorLineDown,
  cursorLineUp,
  cursorPageDown,
  cursorPageUp,
  deleteGroupBackward,
  deleteGroupForward,
  selectAll,
  selectDocEnd,
  selectDocStart,
  selectGroupLeft,
  selectGroupRight,
  selectLineBoundaryBackward,
  selectLineBoundaryForward,
  selectLineDown,
  selectLineUp,
  selectPageDown,
  selectPageUp,
} from "@codemirror/commands";
import { EditorSelection, type ChangeSpec, type EditorState } from "@codemirror/state";
import { Decoration, ViewPlugin, type EditorView, type KeyBinding } from "@codemirror/view";

const unit = "  "; // of indentation

/** Breaks the line. The next one is indented as it is, and more after an opening bracket. */
function breakLine({ state, dispatch }: EditorView): boolean {
  if (state.readOnly) return false;
  const change = state.changeByRange(({ from, to }) => {
    const line = state.doc.lineAt(from),
      before = line.text.slice(0, from - line.from);
    const above = "\n" + /^\s*/.exec(before)![0],
      next = /[[{]\s*$/.test(before) ? above + unit : above;
    const closes = next !== above && /^\s*[\]}]/.test(state.sliceDoc(to, state.doc.lineAt(to).to));
    return {
      changes: { from, to, insert: closes ? next + above : next },
      range: EditorSelection.cursor(from + next.length),
    };
  });
  dispatch(state.update(change, { scrollIntoView: true, userEvent: "input" }));
  return true;
}

/** Indents the selected lines more, or less. */
const indent =
  (isMore: boolean) =>
  ({ state, dispatch }: EditorView): boolean => {
    if (state.readOnly) return false;
    const changes: ChangeSpec[] = [];
    for (const { from, to } of state.selection.ranges) {
      for (let at = from; at <= to;) {
        const line = state.doc.lineAt(at);
        if (isMore) changes.push({ from: line.from, insert: unit });
        else changes.push({ from: line.from, to: line.from + /^ {0,2}/.exec(line.text)![0].length });
        at = line.to + 1;
      }
    }
    dispatch(state.update({ changes, userEvent: "input.indent" }));
    return true;
  };

// Backspace, Delete and the other arrow keys are the browser's.
export const keys: KeyBinding[] = [
  { key: "Mod-]", run: indent(true) },
  { key: "Mod-[", run: indent(false) },
  { key: "Enter", run: breakLine, shift: breakLine },
  { key: "Mod-a", run: selectAll },
  { key: "ArrowUp", run: cursorLineUp, shift: selectLineUp },
  { key: "ArrowDown", run: cursorLineDown, shift: selectLineDown },
  { key: "Mod-ArrowLeft", mac: "Alt-ArrowLeft", run: cursorGroupLeft, shift: selectGroupLeft },
  { key: "Mod-ArrowRight", mac: "Alt-ArrowRight", run: cursorGroupRight, shift: selectGroupRight },
  { key: "Mod-Backspace", mac: "Alt-Backspace", run: deleteGroupBackward },
  { key: "Mod-Delete", mac: "Alt-Delete", run: deleteGroupForward },
  { key: "PageUp", mac: "Ctrl-ArrowUp", run: cursorPageUp, shift: selectPageUp },
  { key: "PageDown", mac: "Ctrl-ArrowDown", run: cursorPageDown, shift: selectPageDown },
  { key: "Home", mac: "Cmd-ArrowLeft", run: cursorLineBoundaryBackward, shift: selectLineBoundaryBackward },
  { key: "End", mac: "Cmd-ArrowRight", run: cursorLineBoundaryForward, shift: selectLineBoundaryForward },
  { key: "Mod-Home", mac: "Cmd-ArrowUp", run: cursorDocStart, shift: selectDocStart },
  { key: "Mod-End", mac: "Cmd-ArrowDown", run: cursorDocEnd, shift: selectDocEnd },
];

const near = 10_000; // characters in which a bracket is looked for
const bracket = Decoration.mark({ class: "bracket" });

/** Returns the places of a bracket at the cursor and of the one that belongs to it. */
function bracketsAt(state: EditorState): number[] {
  const { main } = state.selection,
    from = state.doc.lineAt(Math.max(0, main.head - near)).from;
  if (!main.empty) return [];
  const text = state.sliceDoc(from, Math.min(state.doc.length, main.head + near)),
    open: number[] = [];
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"?|[[\]{}]/g)) {
    const at = from + index;
    if (token === "[" || token === "{") open.push(at);
    if (token !== "]" && token !== "}") continue;
    const start = open.pop();
    if (start === undefined || (text[start - from] === "{") !== (token === "}")) continue;
    for (const place of [start, at]) if (place === main.head || place === main.head - 1) return [start, at];
  }
  return [];
}

const bracketMarks = ({ state }: EditorView) =>
  Decoration.set(bracketsAt(state).map((at) => bracket.range(at, at + 1)));

export const brackets = ViewPlugin.define(
  (view) => ({
    marks: bracketMarks(view),
    update(now) {
      if (now.docChanged || now.selectionSet) this.marks = bracketMarks(now.view);
    },
  }),
  { decorations: (plugin) => plugin.marks },
);
