package openapi

import "pickup/internal/describe"

// simulation adds the rules for simulated answers and the requests that are held.
func (d *apiDocument) simulation() {
	none := describe.Resource{}
	rule, rules := ref("SimulationRule"), arrayOf(ref("SimulationRule"))
	d.path(none, SimulatePath, nil, object{
		d.reading("listSimulationRules", "List the rules for simulated answers.", "Those that were set at run time.", nil, media(JSONType, rules, nil)),
		d.writing("put", "setSimulationRules", "Replace the rules for simulated answers.", "Those that were set at run time.", "", requestBody(media(JSONType, rules, nil)),
			entry{"200", answer("The rules.", nil, media(JSONType, rules, nil))}),
		d.writing("post", "addSimulationRule", "Add a rule for simulated answers.", "It comes after all others.", "", requestBody(media(JSONType, rule, nil)),
			entry{"201", answer("The rule.", []string{"Location"}, media(JSONType, rule, nil))}),
		d.writing("delete", "removeSimulationRules", "Remove the rules for simulated answers.", "Those that were set at run time.", "", nil, noContent),
	})
	d.path(none, HoldsPath, nil, object{d.reading("listHolds", "List the requests that are held.", "The oldest comes first.", nil, media(JSONType, arrayOf(ref("Hold")), nil))})
	if d.ReadOnly {
		return
	}
	d.path(none, SimulatePath+"/{id}", d.parametersOf("rule"), object{
		d.writing("delete", "removeSimulationRule", "Remove a rule for simulated answers.", "One that was set at run time.", "", nil, noContent)})
	d.path(none, ReleasePath+"/{id}", d.parametersOf("hold"), object{
		d.writing("post", "release", "Release requests.", "Those that are held under a name go on.", "wait", nil,
			entry{"200", answer("How many there were.", nil, media(JSONType, ref("Released"), nil))})})
}
