// Server-sent events, read with fetch: EventSource cannot send the headers that
// the page's requests have.

export interface ServerEvent {
  name: string;
  id: string;
  data: string;
}

/** Calls receive for each event of a stream, also for those that have only an id, until the stream ends. */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  receive: (event: ServerEvent) => void,
): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) receive(parseEvent(block));
  }
}

function parseEvent(block: string): ServerEvent {
  const event = { name: "message", id: "", data: "" };
  for (const line of block.split("\n")) {
    const [, field, value = ""] = /^(\w+):? ?(.*)$/s.exec(line) ?? [];
    if (field === "event") event.name = value;
    else if (field === "id") event.id = value;
    else if (field === "data") event.data += value;
  }
  return event;
}
