// The JSON editor, a bundle of its own. It is in a shadow root: there CodeMirror
// makes its styles a constructed style sheet, which the policy style-src 'self'
// allows. In the document it would make a <style> element, which the policy blocks.
import { history, historyKeymap } from "@codemirror/commands";
import { EditorState, RangeSetBuilder, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, keymap, lineNumbers, ViewPlugin, type DecorationSet } from "@codemirror/view";
import { brackets, keys } from "./editor_keys.ts";

export interface Mark {
  names: string[]; // that lead to the value
  at?: number | undefined; // where the text is not JSON, instead
  detail: string;
}

export interface Editor {
  text(): string;
  set(text: string): void;
  mark(marks: Mark[]): void;
  focus(): void;
  close(): void;
}

interface Options {
  label: string;
  isReadOnly: boolean;
  onChange: (text: string) => void;
}

const theme = EditorView.theme({
  "&": {
    fontSize: "var(--text-code)",
    color: "var(--ink)",
    backgroundColor: "var(--sunken)",
    borderRadius: "var(--radius)",
    border: "1px solid var(--line)",
    height: "100%",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--code)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--ink)", padding: "10px 0" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint-ink)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 8px 0 12px", minWidth: "20px" },
  ".name": { color: "var(--json-name)" },
  ".text": { color: "var(--json-text)" },
  ".number": { color: "var(--json-number)" },
  ".word": { color: "var(--json-word)" },
  ".sign": { color: "var(--muted)" },
  ".cm-content ::selection": { backgroundColor: "var(--selection)" },
  ".bracket": { backgroundColor: "var(--selection)" },
  ".fault": { textDecoration: "underline wavy var(--bad) 1px", textUnderlineOffset: "3px" },
});

// No token of JSON contains a line break, so a line has its colors by itself.
const token = /("(?:[^"\\]|\\.)*"?)(?=(\s*:)?)|(-?\d[\w.+-]*)|(true|false|null)|[{}[\],:]/g;
const maxLine = 10_000; // characters of a line that has colors

const styles = Object.fromEntries(
  ["name", "text", "number", "word", "sign"].map((name) => [name, Decoration.mark({ class: name })]),
);

function colorsOf(view: EditorView): DecorationSet {
  const { doc } = view.state,
    marks = new RangeSetBuilder<Decoration>();
  let done = -1;
  for (const { from, to } of view.visibleRanges) {
    if (to <= done) continue;
    for (let line = doc.lineAt(Math.max(from, done + 1)); ; line = doc.line(line.number + 1)) {
      if (line.length < maxLine) {
        for (const { 0: whole, 1: text, 2: colon, 3: number, 4: word, index } of line.text.matchAll(token)) {
          const style = text ? (colon ? "name" : "text") : number ? "number" : word ? "word" : "sign";
          const start = line.from + index;
          marks.add(start, start + (text ?? whole).length, styles[style]!);
        }
      }
      done = line.to;
      if (line.to >= to || line.number === doc.lines) break;
    }
  }
  return marks.finish();
}

const colors = ViewPlugin.define(
  (view) => ({
    marks: colorsOf(view),
    update(now) {
      if (now.docChanged || now.viewportChanged) this.marks = colorsOf(now.view);
    },
  }),
  { decorations: (plugin) => plugin.marks },
);

interface Place {
  from: number;
  to: number;
}

// The server's faults are underlined.
const setMarks = StateEffect.define<(Place & { detail: string })[]>();
const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(setMarks)) continue;
      const ranges = effect.value
        .filter((mark) => mark.to > mark.from)
        .map((mark) =>
          Decoration.mark({ class: "fault", attributes: { title: mark.detail } }).range(mark.from, mark.to),
        );
      return Decoration.set(ranges, true);
    }
    return set.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

// Over a selection, Chromium types in the style of what was there, which the policy blocks.
const typeOver = EditorView.domEventHandlers({
  beforeinput: ({ inputType, data }, view) => {
    const { state } = view;
    if (inputType !== "insertText" || data === null || state.selection.main.empty || state.readOnly) return false;
    view.dispatch(state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

/** Opens an editor in an element. */
export function open(host: HTMLElement, text: string, options: Options): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const extensions: Extension[] = [
    lineNumbers(),
    history(),
    brackets,
    colors,
    typeOver,
    theme,
    EditorView.lineWrapping,
    // Tab leaves the editor, as it leaves any field.
    keymap.of([...keys, ...historyKeymap]),
    marks,
    EditorState.readOnly.of(options.isReadOnly),
    EditorView.contentAttributes.of({ "aria-label": options.label }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) options.onChange(update.state.doc.toString());
    }),
  ];
  const view = new EditorView({ root, parent: root, state: EditorState.create({ doc: text, extensions }) });
  return {
    text: () => view.state.doc.toString(),
    set: (next) => {
      if (next === view.state.doc.toString()) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
    },
    mark: (list) => {
      const text = view.state.doc.toString(),
        character = (at: number) => ({ from: Math.min(at, text.length - 1), to: Math.min(at + 1, text.length) });
      const places = list.map(({ names, at, detail }) => ({
        ...(at === undefined ? placeOf(text, names) : character(at)),
        detail,
      }));
      view.dispatch({ effects: setMarks.of(places) });
    },
    focus: () => view.focus(),
    close: () => view.destroy(),
  };
}

/** Returns where in a JSON text the value is to which names lead, or the nearest one above it. */
function placeOf(text: string, names: string[]): Place {
  const tokens = [...text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)];
  let place: Place = { from: 0, to: Math.min(1, text.length) },
    next = 0,
    deepest = -1;
  // Reads a value. depth is how many of the names lead to it, and -1 off their path.
  const readValue = (depth: number): void => {
    const first = tokens[next];
    if (!first) return;
    const isObject = first[0] === "{";
    if (isObject || first[0] === "[") {
      next++;
      for (let i = 0; tokens[next] && !/[\]}]/.test(tokens[next]![0][0]!); i++) {
        const name = isObject ? unquote(tokens[next]![0]) : String(i);
        if (isObject) next += 2; // with the colon
        readValue(depth >= 0 && names[depth] === name ? depth + 1 : -1);
        if (tokens[next]?.[0] === ",") next++;
      }
    }
    const last = tokens[next++] ?? first;
    if (depth <= deepest) return;
    deepest = depth;
    place = { from: first.index, to: last.index + last[0].length };
  };
  readValue(0);
  return place;
}

function unquote(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}
