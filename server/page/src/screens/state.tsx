// The state of the file on the overview: one line while all is well, otherwise what is wrong.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { session } from "../data/api.ts";
import { collections, isReadOnly, objects, status } from "../data/catalog.ts";
import { broken } from "../data/live.ts";
import { Icon, type IconName } from "../icons.tsx";
import { Lazy } from "../lazy.tsx";
import { Button, Copy, count, formatCount } from "../ui.tsx";

export function State() {
  const findings = status.value?.findings?.count ?? 0,
    rules = status.value?.rules,
    file = status.value?.file;
  const hasData = collections.value.length + objects.value.length > 0;
  const [isMaking, setMaking] = useState(false);
  const wrong = [
    rules && rules.state !== "ok" && (rules.detail || `${rules.name} cannot be used`),
    findings > 0 && <a href="#/_/problems">{count(findings, "problem")}</a>,
  ].filter(Boolean);
  return (
    <ul class="state" aria-label="State">
      {session.value ? (
        <Line icon="layers">
          The session {session}. What changes here does not reach the file until it is committed.
        </Line>
      ) : wrong.length === 0 ? (
        !broken.value && (
          <Line icon="check" class="ok">
            All is well{rules ? `, and writes are checked against ${rules.name}` : ""}
          </Line>
        )
      ) : (
        wrong.map((text, i) => (
          <Line key={i} icon="alert" class="not">
            {text}
          </Line>
        ))
      )}
      {isReadOnly.value && <Line icon="lock">You have read-only access.</Line>}
      {file && !rules && !broken.value && hasData && (
        <Line icon="braces">
          <span>There is no schema.</span>
          <Button class="small" onClick={() => setMaking(true)}>
            Make one from this data
          </Button>
        </Line>
      )}
      {file?.size !== undefined && <Line icon="braces">{formatCount(file.size)} bytes</Line>}
      <Followers />
      {status.value?.addresses?.map((address) => (
        <Line key={address} icon="out">
          <span>
            Other machines can reach it at <a href={address + "/_/"}>{address}</a>
          </span>
          <Copy text={() => address} label={"Copy " + address} />
        </Line>
      ))}
      {isMaking && file && (
        <Lazy show={({ MadeSchema }) => <MadeSchema file={file.name} onClose={() => setMaking(false)} />} />
      )}
    </ul>
  );
}

function Line({ icon, class: name = "", children }: { icon: IconName; class?: string; children: ComponentChildren }) {
  return (
    <li class={name}>
      <Icon name={icon} size={15} />
      {children}
    </li>
  );
}

/** Who follows the data: the streams that are open. */
function Followers() {
  const streams = status.value?.streams ?? [];
  const total = streams.reduce((sum, stream) => sum + stream.count, 0);
  if (total === 0) return null;
  return (
    <Line icon="pulse" class="followers">
      <span>
        {count(total, "stream")} {total === 1 ? "follows" : "follow"} the data:{" "}
        {streams.map(({ path, count: n }, i) => (
          <span key={path}>
            {i > 0 && ", "}
            <code>{path}</code>
            {n > 1 && ` (${formatCount(n)})`}
          </span>
        ))}
      </span>
    </Line>
  );
}
