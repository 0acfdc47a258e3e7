// What refers to a record.
import { useEffect, useState } from "preact/hooks";
import { get, pathOf } from "../data/api.ts";
import { idOf, nameOf, relations } from "../data/catalog.ts";
import type { Obj } from "../data/json.ts";
import { concerns, onChange, onReset } from "../data/live.ts";
import { href } from "../route.ts";
import { formatCount } from "../ui.tsx";

export interface Referring {
  collection: string;
  member: string;
  query: string; // that lists these records
  onDelete: string;
  total: number;
  first: Obj[];
}

/** Returns the records that refer to one, by collection and field. */
export async function referringTo(collection: string, id: string, shown: number): Promise<Referring[]> {
  const found = await Promise.all(
    relations.value
      .filter((relation) => relation.to === collection)
      .map(async (relation) => {
        const query = `${encodeURIComponent(relation.member)}=${encodeURIComponent(id)}`;
        const answer = await get(`${pathOf(relation.from)}?${query}&_start=0&_end=${shown}`);
        const first = answer.data as Obj[];
        return {
          collection: relation.from,
          member: relation.member,
          query,
          first,
          onDelete: relation.onDelete ?? "",
          total: answer.total ?? first.length,
        };
      }),
  );
  return found;
}

const shown = 4; // records of each collection

export function Related({ collection, id }: { collection: string; id: string }) {
  const [found, setFound] = useState<Referring[]>([]);
  useEffect(() => {
    let isGone = false;
    const look = async () => {
      const list = await referringTo(collection, id, shown).catch(() => []);
      if (!isGone) setFound(list);
    };
    void look();
    const from = relations.value.filter((relation) => relation.to === collection).map((relation) => relation.from);
    const stopChanges = onChange((revisions) => {
        if (revisions.some((r) => from.some((name) => concerns(r, name)))) void look();
      }),
      stopResets = onReset(() => void look());
    return () => {
      isGone = true;
      stopChanges();
      stopResets();
    };
  }, [collection, id]);
  if (found.length === 0) return null;
  return (
    <div class="related">
      <h3>Referred to by</h3>
      {found.map((group) => (
        <div key={group.collection + "/" + group.member}>
          <a href={href([group.collection], group.query)}>
            {formatCount(group.total)} {group.collection}
            <span class="dim">
              {" "}
              with {group.member} {id}
            </span>
          </a>
          <ul>
            {group.first.map((record) => {
              const other = idOf(group.collection, record);
              return (
                <li key={other}>
                  <a class="clip" href={href([group.collection, other])}>
                    {nameOf(group.collection, record)}
                  </a>
                  <span class="refid">{other}</span>
                </li>
              );
            })}
            {group.total > group.first.length && (
              <li class="dim">and {formatCount(group.total - group.first.length)} more</li>
            )}
          </ul>
        </div>
      ))}
    </div>
  );
}
