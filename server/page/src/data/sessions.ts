// The sessions that there are, for the contents and the screen that lists them.
import { effect, signal } from "@preact/signals";
import { read, type Schemas } from "./api.ts";
import { status } from "./catalog.ts";
import { onNews, requests } from "./live.ts";

export type Session = Schemas["Session"];

export const sessions = signal<Session[] | null>(null); // null until they are known
export const sessionsError = signal<unknown>(null);

export async function loadSessions(): Promise<void> {
  try {
    sessions.value = await read<Session[]>("/_/sessions");
    sessionsError.value = null;
  } catch (error) {
    sessionsError.value = error;
  }
}

const load = (): void => {
  if (status.peek()?.mode.sessions) void loadSessions();
};
onNews(load); // also when the stream begins
effect(() => {
  if (requests.value?.[0]?.session) load(); // which it may have begun
});
