package server

// The two resources that are answered without credentials.
const (
	livezPath  = "/_/livez"
	readyzPath = "/_/readyz"
)

// livez says that the process answers.
func (k *call) livez() error {
	k.Header("Cache-Control", "no-store")
	send(k.Context, 200, jsonType, []byte(`{"status":"alive"}`+"\n"))
	return nil
}

// readyz says that reads and writes are possible; 503 while the file is broken.
func (k *call) readyz() error {
	if err := k.db.Err(); err != nil {
		return err
	}
	k.Header("Cache-Control", "no-store")
	send(k.Context, 200, jsonType, []byte(`{"status":"ready"}`+"\n"))
	return nil
}
