// The sessions: databases of tests, which never reach the file.
import { useEffect, useState } from "preact/hooks";
import { ask, enterSession, read, session, type Answer, type Schemas } from "../data/api.ts";
import { isReadOnly, status } from "../data/catalog.ts";
import { ChangeTitle } from "./changes.tsx";
import type { Change } from "../data/live.ts";
import { toast, toastError } from "../messages.tsx";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { Ago, Skeleton, Button, count, Empty, ErrorBox, formatCount } from "../ui.tsx";
import { forgetSession, toastUndo } from "../data/undo.ts";
import { WriteButton } from "../write_button.tsx";

type Session = Schemas["Session"];

const pathOf = (name: string): string => "/_/sessions/" + encodeURIComponent(name);

export function Sessions() {
  const [list, setList] = useState<Session[] | null>(null),
    [error, setError] = useState<unknown>(null);
  const [opened, setOpened] = useState(""),
    [loads, setLoads] = useState(0);
  const [unwanted, setUnwanted] = useState(""); // to be ended
  const load = () => {
    setLoads((n) => n + 1);
    read<Session[]>("/_/sessions").then((now) => {
      setList(now);
      setError(null);
    }, setError);
  };
  useEffect(load, []);
  const end = async (name: string) => {
    const isOwn = name === session.value;
    if (isOwn) session.value = ""; // a request in it would begin it again
    const isEnded = await run("DELETE", pathOf(name), () => {
      forgetSession(name);
      toast("The session has ended");
    });
    if (!isOwn) return;
    if (isEnded) enterSession("");
    else session.value = name;
  };
  const reset = (name: string) =>
    run("POST", pathOf(name) + "/reset", ({ revision }) => toastUndo("The session was reset", revision, undefined, name));
  const commit = (name: string) =>
    run("POST", pathOf(name) + "/commit", ({ revision }) =>
      toastUndo("Its changes were written to the file", revision, undefined, ""),
    );
  const run = async (method: string, path: string, tell: (answer: Answer) => void): Promise<boolean> => {
    try {
      tell(await ask(method, path));
      setOpened("");
      load();
      return true;
    } catch (e) {
      toastError("Could not do this.", e);
      return false;
    }
  };
  return (
    <main class="screen" aria-labelledby="title">
      <header class="top">
        <h1 id="title">Sessions</h1>
        <span class="count">{list?.length ? count(list.length, "session") : ""}</span>
        <span class="grow" />
        <Button onClick={load}>Refresh</Button>
      </header>
      {error !== null && <ErrorBox error={error} />}
      {list === null && error === null && <Skeleton count={2} />}
      {list?.length === 0 && (
        <Empty icon="layers" title="No sessions">
          {status.value?.mode.sessions ? (
            <p>
              A request with the header <span class="code">Pickup-Session: NAME</span> works on its own copy of the data. Tests
              that run in parallel do not see each other's writes.
            </p>
          ) : (
            <p>Sessions are off (--max-sessions 0).</p>
          )}
        </Empty>
      )}
      <ul class="changes">
        {list?.map((item) => (
          <li key={item.name}>
            <header>
              <b>{item.name}</b>
              {item.name === session.value && <span class="pill session">shown</span>}
              <span class="dim">{formatCount(item.bytes)} bytes</span>
              <span class="grow" />
              <span class="dim">last used</span>
              <Ago at={item.used} />
            </header>
            <div class="row-of wrap">
              <Button
                aria-expanded={opened === item.name}
                onClick={() => setOpened(opened === item.name ? "" : item.name)}
              >
                Changes
              </Button>
              <Button onClick={() => enterSession(item.name)}>Enter</Button>
              {!isReadOnly.value && (
                <>
                  <Button onClick={() => void reset(item.name)}>Reset</Button>
                  <WriteButton onClick={() => void commit(item.name)}>Commit to the file</WriteButton>
                </>
              )}
              <Button
                kind="quiet"
                icon="trash"
                onClick={() => setUnwanted(item.name)}
              >
                End
              </Button>
            </div>
            {opened === item.name && <SessionChanges key={loads} name={item.name} />}
          </li>
        ))}
      </ul>
      {unwanted && (
        <ConfirmDialog
          title={`End ${unwanted}?`}
          verb="End"
          onYes={() => void end(unwanted)}
          onClose={() => setUnwanted("")}
        >
          <p>Its changes will be lost. This cannot be undone.</p>
          <SessionChanges name={unwanted} />
        </ConfirmDialog>
      )}
    </main>
  );
}

const shown = 50; // changes

function SessionChanges({ name }: { name: string }) {
  const [changes, setChanges] = useState<Change[] | null>(null),
    [error, setError] = useState<unknown>(null);
  useEffect(() => {
    read<Change[]>(pathOf(name) + "/changes").then(setChanges, setError);
  }, [name]);
  if (error !== null) return <ErrorBox error={error} />;
  if (changes === null) return <Skeleton count={1} />;
  if (changes.length === 0) return <p class="dim">No changes.</p>;
  return (
    <ul class="feed">
      {changes.slice(0, shown).map((change, i) => (
        <li key={i} class="line">
          <ChangeTitle change={change} />
        </li>
      ))}
      {changes.length > shown && <li class="dim">and {formatCount(changes.length - shown)} more</li>}
    </ul>
  );
}
