import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderHook, waitFor } from "@testing-library/react";
import { EventSource } from "eventsource";
import { session } from "pickup/test";
import { createElement } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

let db, app, client, stream;

// Each test loads the application anew, with a database of its own.
beforeEach(async () => {
  db = await session();
  vi.stubEnv("VITE_API", db.url);
  vi.stubGlobal("EventSource", EventSource);
  vi.resetModules();
  app = { ...(await import("./api.js")), ...(await import("./tasks.js")), ...(await import("./live.js")) };
  client = new QueryClient({ defaultOptions: { queries: { retry: false }, mutations: { retryDelay: 1 } } });
  stream = app.follow(client);
  await new Promise((open, fail) => Object.assign(stream, { onopen: open, onerror: fail }));
});

afterEach(async () => {
  stream.close();
  client.clear();
  await db.end();
});

const use = (hook) =>
  renderHook(hook, { wrapper: ({ children }) => createElement(QueryClientProvider, { client }, children) }).result;
const titles = (tasks) => tasks.current.data?.map((task) => task.title);

test("a change of somebody else is shown", async () => {
  const tasks = use(() => app.useTasks());
  await waitFor(() => expect(titles(tasks)).toEqual(["Bake bread", "Mend the tent"]));
  await app.api("/tasks/bread", {
    method: "PATCH",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ title: "Bake rolls" }),
  });
  await waitFor(() => expect(titles(tasks)).toEqual(["Bake rolls", "Mend the tent"]));
});

test("a task is shown at once, and stored once although two responses are lost", async () => {
  const tasks = use(() => app.useTasks());
  await waitFor(() => expect(titles(tasks)).toHaveLength(2));
  await db.simulate({ path: "/tasks/*", methods: ["PUT"], fault: "lost-answer", times: 2 });
  const add = use(() => app.useAddTask());
  add.current.mutate({ id: crypto.randomUUID(), title: "Buy milk" });
  await waitFor(() => expect(titles(tasks)).toContain("Buy milk"));
  await waitFor(() => expect(add.current.isSuccess).toBe(true));
  expect(await db.changes()).toMatchObject([{ op: "created", collection: "tasks", after: { title: "Buy milk" } }]);
});

test("a task that is refused disappears, with the reason", async () => {
  const tasks = use(() => app.useTasks());
  await waitFor(() => expect(titles(tasks)).toHaveLength(2));
  const add = use(() => app.useAddTask());
  add.current.mutate({ id: "empty", title: "" });
  await waitFor(() => expect(add.current.isError).toBe(true));
  expect(add.current.error).toMatchObject({ status: 422, errors: [{ pointer: "/title" }] });
  await waitFor(() => expect(titles(tasks)).toHaveLength(2));
});
