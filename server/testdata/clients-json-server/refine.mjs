// What refine does with its data provider for json-server, against the server
// at the URL that is given.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const provider = createRequire(import.meta.url)("@refinedev/simple-rest").default(process.argv[2]);
const ids = (list) => list.map((r) => r.id);

// getList: pages, sorters, filters.
let list = await provider.getList({
    resource: "posts",
    pagination: { current: 2, pageSize: 2, mode: "server" },
    sorters: [{ field: "views", order: "desc" }],
});
assert.deepEqual([ids(list.data), list.total], [[1, 4], 5]);
list = await provider.getList({
    resource: "posts",
    pagination: { mode: "off" },
    sorters: [{ field: "author", order: "desc" }, { field: "views", order: "asc" }],
});
assert.deepEqual([ids(list.data), list.total], [[5, 2, 4, 1, 3], 5]);
for (const [operator, value, want] of [
    ["eq", "ann", [1, 3]],
    ["ne", "ann", [2, 4, 5]],
    ["contains", "O", [2, 4, 5]],
]) {
    list = await provider.getList({ resource: "posts", filters: [{ field: "author", operator, value }] });
    assert.deepEqual([operator, ids(list.data), list.total], [operator, want, want.length]);
}
for (const [operator, value, want] of [["gte", 30, [1, 3, 5]], ["lte", 30, [1, 2, 4]]]) {
    list = await provider.getList({ resource: "posts", filters: [{ field: "views", operator, value }] });
    assert.deepEqual([operator, ids(list.data)], [operator, want]);
}
list = await provider.getList({ resource: "posts", filters: [{ field: "q", operator: "eq", value: "alpha" }] });
assert.deepEqual(ids(list.data), [1]);

// getOne, getMany.
assert.equal((await provider.getOne({ resource: "posts", id: 2 })).data.title, "Bravo");
await assert.rejects(provider.getOne({ resource: "posts", id: 99 }), (error) => error.statusCode === 404);
assert.deepEqual(ids((await provider.getMany({ resource: "posts", ids: [1, 3] })).data), [1, 3]);

// create, update (a PATCH), deleteOne.
const created = (await provider.create({ resource: "posts", variables: { title: "Foxtrot", views: 7 } })).data;
assert.deepEqual(created, { id: 6, title: "Foxtrot", views: 7 });
const updated = (await provider.update({ resource: "posts", id: 6, variables: { views: 8 } })).data;
assert.deepEqual(updated, { id: 6, title: "Foxtrot", views: 8 });
const replaced = await provider.update({ resource: "posts", id: 6, variables: { views: 9 }, meta: { method: "put" } });
assert.deepEqual(replaced.data, { id: 6, views: 9 });
assert.equal((await provider.deleteOne({ resource: "posts", id: 6 })).data.id, 6);
await assert.rejects(provider.deleteOne({ resource: "posts", id: 6 }), (error) => error.statusCode === 404);

// custom: any URL, with its own sorters and filters.
const custom = await provider.custom({
    url: provider.getApiUrl() + "/posts/1/comments", method: "get",
    sorters: [{ field: "id", order: "desc" }], query: { _limit: 1 },
});
assert.deepEqual(ids(custom.data), ["b"]);
console.log("done");
