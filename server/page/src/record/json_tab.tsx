// A record as JSON. The editor is loaded when this is shown for the first time.
import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../data/api.ts";
import type { Draft } from "./draft.ts";
import type * as EditorModule from "./editor.ts";
import { Icon } from "../icons.tsx";
import { isEqual, isObject, NotJSON, parse, pointerNames, repeatedName, stringify } from "../data/json.ts";
import { Skeleton, ErrorBox } from "../ui.tsx";

interface JSONTabProps {
  draft: Draft;
  label: string;
  isReadOnly: boolean;
}

export function JSONTab({ draft, label, isReadOnly }: JSONTabProps) {
  const host = useRef<HTMLDivElement>(null),
    editor = useRef<EditorModule.Editor | null>(null);
  const [isReady, setReady] = useState(false),
    [error, setError] = useState<unknown>(null);
  const change = useRef(draft.setJSON);
  change.current = draft.setJSON;
  const show = useRef(() => {}); // underlines what the server has found

  useEffect(() => {
    let isGone = false;
    const begin = async () => {
      try {
        const module = await import("./editor.ts");
        if (isGone || !host.current) return;
        editor.current = module.open(host.current, stringify(draft.value, 2), { label, isReadOnly, onChange });
        setReady(true);
      } catch (e) {
        setError(e);
      }
    };
    const onChange = (text: string) => {
      try {
        const value = parse(text);
        const twice = repeatedName(text);
        if (twice !== undefined) change.current(null, `“${twice}” is there twice.`);
        else if (isObject(value)) change.current(value, "");
        else change.current(null, "A record must be an object: { … }");
        show.current();
      } catch (e) {
        change.current(null, messageOf(e));
        editor.current?.mark(e instanceof NotJSON ? [{ names: [], at: e.at, detail: e.message }] : []);
      }
    };
    void begin();
    return () => {
      isGone = true;
      editor.current?.close();
    };
  }, []);
  show.current = () =>
    editor.current?.mark(draft.faults.map((f) => ({ names: pointerNames(f.pointer), detail: f.detail })));
  useEffect(() => show.current(), [draft.faults, isReady]);
  useEffect(() => {
    if (!editor.current) return;
    try {
      if (!isEqual(parse(editor.current.text()), draft.value)) editor.current.set(stringify(draft.value, 2));
    } catch {
      // It is being typed.
    }
  }, [draft.value]);
  useEffect(() => {
    if (draft.edition > 0) editor.current?.set(stringify(draft.value, 2));
  }, [draft.edition]);

  if (error) return <ErrorBox error={error} title="The editor could not be loaded" />;
  return (
    <>
      <div class="editor" ref={host}>
        {!isReady && <Skeleton count={2} />}
      </div>
      {draft.jsonError && (
        <p class="error" role="status">
          <Icon name="alert" size={13} />
          {draft.jsonError}
        </p>
      )}
    </>
  );
}
