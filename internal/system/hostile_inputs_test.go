package system

import (
	"encoding/base64"
	"fmt"
	"strings"
)

const nobody = "/schedules/nobody-has-this-long-id"

// hostileInputs returns requests that must have no effect. Each has one fault.
func hostileInputs() (all [][]byte) {
	add := func(method, target, headers, body string) { all = append(all, raw(method, target, headers, body)) }

	// Bodies that are invalid JSON, too large or too deep, or not a record.
	bodies := []string{"", " ", "{", "}", "[", "]", "{]", "[}", `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `{,}`, `{'a':1}`, `{a:1}`, "nul", "truee", "NaN",
		"Infinity", "-", "01", "1.", ".5", "1e", "+1", "0x10", `"`, `"\x"`, `"\u12"`, `{"a":1}}`, `{} {}`, `[] []`, "{}\x00", "\ufeff{}", "// c\n{}", "/* */{}",
		"\x00", "{\"a\":\"\x00\"}", "{\"a\":\"\n\"}", "{\"a\":\"\xff\"}", "{\"\xc0\x80\":1}", "{\"a\":\"\xed\xa0\x80\"}", `{"a":"\ud800"}`, `{"a":"\udc00\ud800"}`,
		"\xff\xfe{\x00}\x00", `{"a":1,"a":2}`, `[{"b":{"a":1,"a":1}}]`, `{"__proto__":1,"__proto__":2}`, "5", `"text"`, "true", "null", "[]", "[[]]", "[1]",
		"[null]", `["x"]`, "[{},1]",
		strings.Repeat("[", 257), strings.Repeat("[", 257) + strings.Repeat("]", 257), strings.Repeat("[", 100_000),
		strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300),
		strings.Repeat(`[{"a":`, 50_000), "[" + strings.Repeat("0,", 300_000) + "0]", "[" + strings.Repeat("{},", 100_000) + "1]",
		`{"a":` + strings.Repeat("9", 100_000) + "}", `{"a":1e` + strings.Repeat("9", 2000) + "}", `{"` + strings.Repeat("k", 2000) + `":1}`,
		`{"a":"` + strings.Repeat("\\u0041", 50_000), `{"a":"` + strings.Repeat("x", 200_000), "{" + strings.Repeat(`"a":1,`, 20_000) + `"a":1}`}
	for _, body := range bodies {
		for _, at := range []struct{ method, target string }{
			{method: "POST", target: "/schedules"},
			{method: "POST", target: "/drivers"},
			{method: "POST", target: "/drivers/1/schedules"},
			{method: "PUT", target: "/schedules?Id=1"},
			{method: "PUT", target: nobody},
			{method: "PATCH", target: "/drivers/1"},
		} {
			if body == "{}" || body == "[{}]" {
				continue
			}
			add(at.method, at.target, "Content-Type: application/json\r\n", body)
		}
	}

	// The wrong type in each member, as an object and in an array, by each method.
	wrong := []string{"null", "true", "false", "[]", "{}", `[""]`, `{"a":1}`, "1e400", "-0.5", "12345678901234567890123456789", `[[[[]]]]`, `{"":""}`}
	for _, member := range []string{"title", "passenger", "pickupLocation", "dropoffLocation", "pickupTime", "dropoffTime", "status"} {
		for _, value := range append(wrong, "1", `{"$ref":"#"}`) {
			for _, shape := range []string{`{%q:%s}`, `[{%q:%s}]`} {
				body := fmt.Sprintf(shape, member, value)
				add("POST", "/schedules", "", body)
				add("PUT", "/schedules?Id=1", "", body)
				add("PATCH", "/schedules/1", "", body)
			}
		}
	}
	for _, member := range []string{"driverName", "driverIdentity", "cellPhone", "email"} {
		for _, value := range append(wrong, "1") {
			for _, shape := range []string{`{%q:%s}`, `[{%q:%s}]`} {
				body := fmt.Sprintf(shape, member, value)
				add("POST", "/drivers", "", body)
				add("PUT", "/drivers?driverId=1", "", body)
				add("PATCH", "/drivers/1", "", body)
			}
		}
	}
	for member, values := range map[string][]string{
		"status": {"scheduled", "Scheduled ", "Unscheduled", "", "SCHEDULED", "Scheduled\x00", "Cancelled", strings.Repeat("S", 50_000)},
		"pickupTime": {"", "now", "2026-02-30T10:00:00Z", "2026-13-01T10:00:00Z", "2026-01-01 10:00:00", "2026-01-01T25:00:00Z", "2026-01-01", "１２",
			"2026-01-01T10:00:00Z\n", "-2026-01-01T10:00:00Z"},
		"dropoffTime": {"", "tomorrow", "2025-02-29T10:00:00Z", "0000-00-00T00:00:00Z", "2026-01-01T10:61:00Z"},
		"Status":      {"Scheduled"}, "titlee": {"x"}, "pickUpTime": {"2026-01-01T10:00:00Z"},
	} {
		for _, value := range values {
			for _, shape := range []string{`{%q:%q}`, `[{%q:%q}]`} {
				body := strings.ReplaceAll(fmt.Sprintf(shape, member, value), `\x00`, `\u0000`)
				add("POST", "/schedules", "", body)
				add("PATCH", "/schedules/1", "", body)
			}
		}
	}
	for _, email := range []string{"", "x", "@", "a@", "@b", "a b@c.d", "a@b@c", "a@b..c", "a@-b.c", "<a@b.c>", "a@b.c\n", "a@b.c,d@e.f",
		strings.Repeat("a", 400) + "@b.c"} {
		add("PATCH", "/drivers/1", "", fmt.Sprintf(`{"email":%q}`, email))
	}
	for _, phone := range []string{"", "1", "603-555-018", "(603 555-0188", "603555018O", "+16035550188", "６０３５５５０１８８",
		strings.Repeat("6", 10_000)} {
		add("PATCH", "/drivers/1", "", fmt.Sprintf(`{"cellPhone":%q}`, phone))
	}

	// Paths that try to escape, and ids that do not exist.
	for _, path := range []string{"/..", "/../", "/../../etc/passwd", "/./schedules/../..", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd",
		"/%5c..%5cdb.json", "/..\\..\\x",
		"/db.json", "/.db.json.lock", "/.env", "/.git/config", "/%00", "/schedules%00", "/schedules/1%00", "/schedules/%00", "/schedules/%ff",
		"/schedules/%c0%af", "//", "//schedules", "/schedules//1",
		"/schedules/1//", "/schedules/1/2/3/4", "/schedules;a=1", "/schedules/1;b", "/_", "/_/", "/_/..", "/_/../schedules", "/_/nothing", "/_/metrics/x",
		"/debug/pprof/", "/debug/vars", "/%zz", "/%", "/%2", "/$schema",
		"/constructor", "/__proto__", "/toString", "/schedules/__proto__", "/" + strings.Repeat("a", 10_000), "/" + strings.Repeat("a/", 5000),
		"/schedules/" + strings.Repeat("%41", 5000),
		"/schedules/" + strings.Repeat("x", 40_000), "/😀", "/schedules/\u202e1", "/schedules/１", "/SCHEDULES", "/Schedules/1",
		"/drivers/nobody-at-all/schedules", "/schedules/1/drivers/2", "/schedules/-1", "/schedules/1e0", "/schedules/0x1"} {
		for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "DELETE", "POST", "OPTIONS"} {
			body := ""
			if method != "GET" && method != "HEAD" && method != "OPTIONS" {
				body = `{"status":1}`
			}
			if path == "/schedules/1//" && method == "DELETE" {
				continue
			}
			add(method, path, "", body)
		}
	}
	for _, query := range []string{"Id=", "Id", "id=&Id=", "Id=1&Id=2", "Id=1&id=2", "driverId=1", "title=x", "Id=1&status=Scheduled", "%zz", "Id=%",
		"Id=%ff", "Id=%00", "Id[]=1", "Id=nobody-at-all", "_id=1", "ID=1", "Id=1;id=2", "=1", "&&&", strings.Repeat("a=1&", 5000)} {
		for _, method := range []string{"PUT", "PATCH", "DELETE", "POST"} {
			add(method, "/schedules?"+query, "", `{"status":"nothing"}`)
		}
	}
	for _, query := range []string{"_limit=x", "_limit=-1", "_limit=1e9", "_page=99999999999999999999", "_page=-1", "_per_page=0", "_start=a", "_end=-5",
		"_sort=" + strings.Repeat("a,", 5000), "_order=sideways", "_where={", "_where=" + strings.Repeat("[", 10_000),
		"_where={\"or\":", "title:like=(a%2b)%2b$", "title:like=(", "title_like=(a?){500}b", "title:like=" + strings.Repeat("a?", 5000), "title:nothing=1",
		"_nothing=1", "a..b=1", "[0]=1", "a[=1", "a[99999999999999999999]=1", "a[-1]=1", "%00=%00", "%ff=%ff",
		"_embed=" + strings.Repeat("x.", 2000), "_expand=nobody", "_fields=" + strings.Repeat("a,", 5000), strings.Repeat("f=1&", 3000),
		strings.Repeat("a.", 10_000) + "=1", "q=" + strings.Repeat("x", 20_000)} {
		for _, path := range []string{"/schedules", "/drivers/", "/drivers/1/schedules", "/schedules/1", "/db", "/"} {
			add("GET", path+"?"+query, "", "")
		}
	}
	for i := range 60 {
		add("GET", "/schedules?"+strings.Repeat(fmt.Sprintf("f%d=1&g", i), i+1), "", "")
	}

	// Headers: what is announced wrongly, twice, too long or in another tongue.
	ok := `{"status":"nothing"}`
	for _, headers := range []string{"Content-Type: text/plain\r\n", "Content-Type: \r\n", "Content-Type: application/x-www-form-urlencoded\r\n",
		"Content-Type: multipart/form-data; boundary=x\r\n", "Content-Type: application/json; charset=utf-16\r\n",
		"Content-Type: ;;;\r\n", "Content-Type: " + strings.Repeat("a", 8000) + "\r\n", "Content-Encoding: gzip\r\n", "Content-Encoding: br, gzip\r\n",
		"Content-Encoding: identity\r\n", "Content-Length: 99999999999\r\n", "Content-Length: -1\r\n",
		"Content-Length: 1\r\nContent-Length: 2\r\n", "Content-Length: +5\r\n", "Content-Length: 0x5\r\n", "Transfer-Encoding: chunked\r\n",
		"Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: identity\r\n", "Transfer-Encoding : chunked\r\n", "Transfer-Encoding:\x0bchunked\r\n",
		"Expect: 200-ok\r\n", "Expect: 100-continue\r\n", "Host: evil.example\r\n", "Host: \r\n", "X: " + strings.Repeat("x", 60_000) + "\r\n",
		strings.Repeat("X: y\r\n", 5000), "X\x00: y\r\n", "X: \x00\r\n", "X: \r\n folded\r\n", ": y\r\n", "no colon\r\n", "X-Request-Id: \x7f\r\n",
		"X-Request-Id: " + strings.Repeat("a", 1000) + "\r\n", "X-Request-Id: <script>\r\n", "X-HTTP-Method-Override: DELETE\r\n",
		"Range: bytes=0-1,5-2\r\n", "If-Match: \x01\r\n", "If-None-Match: " + strings.Repeat("\"a\",", 3000) + "\r\n",
		"Accept: " + strings.Repeat("a/b,", 3000) + "\r\n",
		"Prefer: " + strings.Repeat(",", 5000) + "\r\n", "Origin: null\r\n", "Origin: https://evil.example\r\n",
		"Origin: http://localhost.evil.example\r\n", "Origin: http://localhost:1@evil.example\r\n", "Origin: http://[::1\r\n",
		"Origin: javascript:alert(1)\r\n", "Origin: https://evil.example\r\nSec-Fetch-Site: same-origin\r\nContent-Type: text/plain\r\n",
		"Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: same-site\r\n",
		"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n", "Upgrade: websocket\r\nConnection: Upgrade\r\n",
		"Cookie: " + strings.Repeat("a=b; ", 2000) + "\r\n", "Traceparent: " + strings.Repeat("0", 500) + "\r\n",
		"Forwarded: for=6.6.6.6\r\nX-Forwarded-For: 6.6.6.6\r\nX-Real-IP: 6.6.6.6\r\n"} {
		for _, method := range []string{"GET", "PUT", "PATCH", "DELETE", "POST"} {
			target := nobody
			if method == "POST" {
				target = "/schedules"
			}
			add(method, target, headers, ok)
		}
	}
	b64 := base64.StdEncoding.EncodeToString
	for _, credentials := range []string{"", "Basic", "Basic ", "Basic =", "Basic !!!!", "Basic " + b64([]byte("pickup")), "Basic " + b64([]byte(":")),
		"Basic " + b64([]byte("pickup:")), "Basic " + b64([]byte(":right")), "Basic " + b64([]byte("pickup:right\x00")),
		"Basic " + b64([]byte("pickup\x00:right")), "Basic " + b64([]byte("pickup:right\n")), "Basic " + b64([]byte("Pickup:right")),
		"Basic " + b64([]byte("pickup:Right")), "Basic " + b64([]byte("pickup::right")), "Basic " + b64([]byte("\xff:\xfe")),
		"Basic " + b64([]byte("pickup:"+strings.Repeat("x", 20_000))), "Bearer " + b64([]byte("pickup:right")), "Digest username=\"pickup\"",
		"basic\t" + b64([]byte("pickup:right")), "Basic " + b64([]byte("pickup:right")) + ",Basic x", "Negotiate x", strings.Repeat("Basic ", 500)} {
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			all = append(all, fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: %s\r\nContent-Length: 2\r\n\r\n{}",
				method, "/schedules/1", credentials))
		}
	}

	// Text that is not an HTTP request.
	for _, text := range []string{"\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\nHost: localhost\n\n", "G\x00T / HTTP/1.1\r\nHost: a\r\n\r\n", "GET \x00 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://evil.example/schedules HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n", "TRACE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", strings.Repeat("A", 100_000), strings.Repeat("\x00", 10_000),
		"GET /" + strings.Repeat("a", 100_000) + " HTTP/1.1\r\n",
		"POST /schedules HTTP/1.1\r\nHost: localhost\r\n" + right + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		"POST /schedules HTTP/1.1\r\nHost: localhost\r\n" + right + "Transfer-Encoding: chunked\r\n\r\n-1\r\n",
		"POST /schedules HTTP/1.1\r\nHost: localhost\r\n" + right + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		"POST /schedules HTTP/1.1\r\nHost: localhost\r\n" + right + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n",
		"POST /schedules HTTP/1.1\r\nHost: localhost\r\n" + right + "Content-Length: 500\r\n\r\n{\"title\":"} {
		all = append(all, []byte(text))
	}
	return all
}
