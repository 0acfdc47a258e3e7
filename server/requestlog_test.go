package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
)

// TestRedact has bodies with and without secrets, also where the limit cuts them.
func TestRedact(t *testing.T) {
	long := strings.Repeat("x", maxRecordedBody)
	for _, c := range []struct {
		name, body, want string
		patch            bool
	}{
		{name: "nothing", body: ` {"a": [1.50, "b"], "n": null} `, want: ` {"a": [1.50, "b"], "n": null} `},
		{name: "names", body: `{"PassWord":"p","a":{"x-auth":[{"b":1}],"c":2},"KEY" : 1}`, want: `{"PassWord":"…","a":{"x-auth":"…","c":2},"KEY":"…"}`},
		{name: "escaped", body: `{"\u0070assword": "p", "a": 1}`, want: `{"\u0070assword":"…", "a": 1}`},
		{name: "value", body: `{"a": "password", "b": ["token", {"c": 1}]}`, want: `{"a": "password", "b": ["token", {"c": 1}]}`},
		{name: "twice", body: `{"a": 1, "a": {"token": 1, "token": 2}}`, want: `{"a": 1, "a": {"token":"…", "token":"…"}}`},
		{name: "form", body: `user=ruth&password=p`},
		{name: "two values", body: `{} {}`},
		{name: "unfinished", body: `{"a": {"token": `},
		{name: "not JSON", body: `{"token": p}`},
		{
			name: "patch", patch: true,
			body: `[{"path":"/token","value":"t"},{"path":"/a","value":{"b":1}}]`,
			want: `[{"path":"/token","value":"…"},{"path":"/a","value":"…"}]`,
		},
		{name: "patch without", body: `[{"path":"/a","value":1}]`, want: `[{"path":"/a","value":1}]`, patch: true},
		{name: "cut in text", body: `{"token":"t","a":"` + long, want: (`{"token":"…","a":"` + long)[:maxRecordedBody+2]},
		{name: "cut in secret", body: `{"a":1,"token":"` + long, want: `{"a":1,"token":"…"`},
		{name: "cut in list of secrets", body: `{"a":1,"tokens":["` + long, want: `{"a":1,"tokens":"…"`},
		{name: "cut and not JSON", body: `{a:"` + long},
	} {
		var e excerpt
		for _, part := range []string{c.body[:len(c.body)/2], c.body[len(c.body)/2:]} {
			if n, err := e.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if e.redact(c.patch); string(e.text) != c.want {
			t.Errorf("%s: %.60q (%d bytes), and not %.60q (%d bytes)", c.name, e.text, len(e.text), c.want, len(c.want))
		}
	}
}

// TestSecretNames has names of what may be secret, and names that only look like them.
func TestSecretNames(t *testing.T) {
	for _, name := range strings.Fields(`password passwords Password PASSWORD PassWord userpassword userPassword passwordHash passwordhash password1 passwd
		pwd userPwd DBPass db_pass pass passphrase pass-phrase Passwort secret secrets client_secret clientSecret clientsecret token tokens TOKENs accessToken
		access-token userToken2 idtoken JWTToken token:eq key keys apiKey api_key API_KEY APIKey X-Api-Key apikey KEY publicKey auth x-auth oauth OAuth2
		authorization Proxy-Authorization authentication credential credentials cookie Set-Cookie session sessionId sessionid connect.sid JSESSIONID PHPSESSID
		otp totpCode pin pinCode PINCode pin_code user[pin] /user/pin cvv cvv2 iban ibans card_number cardNumber creditCard accessCode
		csrftoken APIKEY authHeader authcode authCode resetCode verification_code`) {
		if !isSecret(name) {
			t.Errorf("%s is not secret", name)
		}
	}
	for _, name := range strings.Fields(`author AUTHOR authors authorId author_id authority authentic passenger passengers compass passed bypass keyword KEYWORD keywords monkey Monkey
		keyboard postcode zipcode barcode country_code _code code secretary pinned spin opinion shipping cottage sidebar inside option obsession possession
		title id name größe /passenger schlüssel`) {
		if isSecret(name) {
			t.Errorf("%s is secret", name)
		}
	}
	for text, want := range map[string]bool{`{"a":"\npin"}`: true, `{"a":"\\token"}`: true, `{"\u0061":1}`: true, `{"a":"\n","author":"\t"}`: false} {
		if mentions(text) != want {
			t.Errorf("%s: not %v", text, want)
		}
	}
}

func TestRedactQuery(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{query: "", want: ""},
		{query: "a=1&b", want: "a=1&b"},
		{query: "access_token=x&a=1&%74oken=y&apiKey:eq=z", want: "access_token=…&a=1&%74oken=…&apiKey:eq=…"},
		{query: "_where=%7B%22token%22%3A%221%22%7D", want: "_where=%7B%22token%22%3A%22%E2%80%A6%22%7D"},
		{query: "_where={\"a\":1}", want: "_where={\"a\":1}"},
		{query: "_where=token", want: "_where="},
		{query: "%zz=1", want: "%zz=…"},
		{query: "_code=503", want: "_code=503"},
		{query: "author=typicode&authorId=3&passenger=Ivy", want: "author=typicode&authorId=3&passenger=Ivy"},
		{query: "authCode=y&zipCode=1&country_code=2", want: "authCode=…&zipCode=1&country_code=2"},
		{query: "authorId=3&next=%2Fposts%3Fauthor%3Da&pin=1", want: "authorId=3&next=%2Fposts%3Fauthor%3Da&pin=…"},
	} {
		if got := redactQuery(c.query); got != c.want {
			t.Errorf("%q: %q, and not %q", c.query, got, c.want)
		}
	}
}

