package etcdstore

import (
	"slices"

	"pickup/internal/storage"
)

// apply returns contents with changes made to them: the plain model that the store is
// compared with.
func apply(contents []storage.Collection, changes []storage.Change) []storage.Collection {
	contents = slices.Clone(contents)
	for _, ch := range changes {
		at := slices.IndexFunc(contents, func(c storage.Collection) bool { return c.Name == ch.Collection })
		switch {
		case ch.ID != "":
			contents[at].Elements = applyToElements(slices.Clone(contents[at].Elements), ch)
		case ch.Value == nil && at >= 0:
			contents = slices.Delete(contents, at, at+1)
		case ch.Value == nil:
		case at >= 0:
			contents[at] = storage.NewCollection(ch.Collection, ch.Value, "id")
		case ch.Collection == "$schema":
			contents = slices.Insert(contents, 0, storage.NewCollection(ch.Collection, ch.Value, "id"))
		default:
			contents = append(contents, storage.NewCollection(ch.Collection, ch.Value, "id"))
		}
	}
	return contents
}

func applyToElements(elements []storage.Element, ch storage.Change) []storage.Element {
	at := slices.IndexFunc(elements, func(e storage.Element) bool { return e.Key == ch.ID })
	switch e := (storage.Element{Key: ch.ID, Value: ch.Value}); {
	case ch.Value == nil && at >= 0:
		return slices.Delete(elements, at, at+1)
	case ch.Value == nil:
		return elements
	case at >= 0:
		elements[at] = e
		return elements
	default:
		return append(elements, e)
	}
}
