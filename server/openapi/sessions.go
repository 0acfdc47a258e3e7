package openapi

import "pickup/internal/describe"

// sessions adds the sessions and what can be done with them.
func (d *apiDocument) sessions() {
	none := describe.Resource{}
	d.path(none, SessionsPath, nil, object{d.reading("listSessions", "List the sessions.", "Each is a copy of the database for one test.", nil, media(JSONType, arrayOf(ref("Session")), nil))})
	if !d.Sessions {
		return
	}
	session := entry{"200", answer("The session.", nil, media(JSONType, ref("Session"), nil))}
	made := entry{"201", session.value}
	body := object{{"content", object{media(JSONType, ref("SessionRequest"), nil)}}}
	one := func(below string, item ...entry) {
		d.path(none, SessionsPath+"/{id}"+below, d.parametersOf("session"), item)
	}

	one("", d.reading("getSession", "Read the state of a session.", "When it began, and what it holds.", nil, media(JSONType, ref("Session"), nil)),
		d.writing("put", "putSession", "Begin a session.", "A session of that name ends.", "", body, session, made),
		d.writing("delete", "endSession", "End a session.", "Its changes are lost and its streams end.", "", nil, noContent))
	one("/changes", d.reading("getSessionChanges", "List what a session has changed.", "As values before and after, or as a JSON Patch.", nil,
		media(JSONType, ref("Changes"), nil), media(PatchType, ref("JSONPatch"), nil)))
	if !d.ReadOnly {
		one("/reset", d.writing("post", "resetSession", "Take back what a session has changed.", "The session goes on.", ofWrites, object{{"content", object{media(JSONType, ref("ResetRequest"), nil)}}}, restored, noContent))
		one("/commit", d.writing("post", "commitSession", "Make the changes of a session to the database.",
			"All or none: they are validated again, and refused if other changes have touched the same records. The session goes on.", ofWrites, nil, restored, noContent))
	}
}
