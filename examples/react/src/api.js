// src/api.js
export const base = import.meta.env.VITE_API ?? "/api";

export async function api(path, init) {
  const response = await fetch(base + path, init);
  const body = await response.json();
  if (!response.ok) throw Object.assign(new Error(body.detail), body); // a problem document
  return body;
}
