// The latest changes and requests, on the overview.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { read } from "../data/api.ts";
import { status } from "../data/catalog.ts";
import { Author, RevisionTitle } from "./changes.tsx";
import { hasChanged } from "../data/history.ts";
import { onChange, onReset, requests, type Revision } from "../data/live.ts";
import { Method, RequestName } from "./request_panel.tsx";
import { StatusCode } from "./status_code.tsx";
import { Ago } from "../ui.tsx";

const shown = 5;

export function RecentActivity() {
  const [changes, setChanges] = useState<Revision[]>([]);
  useEffect(() => {
    const load = () => {
      const path = `/_/changes?_fields=id&_limit=${4 * shown}`; // some may have changed no record
      read<Revision[]>(path).then(
        (list) => setChanges(list.filter(hasChanged).slice(0, shown)),
        () => {},
      ); // the list stays as it was
    };
    load();
    const stops = [onChange(load), onReset(load)];
    return () => stops.forEach((stop) => stop());
  }, []);
  return (
    <>
      <Feed title="Latest changes" address="#/_/changes" none="Nothing has changed since the server started.">
        {changes.map((revision) => (
          <li key={revision.rev} class="line">
            <RevisionTitle revision={revision} />
            <span class="grow" />
            <Author revision={revision} />
            <Ago at={revision.at} />
          </li>
        ))}
      </Feed>
      {status.value?.mode.requests && (
        <Feed title="Latest requests" address="#/_/requests" none="No front end has sent a request yet.">
          {requests.value?.slice(0, shown).map((request) => (
            <li key={request.id} class="line">
              <StatusCode status={request.status} />
              <Method request={request} />
              <span class="clip">
                <RequestName request={request} />
              </span>
              <Ago at={request.at} />
            </li>
          ))}
        </Feed>
      )}
    </>
  );
}

interface FeedProps {
  title: string;
  address: string;
  none: string;
  children: ComponentChildren[] | undefined;
}

function Feed({ title, address, none, children }: FeedProps) {
  return (
    <section class="card" aria-label={title}>
      <h2>
        {title}
        <a class="more" href={address}>
          Show all<span class="offscreen"> {title.toLowerCase()}</span>
        </a>
      </h2>
      {children?.length ? <ul class="feed">{children}</ul> : <p class="dim">{none}</p>}
    </section>
  );
}
