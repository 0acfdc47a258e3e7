// The cards of the overview: how to use what the file has, how it is, and what has
// happened to it.
import { useEffect, useState } from "preact/hooks";
import { ask, pathOf, prefix, readText } from "../data/api.ts";
import { collections, isReadOnly, objects, status, whyLocked } from "../data/catalog.ts";
import { Icon } from "../icons.tsx";
import { RecentActivity } from "./recent.tsx";
import { broken } from "../data/live.ts";
import { toastError } from "../messages.tsx";
import { languages } from "../data/snippets.ts";
import { Skeleton, Button, Copy, count, Dialog, Empty, ErrorBox, formatCount, Segments } from "../ui.tsx";
import { WriteButton } from "../write_button.tsx";

export function OverviewCards() {
  return (
    <>
      <Usage />
      <State />
      <RecentActivity />
    </>
  );
}

export function EmptyFile() {
  const [name, setName] = useState("posts");
  const create = async () => {
    const body = JSON.stringify([
      { op: "add", path: "/" + name.replaceAll("~", "~0").replaceAll("/", "~1"), value: [] },
    ]);
    try {
      await ask("PATCH", prefix.value + "/db", { body, type: "application/json-patch+json", isMinimal: true });
    } catch (error) {
      toastError("Could not create it.", error);
    }
  };
  return (
    <Empty icon="braces" title="Nothing is served yet">
      <p>
        Add a field to the file, <span class="code">"posts": []</span>, and save it. It becomes a collection, and
        appears here at once.
      </p>
      {!isReadOnly.value && (
        <form
          class="row-of"
          onSubmit={(event) => {
            event.preventDefault();
            void create();
          }}
        >
          <input
            aria-label="Name of the collection"
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <WriteButton kind="primary" onClick={() => void create()}>
            Create the collection
          </WriteButton>
        </form>
      )}
    </Empty>
  );
}

const languageNames = languages.map((language) => language.name);

/** How a program reads the first collection. */
function Usage() {
  const [chosen, setChosen] = useState("fetch");
  const first = collections.value[0]?.name ?? objects.value[0]?.name ?? "";
  const language = languages.find((l) => l.name === chosen) ?? languages[0]!;
  const text = language.write({ method: "GET", path: pathOf(first) }, status.value?.user);
  return (
    <section class="card" aria-labelledby="usage">
      <h2 id="usage">Use it</h2>
      <Segments label="Language" options={languageNames} value={chosen} onChange={setChosen}>
        <span class="grow" />
        <Copy text={() => text} />
      </Segments>
      <pre class="code" tabIndex={0} aria-label="Example">
        {text}
      </pre>
      <p class="links">
        <a href="/_/docs">API</a>
        <a href="/_/openapi.json">OpenAPI</a>
        <a href="/_/types.d.ts">TypeScript types</a>
        <a href="/_/metrics">Metrics</a>
      </p>
    </section>
  );
}

function State() {
  const findings = status.value?.findings?.count ?? 0,
    rules = status.value?.rules,
    file = status.value?.file;
  const [isMaking, setMaking] = useState(false);
  return (
    <section class="card" aria-labelledby="state">
      <h2 id="state">{file?.name ?? "State"}</h2>
      <ul class="checks">
        <StateLine isGood={!broken.value}>{broken.value || "The file parses"}</StateLine>
        <StateLine isGood={!whyLocked.value}>{whyLocked.value || "The file can be written"}</StateLine>
        {rules && (
          <StateLine isGood={rules.state === "ok"}>
            {rules.detail || `Writes are checked against ${rules.name}`}
          </StateLine>
        )}
        {file && !rules && (
          <li class="dim">
            <Icon name="braces" size={15} />
            <span class="grow">There are no rules.</span>
            <Button onClick={() => setMaking(true)}>Make rules from this data</Button>
          </li>
        )}
        <StateLine isGood={findings === 0}>
          {findings > 0 ? <a href="#/_/problems">{count(findings, "problem")}</a> : "No known problems"}
        </StateLine>
        <Followers />
        {status.value?.addresses?.map((address) => (
          <li key={address} class="dim">
            <Icon name="out" size={15} />
            <span class="grow">
              Other machines can reach it at <a href={address + "/_/"}>{address}</a>
            </span>
            <Copy text={() => address} label={"Copy " + address} />
          </li>
        ))}
        {file?.size !== undefined && (
          <li class="dim">
            <Icon name="braces" size={15} />
            {formatCount(file.size)} bytes
          </li>
        )}
      </ul>
      {isMaking && file && <MadeRules file={file.name} onClose={() => setMaking(false)} />}
    </section>
  );
}

/** Who follows the data: the streams that are open. */
function Followers() {
  const streams = status.value?.streams ?? [];
  const total = streams.reduce((sum, stream) => sum + stream.count, 0);
  if (total === 0) return null;
  return (
    <li class="dim followers">
      <Icon name="pulse" size={15} />
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
    </li>
  );
}

/** The rules that pickup schema would write, to copy: the page writes no second file. */
function MadeRules({ file, onClose }: { file: string; onClose: () => void }) {
  const [text, setText] = useState(""),
    [error, setError] = useState<unknown>(null);
  useEffect(() => {
    readText("/_/schema.json").then(setText, setError);
  }, []);
  return (
    <Dialog title="Rules made from this data" class="wide" onClose={onClose}>
      <h2>Rules made from this data</h2>
      <p>
        The data already follows them. Save the text as <code>{file.replace(/(\.json)?$/, ".schema.json")}</code> next to
        the file, or run <code>pickup schema {file}</code>. Then every write is checked against it.
      </p>
      {error !== null ? (
        <ErrorBox error={error} />
      ) : text === "" ? (
        <Skeleton count={4} />
      ) : (
        <pre class="code rules" tabIndex={0} aria-label="Rules">
          {text}
        </pre>
      )}
      <div class="row-of end">
        <Button onClick={onClose}>Close</Button>
        {text && <Copy text={() => text}>Copy</Copy>}
      </div>
    </Dialog>
  );
}

function StateLine({ isGood, children }: { isGood: boolean; children: preact.ComponentChildren }) {
  return (
    <li class={isGood ? "ok" : "not"}>
      <Icon name={isGood ? "check" : "alert"} size={15} />
      <span>{children}</span>
    </li>
  );
}