// TestRequestLog adds more than a log holds.
func TestRequestLog(t *testing.T) {
	var l requestLog
	for i := range 3 * maxRecorded {
		l.add(&recorded{Path: "/a", At: time.Now(), body: excerpt{text: make([]byte, i%2)}})
	}
	list, last, whole, more := l.since(3*maxRecorded - 10)
	if len(list) != 10 || last != 3*maxRecorded || whole || list[9].ID != "1500" {
		t.Errorf("%d requests up to %d", len(list), last)
	}
	if list, _, whole, _ = l.since(2*maxRecorded - 1); len(list) != maxRecorded || !whole {
		t.Errorf("%d requests (all: %v) after one that is gone", len(list), whole)
	}
	for range 3 * maxRecorded {
		l.add(&recorded{answer: excerpt{text: make([]byte, maxRecordedBody)}, body: excerpt{text: make([]byte, maxRecordedBody)}})
	}
	select {
	case <-more:
	default:
		t.Error("nobody was woken")
	}
	size := 0
	for _, e := range l.list {
		size += e.size
	}
	if size != l.size || size > maxRecordedSize || size < maxRecordedSize-3*maxRecordedBody {
		t.Errorf("%d bytes, counted as %d", size, l.size)
	}
	l.clear()
	if list, last, whole, _ := l.since(last); len(list) != 0 || last != 6*maxRecorded+1 || !whole || l.size != 0 {
		t.Errorf("%d requests of %d bytes are left", len(list), l.size)
	}
}

// A slowWriter is the answer to a client that does not read.
type slowWriter struct {
	http.ResponseWriter
	begun, read chan struct{}
}

func (w slowWriter) Write(b []byte) (int, error) {
	close(w.begun)
	<-w.read
	return len(b), nil
}

// TestUnreadRequest has a client that does not read the request that it asks for.
// Others are answered meanwhile.
func TestUnreadRequest(t *testing.T) {
	s := &server{Options: Options{Requests: true}}
	s.requests.add(&recorded{})
	w := slowWriter{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	c, _ := gin.CreateTestContext(w)
	c.Request = httptest.NewRequest("GET", "/_/requests/1", nil)
	c.Params = gin.Params{{Key: "name", Value: "1"}}
	req := &request{server: s, Context: c}
	var slow sync.WaitGroup
	slow.Go(func() { _ = req.readRequest() })
	<-w.begun
	added := make(chan struct{})
	go func() {
		s.requests.add(&recorded{})
		close(added)
	}()
	select {
	case <-added:
	case <-time.After(10 * time.Second):
		t.Error("a client that does not read keeps others waiting")
	}
	close(w.read)
	slow.Wait()
	<-added
}

// TestUnreadSchema has a client that does not read the rules that it asks for. Others
// get them meanwhile.
func TestUnreadSchema(t *testing.T) {
	db, f := newFront(t, `{"posts":[{"id":1}]}`)
	ask := func(w http.ResponseWriter) {
		c, _ := gin.CreateTestContext(w)
		c.Request = httptest.NewRequest("GET", "/_/schema.json", nil)
		_ = (&request{server: f.server, Context: c, db: db, snap: db.Snapshot()}).inferSchema()
	}
	w := slowWriter{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	var slow sync.WaitGroup
	slow.Go(func() { ask(w) })
	<-w.begun
	answered := make(chan struct{})
	go func() {
		ask(httptest.NewRecorder())
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(10 * time.Second):
		t.Error("a client that does not read keeps others waiting")
	}
	close(w.read)
	slow.Wait()
	<-answered
}

// TestRequestMemory records requests whose parts other than the bodies are large.
func TestRequestMemory(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, e := range []recorded{
		{Session: long},
		{Problem: &problem{Detail: long}},
		{Problem: &problem{Errors: []fault{{Pointer: &long}}}},
		{Problem: &problem{Errors: []fault{{Detail: long}}}},
		{Problem: &problem{Collections: []string{long}}},
		{Query: strings.Repeat("key&", 1<<18)},
		{body: excerpt{text: []byte(`{` + strings.Repeat(`"key":0,`, 1<<16) + `"a":0}`)}},
	} {
		var l requestLog
		for range 20 {
			l.add(new(e))
		}
		size := 0
		list, _, _, _ := l.since(0)
		for _, e := range list {
			size += len(marshal(e)) + len(e.body.text)
		}
		if size > maxRecordedSize*5/4 {
			t.Errorf("%.80s: %d requests hold %d bytes", marshal(list[0]), len(list), size)
		}
	}
}

// TestRedactProblem hides sentences about values that may be secret, wherever the
// name is.
func TestRedactProblem(t *testing.T) {
	at := func(s string) *string { return &s }
	p := &problem{Detail: "d", Errors: []fault{
		{Pointer: at("/title"), Detail: "a"}, {Pointer: at("/user/password"), Detail: "b", Suggestion: "s"},
		{Pointer: at("/0/value"), Member: "/apiKey", Detail: "c"},
	}}
	got := p.excerpt()
	got.redact(false)
	if got.Detail != "d" || got.Errors[0].Detail != "a" || got.Errors[1].Detail != hidden || got.Errors[1].Suggestion != "" || got.Errors[2].Detail != hidden {
		t.Errorf("%+v", got)
	}
	if p.Errors[1].Detail != "b" {
		t.Error("the answer itself was changed")
	}
	got = badParameter("token:eq", "x is wrong")
	if got.redact(false); got.Detail != hidden || got.Errors[0].Detail != hidden {
		t.Errorf("%+v", got)
	}
}
