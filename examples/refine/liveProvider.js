// liveProvider returns a live provider of refine for a pickup server.
export const liveProvider = (url) => ({
  subscribe({ channel, types, callback }) {
    const source = new EventSource(url + channel.replace(/^resources/, "") + "?_since=now&_fields=id");
    for (const type of ["created", "updated", "deleted"]) {
      source.addEventListener(type, (e) => {
        if (!types.includes("*") && !types.includes(type)) return;
        callback({ channel, type, payload: { ids: [JSON.parse(e.data).id] }, date: new Date() });
      });
    }
    // The server was restarted, so anything may have changed.
    source.addEventListener("reset", () => callback({ channel, type: "*", payload: {}, date: new Date() }));
    return source;
  },
  unsubscribe: (source) => source.close(),
});
