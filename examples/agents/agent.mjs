// An agent without a model: it gives what does not take place to another driver.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const url = process.env.MCP_URL ?? "http://localhost:3000/_/s/agent/_/mcp";
const client = new Client({ name: "pickup-example", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

// call returns the lines of a tool's answer. A refusal has one for every fault.
async function call(name, args) {
  const { content, isError } = await client.callTool({ name, arguments: args });
  const text = content.map((part) => part.text).join("").trimEnd();
  if (isError) throw new Error(text);
  console.log(`${name}: ${text}`);
  return text.split("\n");
}

const { tools } = await client.listTools();
console.log("tools:", tools.map((tool) => tool.name).join(" "));

// The first line says how many there are.
const [, ...records] = await call("query", {
  collection: "schedules", where: "status=Canceled&status=Unscheduled", fields: "id,title",
});
await call("write", { // all or none
  changes: records.map((line) => ({
    op: "update", collection: "schedules", id: JSON.parse(line).id, record: { driverId: "3", status: "Rescheduled" },
  })),
});
await call("changes", {});
await client.close();
