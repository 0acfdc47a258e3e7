package spell

import "testing"

func TestSingular(t *testing.T) {
	for plural, want := range map[string]string{
		"drivers": "driver", "schedules": "schedule", "posts": "post",
		"categories": "category", "companies": "company", "Cities": "City", "ties": "tie",
		"addresses": "address", "classes": "class", "boxes": "box", "branches": "branch", "dishes": "dish", "quizzes": "quiz",
		"menus": "menu", "houses": "house", "courses": "course", "images": "image", "shoes": "shoe", "databases": "database",
		"heroes": "hero", "potatoes": "potato", "olives": "olive", "knives": "knife",
		"status": "status", "bus": "bus", "headaches": "headache", "sagas": "saga", "indices": "index",
		"people": "person", "children": "child", "movies": "movie", "statuses": "status", "series": "series", "news": "news",
		"lineItems": "lineItem", "line_items": "line_item", "orderStatuses": "orderStatus",
		"staff": "staff", "address": "address", "s": "s", "": "",
		"lineStatuses": "lineStatus", "class": "class", "caches": "cache", "cookies": "cookie", "gurus": "guru", "aliases": "alias",
		"crises": "crisis", "zombies": "zombie", "sizes": "size", "my-items": "my-item", "élans": "élan",
	} {
		if got := Singular(plural); got != want {
			t.Errorf("%s: %s and not %s", plural, got, want)
		}
	}
}
