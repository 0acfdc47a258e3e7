import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { globalSetup: "./server.js", sequence: { concurrent: true } },
});
