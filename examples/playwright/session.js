import { test as base, expect } from "@playwright/test";
import { session } from "pickup/test";

// Each test has a database of its own, for its page and its request fixture.
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
