import { randomUUID } from "node:crypto";
import { serve } from "./server.mjs";

// start serves a file for a run of tests, and sets PICKUP_URL, which workers inherit.
export async function start({ file = "db.json", prefix = "", ephemeral = true, args = [], cwd } = {}) {
  const options = ["--port", "0", "--access-log", "off"];
  if (ephemeral) options.push("--ephemeral");
  if (prefix) options.push("--prefix", prefix);
  const server = await serve([...options, ...args, file], { cwd, log: (text) => console.error(text) });
  const url = server.url + prefix;
  process.env.PICKUP_URL = url;
  return { url, stop: server.stop };
}

// session starts a database for one test, a copy of the served one.
export async function session({ url = process.env.PICKUP_URL, name = randomUUID(), from } = {}) {
  if (!url) throw new Error("session: call start() before the tests, or set PICKUP_URL to the address of pickup");
  const { origin, pathname } = new URL(url);
  const session = `${origin}/_/sessions/${name}`;
  const base = `${origin}/_/s/${name}`;
  await send("PUT", session, from && { from });
  return {
    name,
    url: (base + pathname).replace(/\/$/, ""),
    headers: { "Pickup-Session": name },
    simulate: (...rules) => send("PUT", `${base}/_/simulate`, rules),
    hold: (hold, rule = { path: "/**" }) => send("POST", `${base}/_/simulate`, { ...rule, hold }),
    release: async (hold, wait = "5s") => {
      const { released } = await send("POST", `${base}/_/release/${hold}?wait=${wait}`);
      if (released === 0) throw new Error(`release: no request was held as ${hold} within ${wait}`);
      return released;
    },
    reset: () => send("POST", `${session}/reset`),
    changes: () => send("GET", `${session}/changes`),
    end: () => send("DELETE", session),
  };
}

async function send(method, url, body) {
  const init = { method, headers: { "Content-Type": "application/json" }, body: body && JSON.stringify(body) };
  const response = await fetch(url, init);
  const text = await response.text();
  if (response.ok) return text && JSON.parse(text);
  let detail = text;
  try {
    const problem = JSON.parse(text);
    detail = [problem.detail, ...(problem.errors ?? []).map((e) => `${e.pointer}: ${e.detail}`)].join("\n");
  } catch {} // not from pickup
  throw new Error(`${method} ${url}: ${response.status} ${detail}`);
}
