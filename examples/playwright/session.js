import { test as base, expect } from "@playwright/test";
import { session } from "pickup/test";

// test gives each test a database of its own, a session of pickup: every request
// of the page and of the request fixture names it. session.changes returns what
// the test has changed.
export const test = base.extend({
  session: async ({ baseURL }, use) => {
    const db = await session({ url: baseURL });
    await use(db);
    await db.end();
  },
  extraHTTPHeaders: async ({ session }, use) => {
    await use(session.headers);
  },
});

export { expect };
