// The overview: what the file has. How to use it and how it is follow later.
import { collections, objects, relations, shapeFor, shapes, status } from "../data/catalog.ts";
import type { Schemas } from "../data/api.ts";
import { Lazy } from "../lazy.tsx";
import { href } from "../route.ts";
import { Skeleton, formatCount } from "../ui.tsx";

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

const listed = 20; // fields

function membersOf(name: string): string {
  const names = shapeFor(name).fields.map((field) => field.name);
  return names.slice(0, listed).join(", ") + (names.length > listed ? ", …" : "");
}
