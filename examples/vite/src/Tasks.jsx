import { useEffect, useState } from "react";
import { Link } from "react-router";
import { createTask, followTasks } from "./api.js";

export function Tasks() {
  const [tasks, setTasks] = useState();
  useEffect(() => followTasks(setTasks), []);
  return (
    <main>
      <h1>Tasks</h1>
      {tasks ? (
        <ul>
          {tasks.map(({ id, title }) => <li key={id}><Link to={`/tasks/${encodeURIComponent(id)}`}>{title}</Link></li>)}
        </ul>
      ) : <p role="status">Loading…</p>}
      <NewTask />
    </main>
  );
}

const emptyTask = () => ({ id: crypto.randomUUID(), title: "" });

function NewTask() {
  const [task, setTask] = useState(emptyTask);
  const [state, setState] = useState("ready"); // saving, failed
  async function save(event) {
    event.preventDefault();
    setState("saving");
    try {
      await createTask(task);
      setTask(emptyTask());
      setState("ready");
    } catch {
      setState("failed"); // the task keeps its id for the next attempt
    }
  }
  return (
    <form onSubmit={save}>
      <input
        aria-label="New task"
        required
        readOnly={state !== "ready"} // the next attempt sends the same
        value={task.title}
        onChange={(e) => setTask({ ...task, title: e.target.value })}
      />
      <button disabled={state === "saving"}>{state === "failed" ? "Try again" : "Add"}</button>
      {state === "failed" && <p role="alert">The task may not have been saved.</p>}
    </form>
  );
}
