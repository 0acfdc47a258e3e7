import { session } from "pickup/test";
import { test as base } from "vitest";
import { save } from "./save.js";

// Each test has a database of its own. All of them change the same record at once.
const test = base.extend({
  db: async ({}, use) => {
    const db = await session();
    await use(db);
    await db.end();
  },
});

test("a change is stored", async ({ db, expect }) => {
  await save(db.url, 4, { title: "Recital" });
  expect((await db.changes()).map(({ op, collection, id }) => `${op} ${collection}/${id}`)).toEqual(["updated schedules/4"]);
  await db.reset();
  expect(await db.changes()).toEqual([]);
});

test("a change is tried again after an error", async ({ db, expect }) => {
  await db.simulate({ path: "/schedules/*", methods: ["PATCH"], code: 503, times: 1 });
  expect(await save(db.url, 4, { title: "Concert" })).toMatchObject({ title: "Concert" });
});

test("an error is shown", async ({ db, expect }) => {
  await db.simulate({ path: "/schedules/*", code: 503 });
  await expect(save(db.url, 4, { title: "Match" })).rejects.toThrow("Simulated");
  expect(await db.changes()).toEqual([]);
});

test("a change waits for the server", async ({ db, expect }) => {
  await db.hold("save", { path: "/schedules/*", methods: ["PATCH"] });
  let saved = false;
  const saving = save(db.url, 4, { title: "Lesson" }).then(() => (saved = true));
  expect(saved).toBe(false);
  expect(await db.release("save")).toBe(1);
  await saving;
});

test("a rule is broken", async ({ db, expect }) => {
  await expect(save(db.url, 4, { status: "Soon" })).rejects.toThrow("violates a rule");
});

test("a rule that is not one", async ({ db, expect }) => {
  await expect(db.simulate({ path: "/schedules/*", code: 99 })).rejects.toThrow("code");
});
