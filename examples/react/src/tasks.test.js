// src/tasks.test.js
import { session } from "pickup/test";
import { expect, test } from "vitest";

test("a task can be deleted", async () => {
  const db = await session();
  await fetch(`${db.url}/tasks/bread`, { method: "DELETE" });
  expect(await db.changes()).toMatchObject([{ op: "deleted", collection: "tasks", id: "bread" }]);
  await db.end();
});
