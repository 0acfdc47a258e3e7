// save stores a change of a schedule. It tries once more if the server fails.
export async function save(base, id, change) {
  const init = { method: "PATCH", headers: { "Content-Type": "application/json" }, body: JSON.stringify(change) };
  let response = await fetch(`${base}/schedules/${id}`, init);
  if (response.status === 503) response = await fetch(`${base}/schedules/${id}`, init);
  if (!response.ok) throw new Error((await response.json()).detail);
  return response.json();
}
