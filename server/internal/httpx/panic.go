package httpx

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Contain calls f and logs a panic, which would end the program outside of a request.
func Contain(log *slog.Logger, message string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			log.Error(message, "error", PanicError(v))
		}
	}()
	f()
}

// PanicError returns the error of a panic, with the stack.
func PanicError(v any) error { return fmt.Errorf("panic: %v\n%s", v, debug.Stack()) }
