// The requests of front ends, live, and the rules for simulated answers.
import type { ComponentChild } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, prefix } from "../data/api.ts";
import { status } from "../data/catalog.ts";
import { Icon } from "../icons.tsx";
import { requests, type LoggedRequest } from "../data/live.ts";
import { toastError } from "../messages.tsx";
import { paused, pause, pauseWhileAway, isFailed, newer, setSeen } from "../data/request_log.ts";
import { go, route } from "../route.ts";
import { canSimulate, rules } from "../data/simulation.ts";
import {
  addressOf,
  agentName,
  decode,
  Method,
  NewRequest,
  RequestName,
  RequestPanel,
  safeMethods,
  timeOf,
} from "./request_panel.tsx";
import { SimulationPanel } from "./simulate.tsx";
import { StatusCode } from "./status_code.tsx";
import { Skeleton, Button, Copy, count, Empty, formatCount, Segments, useNarrow } from "../ui.tsx";

const filters = ["all", "writes", "failed"] as const;
type Filter = (typeof filters)[number];

const shown = 200; // requests

function matches(request: LoggedRequest, filter: Filter, word: string): boolean {
  if (filter === "writes" && safeMethods.includes(request.method)) return false;
  if (filter === "failed" && !isFailed(request)) return false;
  return decode(request.path + "?" + (request.query ?? ""))
    .toLowerCase()
    .includes(word.toLowerCase());
}

export function Requests() {
  if (!status.value?.mode.requests) return <Off />;
  return <Log />;
}

function Off() {
  const [button, panel] = useSimulate();
  return (
    <main class="screen" aria-labelledby="title">
      <header class="top">
        <h1 id="title">Requests</h1>
        <span class="grow" />
        {button}
      </header>
      {panel}
      <Empty icon="pulse" title="Requests are not recorded">
        <p>
          Start the server with <span class="code">--requests=on</span> to see the requests of your front end here.
        </p>
      </Empty>
    </main>
  );
}

function Log() {
  const { value: now } = requests;
  useEffect(setSeen, [now]);
  const id = route.value.path[2];
  const [filter, setFilter] = useState<Filter>("all"),
    [word, setWord] = useState("");
  const isPaused = paused.value !== null,
    all = paused.value ?? now;
  const list = (all ?? []).filter((request) => matches(request, filter, word)),
    [button, panel] = useSimulate(),
    waiting = newer().filter((request) => matches(request, filter, word)).length;
  const toggle = () => {
    pause(!isPaused, true);
    if (isPaused) document.querySelector(".log")?.scrollTo(0, 0);
  };
  const forget = () => {
    pause(false, false);
    ask("DELETE", "/_/requests").catch((error: unknown) => toastError("Could not clear the list.", error));
  };
  return (
    <>
      <main class="screen list" aria-labelledby="title">
        <header class="top">
          <h1 id="title">Requests</h1>
          <span class="count" aria-live="polite">
            {all && count(all.length, "request")}
          </span>
          <span class="grow" />
          <Segments label="Which requests" options={filters} value={filter} onChange={setFilter} />
        </header>
        <div class="tools">
          <input
            id="filter"
            class="search"
            type="search"
            aria-label="Search in paths"
            placeholder="path"
            value={word}
            onInput={(event) => setWord(event.currentTarget.value)}
          />
          {button}
          <Button icon={isPaused ? "play" : "pause"} label={isPaused ? "Resume" : "Pause"} onClick={toggle}>
            <span class="phone-no">{isPaused ? "Resume" : "Pause"}</span>
            {waiting > 0 && <span class="n">{waiting} new</span>}
          </Button>
          <Button kind="quiet" icon="trash" label="Clear" onClick={forget} />
          <Button icon="plus" label="New request" onClick={() => go("#/_/requests/new")}>
            <span class="phone-no">New request</span>
          </Button>
        </div>
        {panel}
        {all === null && <Skeleton count={3} />}
        {all?.length === 0 && <NoRequests />}
        {all !== null && all.length > 0 && list.length === 0 && <Empty icon="pulse" title="No matches" />}
        {list.length > 0 && <Table list={list} opened={id} />}
      </main>
      {id === "new" ? <NewRequest /> : id !== undefined && <RequestPanel key={id} id={id} />}
    </>
  );
}

