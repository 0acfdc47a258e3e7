import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { serve } from "./server.mjs";

// running has the servers by their files. Vite starts a new server before it closes the
// old one when it restarts.
const running = new Map();

// pickup returns a Vite plugin that serves a file while "vite dev" or "vite preview" runs.
export default function pickup({ file = "db.json", prefix = "/api", args = [], types } = {}) {
  const api = `^${prefix.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?:[/?]|$)`;
  let server, stopped;

  async function start(vite, proxy) {
    if (process.env.VITEST) return; // Vitest starts a Vite server, too
    const { root, logger } = vite.config;
    const path = file.includes("://") ? file : resolve(root, file);
    const restart = running.has(path);
    await running.get(path)?.();
    const log = (text) => logger.info(text);
    const options = ["--port", "0", "--prefix", prefix, "--access-log", "off", ...args];
    server = await serve([...options, path], { cwd: root, log });
    running.set(path, stop);
    server.ended.then((code) => {
      if (!stopped) logger.error(`pickup ended with code ${code}: restart Vite (r, Enter) to start it again`);
    });
    for (const name of [api, "^/_/"]) proxy[name].target = server.url;

    const show = () => logger.info(`  ➜  pickup:  ${server.url}${prefix}, ${server.url}/_/`);
    const print = vite.printUrls;
    vite.printUrls = () => {
      print.call(vite);
      show();
    };
    if (restart) show(); // Vite prints its own address only if it has changed

    const failed = (error) => stopped || logger.error(`pickup: ${types}: ${error.message}`);
    if (types) follow(server.url, resolve(root, types), failed);
  }

  async function stop() {
    stopped = true;
    await server?.stop();
  }

  return {
    name: "pickup",
    apply: "serve",
    config() {
      const proxy = () => ({ [api]: { target: "http://localhost" }, "^/_/": { target: "http://localhost" } });
      return process.env.VITEST ? {} : { server: { proxy: proxy() }, preview: { proxy: proxy() } };
    },
    configureServer: (vite) => start(vite, vite.config.server.proxy),
    configurePreviewServer: async (vite) => {
      vite.httpServer.once("close", stop);
      await start(vite, vite.config.preview.proxy);
    },
    closeBundle: stop,
  };
}

// follow writes the types of the data to a file, again whenever they change. The stream of
// changes reports new data and rules at once, and its own position every 15 seconds.
async function follow(url, file, failed) {
  let tag = "";
  const update = async () => {
    const response = await fetch(`${url}/_/types.d.ts`, { headers: { "If-None-Match": tag } });
    if (response.status !== 200) return;
    tag = response.headers.get("ETag");
    const text = await response.text();
    if (text === (await readFile(file, "utf8").catch(() => ""))) return;
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  };
  try {
    const stream = await fetch(`${url}/_/changes?_fields=id&_since=now`, { headers: { Accept: "text/event-stream" } });
    await update();
    for await (const _ of stream.body) await update();
  } catch (error) {
    failed(error);
  }
}
