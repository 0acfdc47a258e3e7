// The sessions: databases of tests and of agents, which reach the file with a commit alone.
import { useEffect, useState } from "preact/hooks";
import { ask, enterSession, session } from "../data/api.ts";
import { isReadOnly, status } from "../data/catalog.ts";
import { toast, toastError } from "../messages.tsx";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { go, href, route } from "../route.ts";
import { loadSessions, sessions, sessionsError, type Session } from "../data/sessions.ts";
import { Review, SessionChanges, sessionPath } from "./review.tsx";
import { Ago, Skeleton, Button, count, Empty, ErrorBox, formatCount } from "../ui.tsx";
import { forgetSession } from "../data/undo.ts";

const interval = 2000; // ms: a request that begins a session says so to no other client

export function Sessions() {
  const name = route.value.path[2];
  useEffect(() => {
    void loadSessions();
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") void loadSessions();
    }, interval);
    return () => clearInterval(timer);
  }, []);
  return name === undefined ? <List /> : <Review key={name} name={name} />;
}

function List() {
  const [unwanted, setUnwanted] = useState(""); // to be ended
  const list = sessions.value,
    error = sessionsError.value;
  const end = async (name: string) => {
    const isOwn = name === session.value;
    if (isOwn) session.value = ""; // a request in it would begin it again
    try {
      await ask("DELETE", sessionPath(name));
      forgetSession(name);
      toast("The session has ended");
      if (isOwn) enterSession("");
    } catch (e) {
      if (isOwn) session.value = name;
      toastError("Could not end it.", e);
    }
    void loadSessions();
  };
  return (
    <main class="screen list" aria-labelledby="title">
      <header class="top">
        <h1 id="title">Sessions</h1>
        <span class="count">{list?.length ? count(list.length, "session") : ""}</span>
      </header>
      {error !== null && <ErrorBox error={error} />}
      {list === null && error === null && <Skeleton count={2} />}
      {list?.length === 0 && (
        <Empty icon="layers" title="No sessions">
          {status.value?.mode.sessions ? (
            <p>
              A request with the header <span class="code">Pickup-Session: NAME</span> works on its own copy of the
              data. Tests that run in parallel do not see each other's writes.
            </p>
          ) : (
            <p>Sessions are off (--max-sessions 0).</p>
          )}
        </Empty>
      )}
      {list && list.length > 0 && (
        <div class="log" tabIndex={0} role="region" aria-label="Sessions">
          <table class="plain log sessions">
            <thead>
              <tr>
                <th scope="col">Session</th>
                <th scope="col" class="right">
                  Changes
                </th>
                <th scope="col" class="right phone-no">
                  Bytes
                </th>
                <th scope="col">Last used</th>
                <th scope="col">
                  <span class="offscreen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {list.map((item) => (
                <Line key={item.name} item={item} onEnd={() => setUnwanted(item.name)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
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

function Line({ item, onEnd }: { item: Session; onEnd: () => void }) {
  const address = href(["_", "sessions", item.name]);
  return (
    <tr
      onClick={(event) => {
        if (!(event.target as HTMLElement).closest("a, button")) go(address);
      }}
    >
      <th scope="row" class="clip">
        <a href={address}>{item.name}</a>
        {item.name === session.value && <span class="pill session">shown</span>}
        {item.kept && item.changes > 0 && <span class="pill session">waits for you</span>}
      </th>
      <td class="right num">{formatCount(item.changes)}</td>
      <td class="right num phone-no">{formatCount(item.bytes)}</td>
      <td>
        <Ago at={item.used} />
      </td>
      <td class="actions">
        <Button kind="quiet" class="enter" onClick={() => enterSession(item.name)}>
          Enter
        </Button>
        {!isReadOnly.value && <Button kind="quiet" icon="trash" label={"End " + item.name} onClick={onEnd} />}
      </td>
    </tr>
  );
}
