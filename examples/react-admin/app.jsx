import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { CoreAdminContext, EditBase, Form, useDataProvider, useGetList, useInput, useRefresh, ValidationError } from "ra-core";
import jsonServerProvider from "ra-data-json-server";
import { httpClient } from "./http.js";
import { withSubscribe } from "./subscribe.js";

const server = new URLSearchParams(location.search).get("server") ?? "http://localhost:3000";
const dataProvider = withSubscribe(jsonServerProvider(server, httpClient), server);

function Schedules() {
  const [edited, edit] = useState();
  const provider = useDataProvider();
  const refresh = useRefresh();
  useEffect(() => {
    provider.subscribe("resource/schedules", refresh);
    return () => void provider.unsubscribe("resource/schedules", refresh);
  }, [provider, refresh]);
  const { data = [] } = useGetList("schedules", { pagination: { page: 1, perPage: 50 }, sort: { field: "id", order: "ASC" } });
  return (
    <>
      <ul>
        {data.map(({ id, title, status }) => (
          <li key={id}>
            <button onClick={() => edit(id)}>{`${title} (${status})`}</button>
          </li>
        ))}
      </ul>
      {edited && (
        // Pessimistic, so that the form waits for the answer.
        <EditBase key={edited} resource="schedules" id={edited} mutationMode="pessimistic" redirect={false}>
          <Form>
            <Field source="title" />
            <Field source="status" />
            <button>Save</button>
          </Form>
        </EditBase>
      )}
    </>
  );
}

function Field({ source }) {
  const { field, fieldState } = useInput({ source });
  return (
    <p>
      <label>
        {source}: <input {...field} />
      </label>{" "}
      <em>{fieldState.error && <ValidationError error={fieldState.error.message} />}</em>
    </p>
  );
}

createRoot(document.getElementById("root")).render(
  <CoreAdminContext dataProvider={dataProvider}>
    <Schedules />
  </CoreAdminContext>,
);
