// Package rpcerr makes the errors that leave a service: a canonical code, words for people and exactly one ErrorInfo.
package rpcerr

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
)

// Domain is the domain of every ErrorInfo.
const Domain = "kiroku.dev"

// New makes an error status. Metadata are pairs of key and value: the variables of the message.
func New(code codes.Code, reason errorv1.ErrorReason, message string, metadata ...string) error {
	return build(code, reason, message, metadata, nil)
}

// Invalid is INVALID_ARGUMENT with the fields at fault.
func Invalid(violations []*errorv1.FieldViolation) error {
	bad := &errdetails.BadRequest{}
	words := make([]string, 0, len(violations))
	for _, v := range violations {
		bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field: v.GetField(), Description: v.GetDescription(), Reason: "INVALID_FIELD",
		})
		words = append(words, v.GetField()+": "+v.GetDescription())
	}
	return build(codes.InvalidArgument, errorv1.ErrorReason_ERROR_REASON_INVALID_FIELD, strings.Join(words, "; "), nil, bad)
}

// InvalidField is INVALID_ARGUMENT for one field.
func InvalidField(field, description string) error {
	return Invalid([]*errorv1.FieldViolation{{Field: field, Description: description}})
}

// BadPageToken is INVALID_ARGUMENT for a page token that was not made for this query.
func BadPageToken() error {
	return New(codes.InvalidArgument, errorv1.ErrorReason_ERROR_REASON_BAD_PAGE_TOKEN,
		"page_token: malformed, or made for another query")
}

// FromItem is the status of one refused item, for calls that carry a single one.
func FromItem(item *errorv1.ItemError) error {
	code := codes.Code(item.GetCode()) //nolint:gosec // codes are small and made by this module
	if len(item.GetViolations()) > 0 && code == codes.InvalidArgument && item.GetReason() == errorv1.ErrorReason_ERROR_REASON_INVALID_FIELD {
		return Invalid(item.GetViolations())
	}
	return New(code, item.GetReason(), item.GetMessage())
}

// Edge maps what a handler returned to what leaves the service. Statuses pass; a cancelled or expired context, a text that no store can hold, and a
// store that does not answer, are named; everything else becomes INTERNAL, whose text stays in the log.
func Edge(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return New(codes.DeadlineExceeded, errorv1.ErrorReason_ERROR_REASON_DEADLINE, "the deadline passed")
	case errors.Is(err, context.Canceled):
		return New(codes.Canceled, errorv1.ErrorReason_ERROR_REASON_DEADLINE, "the caller went away")
	case errors.Is(err, ErrUnavailable), postgres.IsUnavailable(err):
		return New(codes.Unavailable, errorv1.ErrorReason_ERROR_REASON_STORE_UNAVAILABLE, "a store behind the service does not answer; try again")
	case postgres.IsUnstorableText(err):
		return InvalidField("request", "a text in it holds a NUL")
	}
	return New(codes.Internal, errorv1.ErrorReason_ERROR_REASON_INTERNAL, "internal error; the service's log has the request id")
}

// ErrUnavailable marks errors of stores that will answer again.
var ErrUnavailable = errors.New("store unavailable")

// Reason is the ErrorReason that a status carries, or UNSPECIFIED.
func Reason(err error) errorv1.ErrorReason {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == Domain {
			return errorv1.ErrorReason(errorv1.ErrorReason_value["ERROR_REASON_"+info.GetReason()])
		}
	}
	return errorv1.ErrorReason_ERROR_REASON_UNSPECIFIED
}

func build(code codes.Code, reason errorv1.ErrorReason, message string, metadata []string, bad *errdetails.BadRequest) error {
	info := &errdetails.ErrorInfo{Reason: strings.TrimPrefix(reason.String(), "ERROR_REASON_"), Domain: Domain}
	for i := 0; i+1 < len(metadata); i += 2 {
		if info.Metadata == nil {
			info.Metadata = make(map[string]string)
		}
		info.Metadata[metadata[i]] = metadata[i+1]
	}
	details := []protoadapt.MessageV1{info}
	if bad != nil {
		details = append(details, bad)
	}
	st := status.New(code, message)
	with, err := st.WithDetails(details...)
	if err != nil {
		return st.Err() // only an OK status has no room for details
	}
	return with.Err()
}
