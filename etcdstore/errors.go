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

// An unsentError is the error of a call that no node has received.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

// A plainError has a text of its own, and wraps others.
type plainError struct {
	text  string
	wraps []error
}

func (e *plainError) Error() string   { return e.text }
func (e *plainError) Unwrap() []error { return e.wraps }

// broken returns the error, with advice, of a database that was changed past pickup.
func broken(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return &plainError{text, []error{&storage.AdviceError{Err: storage.ErrBroken, Advice: text}}}
}

// codeOf returns the gRPC code of the error of a call. ok reports whether err has one.
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

// A ConnectionError reports why no connection to a node can be made.
type ConnectionError struct {
	Node  string // its URL
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

// Advice returns what can be done, "" if the connection may succeed later.
func (e *ConnectionError) Advice() string {
	has := func(text string) bool { return strings.Contains(e.Cause, text) }
	switch {
	case has("does not look like a TLS handshake"):
		return "the node does not use TLS: the URL begins with etcd://"
	case has("signed by unknown authority"):
		return "name the authority of etcd's certificates: --etcd-cacert FILE"
	case has("failed to verify"):
		return "the certificate of the node is not valid for this host at this time"
	case has("remote error: tls: certificate required"), has("remote error: tls: bad certificate"), has("remote error: tls: unknown certificate authority"):
		return "the node asks for a certificate of an authority that it trusts: --etcd-cert FILE --etcd-key FILE"
	case has("remote error: tls: "):
		return "the node refuses the certificate: --etcd-cert FILE --etcd-key FILE"
	case has("server preface: EOF"), has("server preface: http2: "):
		return "is this a node of etcd, and does it use TLS? Then the URL begins with etcds://"
	}
	return ""
}

// connectionCause returns why a call found no connection. ok reports whether err says why.
func connectionCause(err error) (cause string, ok bool) {
	s, _ := status.FromError(err)
	_, cause, ok = strings.Cut(s.Message(), "connection error: desc = ")
	if text, err := strconv.Unquote(cause); err == nil {
		cause = text
	}
	return strings.TrimPrefix(cause, "transport: "), ok
}

// isRefused reports whether etcd has refused a call and will not perform it. Other
// errors leave the outcome open.
func isRefused(err error) bool {
	switch code, _ := codeOf(err); code {
	case codes.InvalidArgument, codes.PermissionDenied, codes.ResourceExhausted, codes.FailedPrecondition,
		codes.OutOfRange, codes.Unauthenticated:
		return true
	}
	return false
}

// isUnsent reports whether no node acted on a call. A node without a leader refuses
// calls before it looks at them.
func isUnsent(err error) bool {
	if _, ok := errors.AsType[unsentError](err); ok || errors.Is(err, rpctypes.ErrNoLeader) {
		return true
	}
	if e, ok := errors.AsType[*ConnectionError](err); ok {
		err = e.err // the cause may belong to another call
	}
	code, _ := codeOf(err)
	return code == codes.Unavailable &&
		(strings.Contains(err.Error(), "rror while dialing") || strings.Contains(err.Error(), "handshake failed"))
}

// isAway reports whether a call failed because a node does not answer.
func isAway(err error) bool {
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
		return s.setRefused(&storage.AdviceError{
			Err:    fmt.Errorf("%w: the cluster is full: %w", storage.ErrFull, err),
			Advice: "compact and defragment it, and disarm its alarm",
		})
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return fmt.Errorf("%w: %w", storage.ErrTooLarge, err)
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return s.setRefused(refusal(err, "grant a role of the user of etcd the permission readwrite for the prefix"))
	case errors.Is(err, rpctypes.ErrAuthFailed):
		return refusal(err, "the user of etcd or its password is wrong")
	case errors.Is(err, rpctypes.ErrUserEmpty), code == codes.Unauthenticated:
		return refusal(err, "etcd asks for a user: name it in the URL, as in etcd://USER@HOST, and its password in PICKUP_ETCD_PASSWORD")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = err
	return &storage.AwayError{Since: s.fresh, Err: err}
}

// refusal returns the error of a call that the user of etcd may not make.
func refusal(err error, advice string) error {
	return &storage.AdviceError{Err: fmt.Errorf("%w: %w: %w", storage.ErrReadOnly, fs.ErrPermission, err), Advice: advice}
}
