import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

// serve starts pickup and returns when it serves: its address without the prefix, its
// end, and what stops it. It stops with this process, however this process ends, because
// the command stops when the channel to its parent closes. log gets later lines.
export async function serve(args, { cwd, log = () => {} } = {}) {
  const command = fileURLToPath(new URL("bin/pickup.js", import.meta.url)); // not in tests with a DOM, whose URL differs
  const options = ["--no-auth", "--log-format", "short", ...args];
  const child = fork(command, ["serve", ...options], { cwd, silent: true, execArgv: [] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let output = "";
  const url = await new Promise((resolve, reject) => {
    child.once("error", reject);
    ended.then((code) => reject(new Error(`pickup ended with code ${code}\n${output}`)));
    child.stdout.resume();
    child.stderr.setEncoding("utf8").on("data", (text) => {
      output += text;
      const address = /^pickup \S+ serves .* at (https?:\/\/[^\s/]+)\S*\n/m.exec(output);
      if (address) resolve(address[1]);
    });
  });
  child.stderr.removeAllListeners("data").on("data", (text) => child.connected && log(text.trimEnd()));
  const stop = async () => {
    if (child.connected) child.disconnect();
    await ended;
  };
  return { url, ended, stop };
}
