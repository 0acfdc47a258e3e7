// src/live.js
import { base } from "./api.js";

export function follow(client) {
  const stream = new EventSource(base.replace(/\/api$/, "/_/changes?_since=now&_fields=id"));
  stream.addEventListener("change", (event) => {
    const { changes, collections } = JSON.parse(event.data); // a large change has only counts
    const names = changes?.map((change) => change.collection) ?? Object.keys(collections);
    for (const name of new Set(names)) client.invalidateQueries({ queryKey: [name] });
  });
  stream.addEventListener("reset", () => client.invalidateQueries()); // the server was restarted
  return stream;
}
