// The overview: how the file is and what it has. How to use it follows later.
import { collections, objects, relations, shapeFor, shapes, status } from "../data/catalog.ts";
import { prefix, session, type Schemas } from "../data/api.ts";
import { Lazy } from "../lazy.tsx";
import { href } from "../route.ts";
import { State } from "./state.tsx";
import { Copy, Skeleton, formatCount } from "../ui.tsx";

type CollectionState = Schemas["Status"]["collections"][number];

export function Overview() {
  const names = [...collections.value, ...objects.value].map((item) => item.name),
    isEmpty = names.length === 0;
  const address = location.origin + (session.value && "/_/s/" + encodeURIComponent(session.value)) + prefix.value;
  const isReady = names.slice(0, 20).every((name) => shapes.value.has(name)); // rows do not grow later
  return (
    <main class="screen overview" aria-labelledby="title">
      <header class="top">
        <h1 id="title">{(session.value && "Session " + session.value) || status.value?.file?.name || "Overview"}</h1>
        <span class="address">
          <code class="clip">{address}</code>
          <Copy label="Copy the address" text={() => address} />
        </span>
        <span class="grow" />
        <span class="dim">pickup {status.value?.version}</span>
      </header>
      <State />
      {isEmpty ? (
        <Lazy show={({ EmptyFile }) => <EmptyFile />} />
      ) : !isReady ? (
        <Skeleton count={3} />
      ) : (
        <div class="columns">
          <Contents />
          <Lazy show={({ OverviewCards }) => <OverviewCards />} />
        </div>
      )}
    </main>
  );
}

function Contents() {
  return (
    <section class="card wide" aria-labelledby="contents">
      <h2 id="contents">Endpoints</h2>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Path</th>
            <th scope="col" class="right">
              Records
            </th>
            <th scope="col" class="phone-no">
              Refers to
            </th>
            <th scope="col" class="phone-no">
              Fields
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
                <Endpoint name={name} />
              </th>
              <td class="right dim">object</td>
              <td class="phone-no faint">–</td>
              <td class="phone-no dim members">{membersOf(name)}</td>
            </tr>
          ))}
          {status.value?.values?.map((name) => (
            <tr key={name}>
              <th scope="row">
                <span class="code">{name}</span>
              </th>
              <td class="right dim">value</td>
              <td class="phone-no faint">–</td>
              <td class="phone-no dim members">
                no path of its own; part of <a href={prefix.value + "/db"}>/db</a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The path of a collection or an object, which leads to it. */
const Endpoint = ({ name }: { name: string }) => (
  <a class="code" href={href([name])}>
    <span class="faint">/</span>
    {name}
  </a>
);

function CollectionRow({ collection: { name, count: records } }: { collection: CollectionState }) {
  const { description } = shapeFor(name);
  const targets = new Set(relations.value.filter((relation) => relation.from === name).map((relation) => relation.to));
  return (
    <tr>
      <th scope="row">
        <Endpoint name={name} />
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

const listed = 20; // fields

function membersOf(name: string): string {
  const names = shapeFor(name).fields.map((field) => field.name);
  return names.slice(0, listed).join(", ") + (names.length > listed ? ", …" : "");
}
