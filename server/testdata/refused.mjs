// Sends a body over HTTP/2 and prints the answer, its version and its status.
import { readFileSync } from "node:fs";
import { connect } from "node:http2";

const [url, path, header, value, file] = process.argv.slice(2);
const session = connect(url, { rejectUnauthorized: false });
const request = session.request({ ":method": "POST", ":path": path, "content-type": "application/json", [header]: value });
let status, text = "";
request.on("response", headers => (status = headers[":status"]));
request.on("data", data => (text += data));
request.on("end", () => {
	process.stdout.write(`${text}\n2 ${status}`);
	session.close();
});
request.end(readFileSync(file));
