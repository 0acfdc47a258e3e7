import { useEffect, useState } from "react";
import { Link, useParams } from "react-router";
import { readTask } from "./api.js";

export function Task() {
  const { id } = useParams();
  const [task, setTask] = useState();
  const [error, setError] = useState();
  useEffect(() => void readTask(id).then(setTask, setError), [id]);
  return (
    <main>
      {error && <p role="alert">{error.message}</p>}
      {task ? <h1>{task.title}</h1> : !error && <p role="status">Loading…</p>}
      <Link to="/">All tasks</Link>
    </main>
  );
}
