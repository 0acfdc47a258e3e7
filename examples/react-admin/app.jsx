import { useEffect } from "react";
import { createRoot } from "react-dom/client";
import { CoreAdminContext, useDataProvider, useGetList, useRefresh } from "ra-core";
import jsonServerProvider from "ra-data-json-server";
import { withSubscribe } from "./subscribe.js";

const server = new URLSearchParams(location.search).get("server") ?? "http://localhost:3000";
const dataProvider = withSubscribe(jsonServerProvider(server), server);

function Schedules() {
  const provider = useDataProvider();
  const refresh = useRefresh();
  useEffect(() => {
    provider.subscribe("resource/schedules", refresh);
    return () => void provider.unsubscribe("resource/schedules", refresh);
  }, [provider, refresh]);
  const { data = [] } = useGetList("schedules", { pagination: { page: 1, perPage: 50 }, sort: { field: "id", order: "ASC" } });
  return <ul>{data.map(({ id, title, status }) => <li key={id}>{`${title} (${status})`}</li>)}</ul>;
}

createRoot(document.getElementById("root")).render(
  <CoreAdminContext dataProvider={dataProvider}>
    <Schedules />
  </CoreAdminContext>,
);
