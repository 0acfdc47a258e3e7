// Which collections refer to which: as a map and as a list.
import { useState } from "preact/hooks";
import { pathOf } from "../data/api.ts";
import { collections, hasCollection, relations, shapeFor, type Status } from "../data/catalog.ts";
import { Icon } from "../icons.tsx";
import { href } from "../route.ts";
import { Copy, count, Empty, formatCount } from "../ui.tsx";

type Relation = Status["relations"][number];

const maxBoxes = 30; // more are listed only
const maxMembers = 14; // in a box
const width = 230,
  headHeight = 38,
  rowHeight = 22; // px
const gapX = 90,
  gapY = 28;

export function Relations() {
  const [word, setWord] = useState("");
  const list = relations.value.filter((relation) => hasCollection(relation.from) && hasCollection(relation.to));
  const isLong = collections.value.length > maxBoxes;
  const shown = list.filter(({ from, member, to }) =>
    `${from}.${member} ${to}`.toLowerCase().includes(word.toLowerCase()),
  );
  return (
    <main class="screen" aria-labelledby="title">
      <header class="top">
        <h1 id="title">Relations</h1>
        <span class="count">{count(list.length, "reference")}</span>
        <span class="grow" />
        {isLong && (
          <input
            id="filter"
            class="search"
            type="search"
            aria-label="Search in references"
            placeholder="collection or field"
            value={word}
            onInput={(event) => setWord(event.currentTarget.value)}
          />
        )}
      </header>
      {list.length === 0 && (
        <Empty icon="share" title="No references">
          <p>
            A field such as <span class="code">driverId</span> refers to <span class="code">drivers</span>. So does a
            field with <span class="code">x-ref</span> in the schema.
          </p>
        </Empty>
      )}
      {list.length > 0 && !isLong && <RelationMap list={list} />}
      <h2 class="offscreen">As a list</h2>
      {list.length > 0 && shown.length === 0 && <Empty icon="share" title="No matches" />}
      <ul class="reflist">
        {shown.map((relation) => (
          <RelationLine key={relation.from + "/" + relation.member} relation={relation} />
        ))}
      </ul>
    </main>
  );
}

function RelationLine({ relation }: { relation: Relation }) {
  const { from, member, to, expand, embed, onDelete } = relation;
  return (
    <li>
      <a href={href([from])}>{from}</a>
      <span class="code dim">.{member}</span>
      <Icon name="right" size={13} />
      <a href={href([to])}>{to}</a>
      {onDelete && <span class="pill">on delete: {onDelete}</span>}
      {expand && <Query path={`${pathOf(from)}?_expand=${encodeURIComponent(expand)}`} />}
      {embed && <Query path={`${pathOf(to)}?_embed=${encodeURIComponent(embed)}`} />}
    </li>
  );
}

/** A list with the records that are referred to, or that refer to it. */
function Query({ path }: { path: string }) {
  return (
    <span class="row-of">
      <span class="code dim">{path}</span>
      <Copy text={() => location.origin + path} label={"Copy " + path} />
    </span>
  );
}

interface Box {
  x: number;
  y: number;
  height: number;
}

function membersOf(name: string) {
  return shapeFor(name).fields.slice(0, maxMembers);
}

/** Places collections that are referred to on the right of those that refer to them. */
function layOut(names: string[], list: Relation[]): Map<string, Box> {
  const depths = new Map<string, number>();
  const depthOf = (name: string, above: string[]): number => {
    const known = depths.get(name);
    if (known !== undefined || above.includes(name)) return known ?? 0;
    const from = list
      .filter((relation) => relation.to === name && relation.from !== name)
      .map((relation) => relation.from);
    return Math.max(0, ...from.map((other) => depthOf(other, [...above, name]) + 1));
  };
  for (const name of names) depths.set(name, depthOf(name, []));
  const bottoms = new Map<number, number>(),
    boxes = new Map<string, Box>();
  for (const name of names) {
    const depth = depths.get(name) ?? 0,
      y = bottoms.get(depth) ?? 0;
    const height = headHeight + membersOf(name).length * rowHeight + 10;
    boxes.set(name, { x: depth * (width + gapX), y, height });
    bottoms.set(depth, y + height + gapY);
  }
  return boxes;
}

function RelationMap({ list }: { list: Relation[] }) {
  const names = collections.value.map((collection) => collection.name);
  const boxes = layOut(names, list),
    all = [...boxes.values()];
  const right = Math.max(...all.map((box) => box.x + width)) + 4,
    bottom = Math.max(...all.map((box) => box.y + box.height)) + 4;
  const text = list
    .map(
      ({ from, member, to, onDelete }) =>
        `${from}.${member} refers to ${to}${onDelete ? ", on delete " + onDelete : ""}`,
    )
    .join("; ");
  return (
    <div class="map" tabIndex={0} role="region" aria-label="Map of the collections">
      <svg width={right} height={bottom} viewBox={`-2 -2 ${right} ${bottom}`} role="img" aria-label={text}>
        {list.map((relation) => (
          <Edge key={relation.from + "/" + relation.member} relation={relation} boxes={boxes} />
        ))}
        {names.map((name) => (
          <BoxOf key={name} name={name} box={boxes.get(name)!} list={list} />
        ))}
      </svg>
    </div>
  );
}

function Edge({ relation, boxes }: { relation: Relation; boxes: ReadonlyMap<string, Box> }) {
  const from = boxes.get(relation.from)!,
    to = boxes.get(relation.to)!;
  const row = membersOf(relation.from).findIndex((field) => field.name === relation.member);
  const y = from.y + (row < 0 ? headHeight / 2 : headHeight + row * rowHeight + rowHeight / 2),
    end = to.y + headHeight / 2;
  const x = to.x > from.x ? from.x + width : from.x,
    bend = to.x > from.x ? gapX / 2 : -gapX / 2;
  const target = to.x - 5;
  return (
    <>
      <path class="edge" d={`M${x} ${y} C${x + bend} ${y} ${target - gapX / 2} ${end} ${target} ${end}`} />
      {relation.onDelete && (
        <text class="rule" x={(x + target) / 2} y={(y + end) / 2 - 4}>
          {relation.onDelete}
        </text>
      )}
    </>
  );
}

function BoxOf({ name, box, list }: { name: string; box: Box; list: Relation[] }) {
  const records = collections.value.find((collection) => collection.name === name)?.count ?? 0;
  return (
    <g transform={`translate(${box.x} ${box.y})`}>
      <rect class="box" width={width} height={box.height} rx={8} />
      <text class="boxname" x={14} y={25}>
        {name}
      </text>
      <text class="boxcount" x={width - 14} y={25}>
        {formatCount(records)}
      </text>
      {membersOf(name).map((field, i) => {
        const to = list.find((relation) => relation.from === name && relation.member === field.name)?.to;
        const y = headHeight + i * rowHeight + 15;
        return (
          <g key={field.name}>
            <text class={to ? "member ref" : "member"} x={14} y={y}>
              {field.name.slice(0, 20)}
            </text>
            <text class="membertype" x={width - 14} y={y}>
              {to ? "→ " + to.slice(0, 12) : field.kind === "any" ? "" : field.kind}
            </text>
          </g>
        );
      })}
    </g>
  );
}