/** What shows the rules for simulated answers, on a phone a way to them. */
function SimulateButton({ isOpen, onToggle }: { isOpen: boolean; onToggle: () => void }) {
  const n = rules.value.length,
    isNarrow = useNarrow();
  if (!canSimulate.value) return null;
  const name = (
    <>
      <Icon name="flask" />
      Simulate
      {n > 0 && <span class="pill simulated">{n}</span>}
    </>
  );
  if (isNarrow) {
    return (
      <a class="button" href="#/_/simulate">
        {name}
      </a>
    );
  }
  return (
    <Button aria-expanded={isOpen} onClick={onToggle}>
      {name}
    </Button>
  );
}

/** Whether the rules are shown, and what shows and hides them. They are if there are some. */
function useSimulate(): [button: ComponentChild, panel: ComponentChild] {
  const [isOpen, setOpen] = useState<boolean | null>(null),
    hadSome = useRef(false);
  hadSome.current ||= rules.value.length > 0;
  const isShown = isOpen ?? hadSome.current;
  const isNarrow = useNarrow();
  return [
    <SimulateButton key="button" isOpen={isShown} onToggle={() => setOpen(!isShown)} />,
    canSimulate.value && isShown && !isNarrow ? <SimulationPanel key="panel" /> : null,
  ];
}

function NoRequests() {
  const address = location.origin + prefix.value;
  return (
    <Empty icon="pulse" title="No requests yet">
      <p>
        Point your front end at <span class="code">{address}</span> <Copy text={() => address} />
      </p>
      <p>
        Its requests appear here as they are answered; requests of this page are left out. Pages on localhost may send
        requests, and <span class="code">--cors-origin</span> allows others.
      </p>
    </Empty>
  );
}

interface TableProps {
  list: LoggedRequest[];
  opened: string | undefined;
}

function Table({ list, opened }: TableProps) {
  useEffect(() => () => pauseWhileAway(false), []);
  return (
    <div
      class="log"
      tabIndex={0}
      role="region"
      aria-label="Requests"
      onScroll={(event) => pauseWhileAway(event.currentTarget.scrollTop > 0)}
    >
      <table class="plain log">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Status</th>
            <th scope="col">Method</th>
            <th scope="col">Request</th>
            <th scope="col" class="right">
              ms
            </th>
            <th scope="col" class="right phone-no">
              Bytes
            </th>
            <th scope="col" class="phone-no">
              From
            </th>
          </tr>
        </thead>
        <tbody>
          {list.slice(0, shown).map((request) => (
            <Line key={request.id} request={request} isOpened={request.id === opened} />
          ))}
        </tbody>
      </table>
      {list.length > shown && (
        <p class="dim more">{formatCount(list.length - shown)} older requests are not shown. Search to find them.</p>
      )}
    </div>
  );
}

function Line({ request, isOpened }: { request: LoggedRequest; isOpened: boolean }) {
  return (
    <tr
      class={isOpened ? "opened" : ""}
      onClick={(event) => {
        const isOwn = (event.target as HTMLElement).closest("a, button") !== null; // or a text is selected
        if (!isOwn && getSelection()?.isCollapsed !== false) go(addressOf(request.id));
      }}
    >
      <td class="num dim">{timeOf(request)}</td>
      <td>
        <StatusCode status={request.status} />
      </td>
      <td>
        <Method request={request} />
      </td>
      <td class="clip">
        <RequestName request={request} />
        {request.simulated && (
          <span class="pill simulated">
            <Icon name="flask" size={12} />
            {request.simulated}
          </span>
        )}
        {request.session && <span class="pill session">{request.session}</span>}
      </td>
      <td class="right num">{request.ms < 10 ? request.ms.toFixed(1) : Math.round(request.ms)}</td>
      <td class="right num phone-no">{formatCount(request.bytes)}</td>
      <td class="dim phone-no clip">{request.origin?.replace(/^https?:\/\//, "") || agentName(request.agent)}</td>
    </tr>
  );
}
