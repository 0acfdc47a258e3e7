import { start } from "pickup/test";

// Vitest calls this before the tests, and what it returns after them.
export default async function () {
  const server = await start({ file: "../../db.json", prefix: "/api" });
  return server.stop;
}
