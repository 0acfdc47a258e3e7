package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"pickup/internal/storage"
)

// errUnsent is the error of a call that no node received.
var errUnsent = errors.New("not sent")

// A textError has a text that replaces the texts of its causes.
type textError struct {
	text   string
	causes []error
}

func (e *textError) Error() string   { return e.text }
func (e *textError) Unwrap() []error { return e.causes }

// broken returns an error, with advice, for a database with invalid keys.
func broken(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return &textError{text, []error{&storage.AdviceError{Err: storage.ErrBroken, Advice: text}}}
}

// codeOf returns the gRPC code of the error of a call. ok reports whether err has a code.
func codeOf(err error) (code codes.Code, ok bool) {
	if e, ok := errors.AsType[rpctypes.EtcdError](err); ok {
		return e.Code(), true
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return codes.DeadlineExceeded, true
	}
	s, ok := status.FromError(err)
	return s.Code(), ok && err != nil
}

// A ConnectionError reports why a node cannot be connected.
type ConnectionError struct {
	Node  string // the URL of the node
	Cause string
	err   error // of the call
}

func (e *ConnectionError) Unwrap() error { return e.err }

func (e *ConnectionError) Error() string {
	text := e.Node + ": " + e.Cause
	if advice := e.Advice(); advice != "" {
		text += " (" + advice + ")"
	}
	return text
}

// connectionAdvice lists parts of causes and the advice for each. The first match counts.
var connectionAdvice = []struct{ part, advice string }{
	{"does not look like a TLS handshake", "the node does not use TLS: the URL must begin with etcd://"},
	{"signed by unknown authority", "name the authority of etcd's certificates: --etcd-cacert FILE"},
	{"failed to verify", "the certificate of the node is not valid for this host at this time"},
	{"remote error: tls: ", "the node requires a valid certificate of an authority that it trusts: " +
		"--etcd-cert FILE --etcd-key FILE"},
	{"server preface: EOF", needTLS},
	{"server preface: http2: ", needTLS},
}

const needTLS = "is this a node of etcd, and does it use TLS? Then the URL must begin with etcds://"

// Advice returns what the user can do, or "" if a later connection may succeed.
func (e *ConnectionError) Advice() string {
	for _, a := range connectionAdvice {
		if strings.Contains(e.Cause, a.part) {
			return a.advice
		}
	}
	return ""
}

// connectionCause returns why a call had no connection. ok reports whether err has the cause.
func connectionCause(err error) (cause string, ok bool) {
	s, _ := status.FromError(err)
	_, cause, ok = strings.Cut(s.Message(), "connection error: desc = ")
	if text, err := strconv.Unquote(cause); err == nil {
		cause = text
	}
	return strings.TrimPrefix(cause, "transport: "), ok
}

// isRefused reports whether etcd refused a call and will not perform it. Other errors leave
// the outcome open.
func isRefused(err error) bool {
	switch code, _ := codeOf(err); code {
	case codes.InvalidArgument, codes.PermissionDenied, codes.ResourceExhausted,
		codes.FailedPrecondition, codes.OutOfRange, codes.Unauthenticated:
		return true
	}
	return false
}

// isUnsent reports whether no node acted on a call. A node without a leader refuses
// each call unread.
func isUnsent(err error) bool {
	if errors.Is(err, errUnsent) || errors.Is(err, rpctypes.ErrNoLeader) {
		return true
	}
	if e, ok := errors.AsType[*ConnectionError](err); ok {
		err = e.err // the cause may belong to another call
	}
	code, _ := codeOf(err)
	return code == codes.Unavailable &&
		(strings.Contains(err.Error(), "rror while dialing") || strings.Contains(err.Error(), "handshake failed"))
}

// isUnreachable reports whether a call failed because no node answered.
func isUnreachable(err error) bool {
	_, ok := codeOf(err)
	return ok && !isRefused(err)
}

// failure returns the error of a Store for the error of a call that changed nothing.
func (s *Store) failure(err error) error {
	code, ok := codeOf(err)
	switch {
	case !ok, errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, rpctypes.ErrNoSpace):
		return s.setWriteError(&storage.AdviceError{
			Err:    fmt.Errorf("%w: the cluster is full: %w", storage.ErrFull, err),
			Advice: "compact and defragment it, and disarm its alarm",
		})
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return fmt.Errorf("%w: %w", storage.ErrTooLarge, err)
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return s.setWriteError(denied(err, "grant a role of the user of etcd the permission readwrite for the prefix"))
	case errors.Is(err, rpctypes.ErrAuthFailed):
		return denied(err, "the user of etcd or its password is wrong")
	case errors.Is(err, rpctypes.ErrUserEmpty), code == codes.Unauthenticated:
		return denied(err, "etcd requires a user: name it in the URL, as in etcd://USER@HOST, "+
			"and set its password in PICKUP_ETCD_PASSWORD")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastError = err
	return &storage.AwayError{Since: s.fresh, Err: err}
}

// denied returns the error of a call that etcd does not allow the user.
func denied(err error, advice string) error {
	return &storage.AdviceError{
		Err:    fmt.Errorf("%w: %w: %w", storage.ErrReadOnly, fs.ErrPermission, err),
		Advice: advice,
	}
}
