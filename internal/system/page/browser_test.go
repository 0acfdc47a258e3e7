package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"pickup/internal/tools/servertest"
)

// TestBrowser opens pages of several origins in Chromium. A page on another loopback
// port can read and write. A page of another origin can do neither, nor can a page
// whose name resolves to the address of the server (DNS rebinding).
func TestBrowser(t *testing.T) {
	t.Parallel()
	// One server requires credentials. The other does not, so that only the check of
	// origins protects it.
	dir, openDir := servertest.SampleDir(t), servertest.SampleDir(t)
	closed, err := servertest.Launch("pickup", dir, []string{"PICKUP_PASSWORD=söme:secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closed.Kill)
	open, err := servertest.Launch("pickup", openDir, []string{"PICKUP_NO_AUTH=1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(open.Kill)
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!DOCTYPE html><title>page</title><body>")
	}))
	t.Cleanup(pages.Close)
	port := pages.URL[strings.LastIndex(pages.URL, ":"):]

	named, err := servertest.Launch("pickup", servertest.SampleDir(t), []string{"PICKUP_NO_AUTH=1"}, "--cors-origin", "http://friend.example"+port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(named.Kill)

	ctx := browser(t)
	// evaluate opens a page and runs script in it, as the body of an async function.
	// It returns the variable result.
	evaluate := func(page, script string) map[string]any {
		t.Helper()
		if err := chromedp.Do(ctx, chromedp.Navigate(page)); err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("(async () => { const result = {}; "+script+"; return JSON.stringify(result) })()",
			chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		result := map[string]any{}
		if err := json.Unmarshal([]byte(text), &result); err != nil {
			t.Fatal(err)
		}
		return result
	}
	want := func(result map[string]any, expected map[string]any) {
		t.Helper()
		for name, value := range expected {
			if fmt.Sprint(result[name]) != fmt.Sprint(value) {
				t.Errorf("%s is %v, want %v", name, result[name], value)
			}
		}
		if t.Failed() {
			t.Logf("%v", result)
		}
	}

	// A front end on another loopback port reads and writes.
	front := `
		const base = '` + closed.URL + `';
		const user = 'Basic ' + btoa(String.fromCharCode(...new TextEncoder().encode('pickup:söme:secret')));
		const send = (method, path, body) => fetch(base + path, {method, body: body && JSON.stringify(body),
			headers: {Authorization: user, 'Content-Type': 'application/json', Prefer: 'return=representation'}});
		result.wrong = (await fetch(base + '/schedules', {headers: {Authorization: 'Basic eDp5'}})).status;
		let r = await send('GET', '/schedules');
		result.list = (await r.json()).length;
		result.id = (r.headers.get('X-Request-Id') || '').length > 0;
		r = await send('POST', '/drivers', {driverName: 'Ruth', cellPhone: '6035550123', email: 'ruth@example.org'});
		result.created = r.status;
		result.location = r.headers.get('Location');
		const driver = await r.json();
		result.patched = (await send('PATCH', '/drivers/' + driver.id, {driverName: 'Rita'})).status;
		result.replaced = (await send('PUT', '/drivers?driverId=' + driver.id, {driverName: 'Rosa', cellPhone: '6035550124', email: 'rosa@example.org'})).status;
		result.refused = (await send('PATCH', '/drivers/' + driver.id, {email: 1})).status;
		result.deleted = (await send('DELETE', '/drivers/' + driver.id)).status;`
	for _, page := range []string{"http://localhost" + port, "http://127.0.0.1" + port, "http://app.localhost" + port} {
		want(evaluate(page, front), map[string]any{"wrong": 401, "list": 7, "id": true, "created": 201, "patched": 200, "replaced": 200, "refused": 422,
			"deleted": 200})
	}
	if location := evaluate("http://localhost"+port, front)["location"]; !strings.HasPrefix(fmt.Sprint(location), "/drivers/") {
		t.Errorf("the page sees the Location %v", location)
	}
	// It may send any header but that of our page, and credentials if none are required or
	// the server names the origin.
	tries := `
		const attempt = async (name, url, options) => {
			try { result[name] = (await fetch(url, options)).status } catch (e) { result[name] = 'failed' }
		};
		const headers = {'X-Custom': 'a', 'X-Requested-With': 'b', 'Cache-Control': 'no-cache', 'Content-Type': 'application/json',
			traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'};
		const patch = (base, options) => [base + '/drivers/1', {method: 'PATCH', body: '{"driverName":"Rita"}', headers, ...options}];`
	want(evaluate("http://localhost"+port, tries+`
		await attempt('headers', ...patch('`+open.URL+`', {}));
		await attempt('credentials', ...patch('`+open.URL+`', {credentials: 'include'}));
		await attempt('required', '`+closed.URL+`/drivers', {credentials: 'include'});
		await attempt('ourPage', '`+open.URL+`/drivers', {headers: {'Pickup-Page': '1'}});`),
		map[string]any{"headers": 200, "credentials": 200, "required": "failed", "ourPage": "failed"})
	want(evaluate("http://friend.example"+port, tries+`
		await attempt('patched', ...patch('`+named.URL+`', {}));
		await attempt('credentials', ...patch('`+named.URL+`', {credentials: 'include'}));`),
		map[string]any{"patched": 200, "credentials": 200})

	// A page of another origin sends each kind of request that browsers permit.
	before, openBefore := servertest.Read(t, dir+"/db.json"), servertest.Read(t, openDir+"/db.json")
	attack := func(base string) string {
		return `
		const base = '` + base + `';
		const attempt = async (name, url, options) => {
			try {
				const r = await fetch(base + url, options);
				result[name] = r.type == 'opaque' ? 'opaque' : 'read ' + (await r.text()).length;
			} catch (e) { result[name] = 'failed' }
		};
		const json = {'Content-Type': 'application/json'};
		await attempt('read', '/schedules', {});
		await attempt('readWithCredentials', '/schedules', {credentials: 'include'});
		await attempt('blindRead', '/schedules', {mode: 'no-cors', credentials: 'include'});
		await attempt('post', '/drivers', {method: 'POST', body: '{"driverName":"Eve"}', headers: json});
		await attempt('blindPost', '/drivers', {method: 'POST', mode: 'no-cors', credentials: 'include',
			body: '{"driverName":"Eve","cellPhone":"6035550199","email":"eve@example.org"}'});
		await attempt('blindBlob', '/drivers', {method: 'POST', body: new Blob(['{"driverName":"Eve"}']), mode: 'no-cors', credentials: 'include'});
		await attempt('patch', '/schedules/1', {method: 'PATCH', body: '{"title":"Eve"}', headers: json});
		await attempt('put', '/schedules/1', {method: 'PUT', body: '{"title":"Eve"}', headers: json, credentials: 'include'});
		await attempt('delete', '/schedules/1', {method: 'DELETE'});
		result.beacon = navigator.sendBeacon(base + '/drivers', '{"driverName":"Eve","cellPhone":"6035550199","email":"eve@example.org"}');
		result.script = await new Promise(done => {
			const s = document.createElement('script');
			s.src = base + '/schedules'; s.onload = () => done('ran'); s.onerror = () => done('failed');
			document.body.append(s);
		});
		for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
			const frame = document.createElement('iframe'), form = document.createElement('form'), field = document.createElement('input');
			frame.name = enctype; form.target = enctype; form.method = 'POST'; form.action = base + '/drivers'; form.enctype = enctype;
			field.name = '{"driverName":"Eve","x":"'; field.value = '"}';
			form.append(field); document.body.append(frame, form);
			const loaded = new Promise(done => { frame.onload = done; setTimeout(done, 3000) });
			form.submit();
			await loaded;
		}
		const frame = document.createElement('iframe');
		frame.src = base + '/schedules';
		const loaded = new Promise(done => { frame.onload = done; setTimeout(done, 3000) });
		document.body.append(frame);
		await loaded;
		try { result.frame = frame.contentDocument === null ? 'closed' : 'read' } catch (e) { result.frame = 'closed' }`
	}
	outcome := map[string]any{"read": "failed", "readWithCredentials": "failed", "post": "failed", "patch": "failed", "put": "failed",
		"delete": "failed", "script": "failed", "frame": "closed"}
	// The browser has the credentials of the server that requires them.
	if err := chromedp.Do(ctx, chromedp.Navigate(strings.Replace(closed.URL, "//", "//pickup:s%C3%B6me%3Asecret@", 1)+"/schedules")); err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{closed.URL, open.URL} {
		result := evaluate("http://hostile.example"+port, attack(base))
		want(result, outcome)
		for name, value := range result {
			if strings.HasPrefix(fmt.Sprint(value), "read") {
				t.Errorf("%s: the hostile page can read: %v", name, value)
			}
		}
	}
	if !bytes.Equal(before, servertest.Read(t, dir+"/db.json")) || !bytes.Equal(openBefore, servertest.Read(t, openDir+"/db.json")) {
		t.Error("the hostile page has written")
	}
	// The server has received and refused the requests.
	for _, refused := range []string{"POST /drivers  403", "OPTIONS /schedules/1  403"} {
		if !servertest.Eventually(func() bool { return strings.Contains(open.Text(), refused) }) {
			t.Errorf("the log has no %s", refused)
		}
	}

	// DNS rebinding: the browser sees one origin, but the server does not accept the
	// name in the Host header.
	rebound := strings.Replace(open.URL, "localhost", "rebound.example", 1)
	want(evaluate(rebound+"/", `
		const r = await fetch('/schedules'); result.status = r.status;
		result.patch = (await fetch('/schedules/1', {method: 'PATCH', body: '{"title":"Eve"}', headers: {'Content-Type': 'application/json'}})).status;`),
		map[string]any{"status": 421, "patch": 421})
	if !bytes.Equal(openBefore, servertest.Read(t, openDir+"/db.json")) {
		t.Error("the rebound page has written")
	}
}

// TestDocsPage opens the API documentation with credentials in the URL, fills in a
// filter and sends the request. Each filter is one line high.
func TestDocsPage(t *testing.T) {
	t.Parallel()
	p, err := servertest.Launch("pickup", servertest.SampleDir(t), []string{"PICKUP_PASSWORD=secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	ctx := browser(t)
	if err := chromedp.Do(ctx, chromedp.Navigate(strings.Replace(p.URL, "//", "//pickup:secret@", 1)+"/_/docs#/schedules/listSchedules")); err != nil {
		t.Fatal(err)
	}
	got, err := chromedp.Run(ctx, chromedp.Evaluate[string](`(async () => {
		const seen = async find => {
			for (let i = 0; i < 300; i++) {
				const found = find();
				if (found) return found;
				await new Promise(done => setTimeout(done, 100));
			}
			return null;
		};
		const status = await seen(() => document.querySelector('[data-param-name=status] textarea'));
		if (!status) return document.body.innerText;
		for (const box of document.querySelectorAll('.parameters textarea'))
			if (box.offsetHeight > 50) return 'a filter is ' + box.offsetHeight + ' pixels high';
		if (document.querySelector('.parameters input[type=file]')) return 'a parameter is a file';
		Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(status, 'Canceled');
		status.dispatchEvent(new Event('input', {bubbles: true}));
		document.querySelector('.execute').click();
		const url = await seen(() => document.querySelector('.request-url pre'));
		const body = await seen(() => document.querySelector('.live-responses-table .response-col_description pre'));
		return url.innerText.trim().replace(location.origin, '') + ' ' + [...body.innerText.matchAll(/"id": *"(.*?)"/g)].map(m => m[1]);
	})()`, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	if want := "/schedules?status=Canceled 5"; got != want {
		t.Errorf("the page shows %s, want %s", got, want)
	}
}

// browser starts Chromium and stops it when the test ends, or shortly before go test
// ends all tests.
func browser(t *testing.T, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		t.Fatal("chromium-headless-shell is missing: make setup installs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("no-first-run", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("host-resolver-rules", "MAP *.example 127.0.0.1"))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(options, more...)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if end, ok := t.Deadline(); ok {
		ctx, cancel = context.WithDeadline(ctx, end.Add(-time.Minute))
		t.Cleanup(cancel)
	}
	return ctx
}
