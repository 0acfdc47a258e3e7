//go:build !linux && !darwin

package disk

func canWrite(string, int64) error { return nil }
