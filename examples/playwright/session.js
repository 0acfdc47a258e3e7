import { test as base, expect } from "@playwright/test";

// test gives each test a database of its own, a session of pickup: every request
// of the page and of the request fixture names it. session.changes returns what
// the test has changed.
export const test = base.extend({
  session: async ({ playwright, baseURL }, use, { testId, retry }) => {
    const name = `${testId}-${retry}`;
    const server = await playwright.request.newContext({ baseURL });
    const changes = async () => (await server.get(`/_/sessions/${name}/changes`)).json();
    await use({ name, changes });
    await server.delete(`/_/sessions/${name}`);
    await server.dispose();
  },
  extraHTTPHeaders: async ({ session }, use) => {
    await use({ "Pickup-Session": session.name });
  },
});

export { expect };
