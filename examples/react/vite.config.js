// vite.config.js
import pickup from "pickup/vite";

export default { plugins: [pickup({ file: "db.json", prefix: "/api", types: "src/db.d.ts" })] };
