import react from "@vitejs/plugin-react";
import pickup from "pickup/vite";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react(), pickup({ file: "db.json", prefix: "/api", types: "src/db.d.ts" })],
});
