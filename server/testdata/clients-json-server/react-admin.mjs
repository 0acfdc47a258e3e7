// What react-admin does with its data provider for json-server, against the
// server at the URL that is given.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const provider = createRequire(import.meta.url)("ra-data-json-server")(process.argv[2]);
const ids = (list) => list.map((r) => r.id);
const page = (page, perPage) => ({ page, perPage });
const by = (field, order) => ({ field, order });

// getList: a part of a sorted list, with the total of all parts.
let list = await provider.getList("posts", { pagination: page(2, 2), sort: by("views", "DESC"), filter: {} });
assert.deepEqual([ids(list.data), list.total], [[1, 4], 5]);
list = await provider.getList("posts", { pagination: page(1, 10), sort: by("title", "ASC"), filter: { author: "ann" } });
assert.deepEqual([ids(list.data), list.total], [[3, 1], 2]);
list = await provider.getList("posts", { pagination: page(1, 2), sort: by("id", "ASC"), filter: { views_gte: 20, title_like: "^[a-d]" } });
assert.deepEqual([ids(list.data), list.total], [[1, 2], 4]);
list = await provider.getList("posts", { pagination: page(1, 10), sort: by("id", "ASC"), filter: { q: "ECHO" } });
assert.deepEqual([ids(list.data), list.total], [[5], 1]);
list = await provider.getList("posts", { pagination: page(9, 10), sort: by("id", "ASC"), filter: {} });
assert.deepEqual([ids(list.data), list.total], [[], 5]);
list = await provider.getList("posts", { pagination: page(1, 1), sort: by("id", "ASC"), filter: {}, meta: { embed: ["comments"] } });
assert.equal(list.data[0].comments.length, 2);

// getOne, getMany, getManyReference.
assert.equal((await provider.getOne("posts", { id: 2 })).data.title, "Bravo");
assert.equal((await provider.getOne("posts", { id: "2" })).data.title, "Bravo");
await assert.rejects(provider.getOne("posts", { id: 99 }), (error) => error.status === 404);
assert.deepEqual(ids((await provider.getMany("posts", { ids: [1, 3, "5", 99] })).data), [1, 3, 5]);
list = await provider.getManyReference("comments", {
    target: "postId", id: 1, pagination: page(1, 1), sort: by("id", "DESC"), filter: {},
});
assert.deepEqual([ids(list.data), list.total], [["b"], 2]);

// create, update, updateMany.
const created = (await provider.create("posts", { data: { title: "Foxtrot", views: 7 } })).data;
assert.deepEqual(created, { id: 6, title: "Foxtrot", views: 7 });
assert.deepEqual((await provider.getOne("posts", { id: 6 })).data, created);
const updated = await provider.update("posts", { id: 6, data: { id: 6, title: "Foxtrot", views: 8 }, previousData: created });
assert.equal(updated.data.views, 8);
assert.deepEqual((await provider.updateMany("posts", { ids: [5, 6], data: { title: "Golf" } })).data, [5, 6]);
assert.deepEqual((await provider.getMany("posts", { ids: [5, 6] })).data.map((r) => r.title), ["Golf", "Golf"]);

// delete, deleteMany.
assert.equal((await provider.delete("posts", { id: 6, previousData: created })).data.id, 6);
assert.deepEqual((await provider.deleteMany("posts", { ids: [4, 5] })).data, [4, 5]);
list = await provider.getList("posts", { pagination: page(1, 10), sort: by("id", "ASC"), filter: {} });
assert.deepEqual([ids(list.data), list.total], [[1, 2, 3], 3]);
await assert.rejects(provider.create("posts", { data: { id: 1 } }), (error) => error.status === 409);
console.log("done");
