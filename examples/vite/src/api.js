async function send(method, path, body, headers) {
  const response = await fetch("/api" + path, {
    method,
    body: body && JSON.stringify(body),
    headers: { ...(body && { "Content-Type": "application/json" }), ...headers },
  });
  return { status: response.status, body: await response.json() };
}

export async function readTask(id) {
  const { status, body } = await send("GET", `/tasks/${encodeURIComponent(id)}`);
  if (status !== 200) throw new Error(body.detail);
  return body;
}

// createTask can be repeated until it succeeds: the task has an id of its own, and
// PUT with If-None-Match: * creates a record once. 412 says that an earlier attempt,
// whose answer was lost, has created it.
export async function createTask(task) {
  const { status, body } = await send("PUT", `/tasks/${task.id}`, task, { "If-None-Match": "*" });
  if (status !== 201 && status !== 412) throw new Error(body.detail);
}

// followTasks calls onChange with all tasks, now and whenever one of them changes: by
// a request, or by an edit of the file. It returns a function that ends this.
export function followTasks(onChange) {
  const source = new EventSource("/api/tasks");
  const tasks = new Map();
  const on = (type, change) =>
    source.addEventListener(type, (event) => {
      change(JSON.parse(event.data));
      onChange([...tasks.values()]);
    });
  const set = ({ id, record }) => tasks.set(id, record);
  on("reset", ({ records }) => {
    tasks.clear();
    records.forEach((record) => set({ id: record.id, record }));
  });
  on("created", set);
  on("updated", set);
  on("deleted", ({ id }) => tasks.delete(id));
  return () => source.close();
}
