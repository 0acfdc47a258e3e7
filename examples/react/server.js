// server.js, the globalSetup of vitest.config.js
import { start } from "pickup/test";

export default async function () {
  const server = await start({ file: "db.json", prefix: "/api" });
  return server.stop;
}
