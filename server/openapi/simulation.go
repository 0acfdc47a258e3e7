package openapi

import "pickup/internal/describe"

// simulation adds the rules for simulated answers and the requests that are held.
func (d *apiDocument) simulation() {
	none := describe.Resource{}
	read := func(id, summary string, schema object) entry {
		return entry{"get", d.operation(none, id, summary, "", d.parametersOf("If-None-Match"), nil,
			d.withErrors(readErrors, entry{"200", answer("The list.", []string{"ETag"}, media(JSONType, schema, nil))}, notModified))}
	}
	write := func(method, id, summary, description, parameters string, body object, response entry) entry {
		return entry{method, d.operation(none, id, summary, description, d.parametersOf(parameters), body, d.withErrors(writeErrors, response))}
	}
	rule, rules := ref("SimulationRule"), arrayOf(ref("SimulationRule"))
	d.path(none, SimulatePath, nil, object{
		read("listSimulationRules", "List the rules for simulated answers that were set at run time.", rules),
		write("put", "setSimulationRules", "Replace the rules for simulated answers.", "", "", requestBody(media(JSONType, rules, nil)),
			entry{"200", answer("The rules.", nil, media(JSONType, rules, nil))}),
		write("post", "addSimulationRule", "Add a rule after all others.", "", "", requestBody(media(JSONType, rule, nil)),
			entry{"201", answer("The rule.", []string{"Location"}, media(JSONType, rule, nil))}),
		write("delete", "removeSimulationRules", "Remove the rules that were set at run time.", "", "", nil, noContent),
	})
	d.path(none, HoldsPath, nil, object{read("listHolds", "List the requests that are held, the oldest first.", arrayOf(ref("Hold")))})
	if d.ReadOnly {
		return
	}
	d.path(none, SimulatePath+"/{id}", d.parametersOf("rule"), object{
		write("delete", "removeSimulationRule", "Remove a rule that was set at run time.", "", "", nil, noContent)})
	d.path(none, ReleasePath+"/{id}", d.parametersOf("hold"), object{
		write("post", "release", "Let the requests go on that are held under a name.", "", "wait", nil,
			entry{"200", answer("How many there were.", nil, media(JSONType, ref("Released"), nil))})})
}
