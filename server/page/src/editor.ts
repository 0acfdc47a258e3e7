// The JSON editor, a bundle of its own. It is in a shadow root: there CodeMirror
// makes its styles a constructed style sheet, which the policy style-src 'self'
// allows. In the document it would make a <style> element, which the policy blocks.
import { history, historyKeymap, indentLess, indentMore, standardKeymap } from "@codemirror/commands";
import { jsonLanguage } from "@codemirror/lang-json";
import {
  bracketMatching,
  ensureSyntaxTree,
  HighlightStyle,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { EditorState, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, keymap, lineNumbers, type DecorationSet } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export interface Mark {
  names: string[]; // that lead to the value
  detail: string;
}

export interface Editor {
  text(): string;
  set(text: string): void;
  mark(marks: Mark[]): void;
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
  ".cm-content ::selection": { backgroundColor: "var(--selection)" },
  ".cm-matchingBracket": { backgroundColor: "var(--selection)", outline: "none" },
  ".fault": { textDecoration: "underline wavy var(--bad) 1px", textUnderlineOffset: "3px" },
});

const colors = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--json-name)" },
  { tag: tags.string, color: "var(--json-text)" },
  { tag: tags.number, color: "var(--json-number)" },
  { tag: [tags.bool, tags.null], color: "var(--json-word)" },
  { tag: [tags.brace, tags.squareBracket, tags.separator], color: "var(--muted)" },
]);

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

/** Opens an editor in an element. */
export function open(host: HTMLElement, text: string, options: Options): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const extensions: Extension[] = [
    lineNumbers(),
    history(),
    bracketMatching(),
    indentUnit.of("  "),
    jsonLanguage,
    syntaxHighlighting(colors),
    theme,
    EditorView.lineWrapping,
    // Tab leaves the editor, as it leaves any field.
    keymap.of([
      { key: "Mod-]", run: indentMore },
      { key: "Mod-[", run: indentLess },
      ...standardKeymap,
      ...historyKeymap,
    ]),
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
      const places = list.map((mark) => ({ ...placeOf(view.state, mark.names), detail: mark.detail }));
      view.dispatch({ effects: setMarks.of(places) });
    },
    close: () => view.destroy(),
  };
}

/** Returns where the value is to which names lead, or the nearest one above it. */
function placeOf(state: EditorState, names: string[]): Place {
  let node = ensureSyntaxTree(state, state.doc.length, 500)?.topNode.firstChild ?? null;
  let place: Place = { from: 0, to: Math.min(1, state.doc.length) };
  for (const name of names) {
    let next: typeof node = null;
    if (node?.name === "Object") {
      for (const property of node.getChildren("Property")) {
        const own = property.getChild("PropertyName");
        if (own && unquote(state.sliceDoc(own.from, own.to)) === name) next = property.lastChild;
      }
    } else if (node?.name === "Array") {
      const values: NonNullable<typeof node>[] = [];
      for (let child = node.firstChild; child; child = child.nextSibling) {
        if (!/[[\],⚠]/.test(child.name)) values.push(child);
      }
      next = values[Number(name)] ?? null;
    }
    if (!next) return place;
    place = { from: next.from, to: next.to };
    node = next;
  }
  return place;
}

function unquote(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}
