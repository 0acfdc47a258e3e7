import { fetchUtils } from "ra-core"; // with react-admin: from "react-admin"

// httpClient gives the errors of a refused record to the fields of a form. react-admin
// expects them by field, pickup sends a list with JSON Pointers.
export const httpClient = (url, options) =>
  fetchUtils.fetchJson(url, options).catch((error) => {
    const faults = error.body?.errors?.filter((fault) => fault.pointer) ?? [];
    if (faults.length > 0) {
      error.body.errors = Object.fromEntries(faults.map((fault) => [fault.pointer.slice(1).replaceAll("/", "."), fault.detail]));
    }
    throw error;
  });
