// withSubscribe adds subscribe and unsubscribe to a data provider, as ra-realtime
// defines them: a topic is resource/schedules or resource/schedules/4.
export function withSubscribe(dataProvider, url) {
  const sources = new Map();
  return {
    ...dataProvider,
    async subscribe(topic, callback) {
      const source = new EventSource(url + topic.replace(/^resource/, "") + "?_since=now&_fields=id");
      for (const type of ["created", "updated", "deleted"]) {
        source.addEventListener(type, (e) => callback({ topic, type, payload: { ids: [JSON.parse(e.data).id] } }));
      }
      // The server was restarted, so anything may have changed.
      source.addEventListener("reset", () => callback({ topic, type: "updated", payload: { ids: [] } }));
      sources.set(callback, source);
    },
    async unsubscribe(topic, callback) {
      sources.get(callback)?.close();
      sources.delete(callback);
    },
  };
}
