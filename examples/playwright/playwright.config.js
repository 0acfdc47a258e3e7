import { defineConfig } from "@playwright/test";

export const app = process.env.APP_URL ?? "http://localhost:5173";
const baseURL = process.env.PICKUP_URL ?? "http://localhost:3000";

export default defineConfig({
  workers: 4,
  fullyParallel: true,
  reporter: "line",
  use: {
    baseURL,
    launchOptions: {
      executablePath: process.env.CHROMIUM, // undefined: the browser that Playwright has installed
      args: process.env.CHROMIUM ? ["--no-sandbox"] : [],
    },
  },
  webServer: [
    { command: "pickup --no-auth ../../db.json", url: baseURL + "/_/readyz", reuseExistingServer: true },
    { command: "esbuild --servedir=../eventsource --serve=5173", url: app, reuseExistingServer: true },
  ],
});
