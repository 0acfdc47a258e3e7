package query

// An Embed is a relation named in _embed or _expand, with the relations to embed
// in its records.
type Embed struct {
	Parameter string
	Name      string
	Expand    bool
	Inner     []*Embed
}

// Limits of embedding.
const (
	maxEmbeds      = 32
	maxEmbedLevels = 8
)

// addEmbed adds a path of relations, each within the one before.
func addEmbed(list []*Embed, parameter string, names []string) []*Embed {
	if len(names) == 0 {
		return list
	}
	expand := parameter == "_expand"
	for _, e := range list {
		if e.Name == names[0] && e.Expand == expand {
			e.Inner = addEmbed(e.Inner, parameter, names[1:])
			return list
		}
	}
	return append(list, &Embed{parameter, names[0], expand, addEmbed(nil, parameter, names[1:])})
}
