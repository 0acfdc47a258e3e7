// A client that was made from the OpenAPI document creates, reads, changes and
// deletes. It is compiled with tsc --strict, so a type that is wrong fails too.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";
import type { Database, Driver, Page, Schedule, ScheduleCreate } from "./types.js";

declare const process: { env: Record<string, string | undefined> };

const options = {
  baseUrl: process.env.PICKUP_URL ?? "",
  headers: { Authorization: "Basic " + btoa(process.env.PICKUP_CREDENTIALS ?? "") },
};
const api = createClient<paths>(options);

function must<T>(what: string, value: T | undefined, error?: unknown): T {
  if (value === undefined) throw new Error(`${what}: ${JSON.stringify(error)}`);
  return value;
}

function equal(what: string, got: unknown, want: unknown): void {
  if (got !== want) throw new Error(`${what}: ${JSON.stringify(got)} and not ${JSON.stringify(want)}`);
}

const schedule: components["schemas"]["ScheduleCreate"] = {
  driverId: "1",
  title: "A visit by types",
  passenger: "Biscuit",
  pickupLocation: "Home",
  dropoffLocation: "Clinic",
  pickupTime: "2026-09-14T07:40:00Z",
  dropoffTime: "2026-09-14T08:05:00Z",
  status: "Scheduled",
};
const sameByTypes: ScheduleCreate = schedule; // both describe one thing

const created = await api.POST("/schedules", { body: sameByTypes });
equal("created", created.response.status, 201);
const id = String(must("created", created.data, created.error).id);

const read = await api.GET("/schedules/{id}", { params: { path: { id } } });
equal("read", must("read", read.data, read.error).title, "A visit by types");

const listed = await api.GET("/schedules", { params: { query: { status: ["Scheduled", "Canceled"], title: "A visit by types" } } });
equal("listed", must("listed", listed.data, listed.error).map((s) => s.title).join(), "A visit by types");

const { data } = await api.GET("/schedules"); // the lines of docs/http.md
equal("titles", data?.map((schedule) => schedule.title).length, 8);

// It is read again only if it has changed.
const tag = must("tag", read.response.headers.get("ETag") ?? undefined);
const again = await api.GET("/schedules/{id}", { params: { path: { id }, header: { "If-None-Match": tag } } });
equal("again", again.response.status, 304);
const late = await api.PATCH("/schedules/{id}", { params: { path: { id }, header: { "If-Match": '"x"' } }, body: { title: "late" } });
equal("late", late.response.status, 412);

const replaced = await api.PUT("/schedules/{id}", { params: { path: { id } }, body: { ...schedule, title: undefined } });
equal("replaced", must("replaced", replaced.data, replaced.error).title, undefined);

const under = await api.POST("/drivers/{id}/schedules", {
  params: { path: { id: "2" } },
  body: { ...schedule, driverId: undefined },
});
equal("under a driver", must("under a driver", under.data, under.error).driverId, "2");

const children = await api.GET("/drivers/{id}/schedules", { params: { path: { id: "2" } } });
if (must("children", children.data, children.error).length < 1) throw new Error("no children");

// A mistake that the types cannot see is told with its place.
const wrong = await api.PATCH("/schedules/{id}", { params: { path: { id } }, body: { pickupTime: "2026-02-30T00:00:00" } });
equal("wrong", wrong.response.status, 422);
equal("wrong", wrong.error?.errors?.[0]?.pointer, "/pickupTime");

// Mistakes that the types see.
// @ts-expect-error: the title is missing
const withoutTitle: ScheduleCreate = { ...schedule, title: undefined };
// @ts-expect-error: no such status
const noStatus: ScheduleCreate = { ...schedule, status: "Scheduld" };
// @ts-expect-error: old records may have it, new ones may not
const past: ScheduleCreate = { ...schedule, status: "Unscheduled" };
// @ts-expect-error: nor in a change, whose body may be a merge patch as well
const change = () => api.PATCH("/schedules/{id}", { params: { path: { id } }, body: { status: "Scheduld" } });
// @ts-expect-error: no such member
const slipped = { stat: "Scheduled" } satisfies components["schemas"]["ScheduleMergePatch"];
const removal: components["schemas"]["ScheduleMergePatch"] = { status: null };
// @ts-expect-error: another form of the answer, whose type is Page
const noPage = () => api.GET("/schedules", { params: { query: { _page: 1 } } });
const old: Schedule["status"] = "Unscheduled";
// @ts-expect-error: an email is needed
const noEmail: Driver = { id: 1, driverName: "n", cellPhone: "6035550142" };
const page: Page<Schedule> | undefined = undefined;
void [page, withoutTitle, noStatus, past, change, slipped, removal, noPage, old, noEmail];

// A slip in a name is seen by the server.
const slip = await api.PATCH("/drivers/{id}", { params: { path: { id: "1" } }, body: { emaill: "a@example.com" } as object });
equal("slip", slip.error?.errors?.[0]?.pointer, "/emaill");

const deleted = await api.DELETE("/schedules/{id}", { params: { path: { id } } });
equal("deleted", must("deleted", deleted.data, deleted.error).id, id);
const gone = await api.GET("/schedules/{id}", { params: { path: { id } } });
equal("gone", gone.response.status, 404);
equal("gone", gone.error?.detail, `schedules has no record with the id "${id}".`);

const all = await api.GET("/db");
const database: Database = must("db", all.data, all.error) as Database;
equal("drivers", database.drivers[0]?.email, "dana.marlow@example.com");

console.log("all is well");
