import { createRoot } from "react-dom/client";
import { Refine, useList } from "@refinedev/core";
import dataProvider from "@refinedev/simple-rest";
import { liveProvider } from "./liveProvider.js";

const server = new URLSearchParams(location.search).get("server") ?? "http://localhost:3000";

function Schedules() {
  const { result } = useList({ resource: "schedules", pagination: { mode: "off" } });
  return <ul>{result.data?.map(({ id, title, status }) => <li key={id}>{`${title} (${status})`}</li>)}</ul>;
}

createRoot(document.getElementById("root")).render(
  <Refine
    dataProvider={dataProvider(server)}
    liveProvider={liveProvider(server)}
    resources={[{ name: "schedules" }]}
    options={{ liveMode: "auto", disableTelemetry: true }}
  >
    <Schedules />
  </Refine>,
);
