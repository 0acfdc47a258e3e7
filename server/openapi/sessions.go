package openapi

import "pickup/internal/describe"

// sessions adds the sessions and what can be done with them.
func (d *apiDocument) sessions() {
	none := describe.Resource{}
	read := func(id, summary string, headers []string, content ...entry) entry {
		return entry{"get", d.operation(none, id, summary, "", d.parametersOf("If-None-Match"), nil,
			d.withErrors(readErrors, entry{"200", answer("The resource.", headers, content...)}, notModified))}
	}
	d.path(none, SessionsPath, nil, object{read("listSessions", "List the sessions.", []string{"ETag"}, media(JSONType, arrayOf(ref("Session")), nil))})
	if !d.Sessions {
		return
	}
	session := entry{"200", answer("The session.", nil, media(JSONType, ref("Session"), nil))}
	made := entry{"201", session.value}
	body := object{{"content", object{media(JSONType, ref("SessionRequest"), nil)}}}
	write := func(method, id, summary, description, parameters string, body object, responses ...entry) entry {
		return entry{method, d.operation(none, id, summary, description, d.parametersOf(parameters), body, d.withErrors(writeErrors, responses...))}
	}
	changed := entry{"200", answer("What has changed.", restHeaders, media(JSONType, ref("Restored"), nil))}
	one := func(below string, item ...entry) {
		d.path(none, SessionsPath+"/{id}"+below, d.parametersOf("session"), item)
	}

	one("", read("getSession", "Read the state of a session.", nil, media(JSONType, ref("Session"), nil)),
		write("put", "putSession", "Begin a session.", "A session of that name ends.", "", body, session, made),
		write("delete", "endSession", "End a session.", "Its changes are lost and its streams end.", "", nil, noContent))
	one("/changes", read("getSessionChanges", "List what a session has changed.", []string{"ETag"},
		media(JSONType, ref("Changes"), nil), media(PatchType, ref("JSONPatch"), nil)))
	if !d.ReadOnly {
		one("/reset", write("post", "resetSession", "Take back what a session has changed.", "", ofWrites, object{{"content", object{media(JSONType, ref("ResetRequest"), nil)}}}, changed, noContent))
		one("/commit", write("post", "commitSession", "Make the changes of a session to the database.",
			"All or none: they are validated again, and refused if other changes have touched the same records. The session goes on.", ofWrites, nil, changed, noContent))
	}
}
