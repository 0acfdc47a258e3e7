import { app } from "./playwright.config.js";
import { test, expect } from "./session.js";

// All tests change the same records at the same time. Each sees its own changes only.
for (let i = 1; i <= 8; i++) {
  test(`schedules, ${i}`, async ({ page, request, baseURL, session }) => {
    await page.goto(`${app}/?server=${baseURL}`); // the page of examples/eventsource
    await expect(page.getByRole("listitem")).toHaveCount(7);

    expect((await request.patch("/schedules/4", { data: { title: `Recital ${i}` } })).ok()).toBe(true);
    expect((await request.delete("/schedules/1")).ok()).toBe(true);
    await expect(page.getByText(`Recital ${i} (Rescheduled)`)).toBeVisible();
    await expect(page.getByRole("listitem")).toHaveCount(6);

    const { id } = await (await request.post("/drivers", {
      data: { driverName: `Driver ${i}`, driverIdentity: "Parent", cellPhone: "(603) 555-0100", email: "driver@example.org" },
    })).json();
    expect(id).toBe("5");
    const drivers = await (await request.get("/drivers?_fields=driverName")).json();
    expect(drivers.filter(({ driverName }) => driverName.startsWith("Driver"))).toEqual([{ driverName: `Driver ${i}` }]);

    const changes = (await session.changes()).map(({ op, collection, id }) => `${op} ${collection}/${id}`);
    expect(changes.sort()).toEqual(["created drivers/5", "deleted schedules/1", "updated schedules/4"]);
  });
}
