package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"pickup/internal/storage"
)

// An unsentError is the error of a call that no node has received.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

// codeOf returns the code of gRPC for the error of a call. ok reports whether err is
// one.
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
	code, _ := codeOf(err)
	return code == codes.Unavailable &&
		(strings.Contains(err.Error(), "rror while dialing") || strings.Contains(err.Error(), "handshake failed"))
}

// isAway reports whether a call failed because a node does not answer.
func isAway(err error) bool {
	_, ok := codeOf(err)
	return ok && !isRefused(err)
}

// isCompacted reports whether etcd no longer has the revision that was asked for.
func isCompacted(err error) bool { return errors.Is(err, rpctypes.ErrCompacted) }

// failure returns the error of a Store for one of a call after which nothing has
// changed.
func (s *Store) failure(err error) error {
	code, ok := codeOf(err)
	switch {
	case !ok, errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, rpctypes.ErrNoSpace):
		return s.setFull(&storage.AdviceError{
			Err:    fmt.Errorf("%w: the cluster is full: %w", storage.ErrFull, err),
			Advice: "the cluster is full: compact and defragment it, and disarm its alarm",
		})
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return fmt.Errorf("%w: %w", storage.ErrTooLarge, err)
	case errors.Is(err, rpctypes.ErrPermissionDenied), errors.Is(err, rpctypes.ErrAuthFailed), errors.Is(err, rpctypes.ErrUserEmpty),
		code == codes.Unauthenticated:
		return fmt.Errorf("%w: the user of etcd may not do this: %w: %w", storage.ErrReadOnly, fs.ErrPermission, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = err
	return s.awayErrorLocked(err)
}
