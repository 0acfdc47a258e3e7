// src/tasks.js
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "./api.js";

export const useTasks = () => useQuery({ queryKey: ["tasks"], queryFn: () => api("/tasks") });

export function useAddTask() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (task) => put(`/tasks/${task.id}`, task),
    retry: 2,
    onMutate: (task) => client.setQueryData(["tasks"], (tasks = []) => [...tasks, task]),
    onSettled: () => client.invalidateQueries({ queryKey: ["tasks"] }), // load what is stored, after errors too
  });
}

async function put(path, body) {
  const headers = { "Content-Type": "application/json", "If-None-Match": "*" };
  try {
    return await api(path, { method: "PUT", headers, body: JSON.stringify(body) });
  } catch (error) {
    if (error.status !== 412) throw error; // 412: an earlier attempt was stored
  }
}
