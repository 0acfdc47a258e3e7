import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { session, start } from "../../../../packaging/npm/test.mjs";

let server;
before(async () => (server = await start({ file: "../../../db.json", prefix: "/api" })));
after(() => server.stop());

test("sessions", { concurrency: true }, async (t) => {
  const both = ["one", "two"].map((name) =>
    t.test(name, async () => {
      const db = await session();
      await fetch(`${db.url}/schedules/5`, { method: "DELETE" });
      assert.deepEqual((await db.changes()).map(({ op, id }) => `${op} ${id}`), ["deleted 5"]);
      await db.end();
    }),
  );
  await Promise.all(both);
});
