// The overview: what the file has, how to use it, and how it is.
import { useState } from "preact/hooks";
import { ask, pathOf, prefix, type Schemas } from "./api.ts";
import { collections, objects, relations, shapeFor, shapes, status, whyLocked } from "./catalog.ts";
import { Icon } from "./icons.tsx";
import { Later } from "./later.tsx";
import { broken } from "./live.ts";
import { toastError } from "./messages.tsx";
import { href } from "./route.ts";
import { languages } from "./snippets.ts";
import { Bones, Button, Copy, count, Empty, formatCount, Segments } from "./ui.tsx";

type CollectionState = Schemas["Status"]["collections"][number];

export function Overview() {
  const names = [...collections.value, ...objects.value].map((item) => item.name),
    isEmpty = names.length === 0;
  const isReady = names.slice(0, 20).every((name) => shapes.value.has(name)); // rows do not grow later
  return (
    <main class="screen overview" aria-labelledby="title">
      <header class="top">
        <h1 id="title">{isEmpty ? "An empty file" : "Overview"}</h1>
        <span class="grow" />
        <span class="dim">pickup {status.value?.version}</span>
      </header>
      {isEmpty ? (
        <EmptyFile />
      ) : !isReady ? (
        <Bones count={3} />
      ) : (
        <div class="columns">
          <Contents />
          <Usage />
          <State />
          <Later show={({ Latest }) => <Latest />} />
        </div>
      )}
    </main>
  );
}

function EmptyFile() {
  const [name, setName] = useState("posts");
  const create = async () => {
    const body = JSON.stringify([
      { op: "add", path: "/" + name.replaceAll("~", "~0").replaceAll("/", "~1"), value: [] },
    ]);
    try {
      await ask("PATCH", prefix.value + "/db", { body, type: "application/json-patch+json", isMinimal: true });
    } catch (error) {
      toastError("Not created.", error);
    }
  };
  return (
    <Empty icon="braces" title="Nothing is served yet">
      <p>
        Add a member to the file, <span class="code">"posts": []</span>, and save it. It is a collection, and
        appears here at once.
      </p>
      {!whyLocked.value && (
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
          <Button kind="primary" onClick={() => void create()}>
            Make a collection
          </Button>
        </form>
      )}
    </Empty>
  );
}

function Contents() {
  return (
    <section class="card wide" aria-labelledby="contents">
      <h2 id="contents">Contents</h2>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Collection</th>
            <th scope="col" class="right">
              Records
            </th>
            <th scope="col" class="phone-no">
              Refers to
            </th>
            <th scope="col" class="phone-no">
              Members
            </th>
          </tr>
        </thead>
        <tbody>
          {collections.value.map((collection) => (
            <CollectionRow key={collection.name} collection={collection} />
          ))}
          {objects.value.map(({ name }) => (
            <tr key={name}>
              <th scope="row">
                <a href={href([name])}>{name}</a>
              </th>
              <td class="right dim">object</td>
              <td class="phone-no faint">–</td>
              <td class="phone-no dim members">{membersOf(name)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function CollectionRow({ collection: { name, count: records } }: { collection: CollectionState }) {
  const { description } = shapeFor(name);
  const targets = new Set(
    relations.value.filter((relation) => relation.from === name).map((relation) => relation.to),
  );
  return (
    <tr>
      <th scope="row">
        <a href={href([name])}>{name}</a>
        {description && <p class="help">{description}</p>}
      </th>
      <td class="right num">{formatCount(records)}</td>
      <td class="phone-no">
        {[...targets].map((target) => (
          <a key={target} class="pill" href={href([target])}>
            {target}
          </a>
        ))}
        {targets.size === 0 && <span class="faint">–</span>}
      </td>
      <td class="phone-no dim members">{membersOf(name)}</td>
    </tr>
  );
}

const listed = 20; // members

function membersOf(name: string): string {
  const names = shapeFor(name).fields.map((field) => field.name);
  return names.slice(0, listed).join(", ") + (names.length > listed ? ", …" : "");
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
            <span class="grow">
              There are no rules. <code>{makeRules(file.name)}</code> makes them from this data.
            </span>
            <Copy text={() => makeRules(file.name)} />
          </li>
        )}
        <StateLine isGood={findings === 0}>
          {findings > 0 ? <a href="#/_/problems">{count(findings, "problem")}</a> : "No problems are known"}
        </StateLine>
        {file?.size !== undefined && (
          <li class="dim">
            <Icon name="braces" size={15} />
            {formatCount(file.size)} bytes
          </li>
        )}
      </ul>
    </section>
  );
}

/** Returns the command that writes a schema next to the file. */
const makeRules = (file: string): string => "pickup schema " + file;

function StateLine({ isGood, children }: { isGood: boolean; children: preact.ComponentChildren }) {
  return (
    <li class={isGood ? "ok" : "not"}>
      <Icon name={isGood ? "check" : "alert"} size={15} />
      <span>{children}</span>
    </li>
  );
}
