package stampgate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"stampgate.dev/client/stampgatev1"
)

// Stamper makes the stamp of an end user over prepared.Body. Prepare sets the body of the stamp.
type Stamper func(ctx context.Context, prepared *stampgatev1.PrepareResponse) (*stampgatev1.ClientStamp, error)

// Prepare lets the gateway prepare a request of method, such as PolicyService_CreatePolicies_FullMethodName, lets stamper
// stamp the prepared body, and returns the request to send: by Submit, or by a call of a generated client.
func Prepare[Request proto.Message](ctx context.Context, conn grpc.ClientConnInterface, method string, request Request,
	stamper Stamper) (Request, error) {
	var none Request
	bytes, err := proto.Marshal(request)
	if err != nil {
		return none, err
	}
	service := stampgatev1.NewStampServiceClient(conn)
	prepared, err := service.Prepare(ctx, &stampgatev1.PrepareRequest{Method: method, Request: bytes})
	if err != nil {
		return none, err
	}
	stamp, err := stamper(ctx, prepared)
	if err != nil {
		return none, err
	}
	stamp.Body = prepared.GetBody()
	stamped := request.ProtoReflect().New()
	fields := stamped.Descriptor().Fields()
	field := fields.ByName("client_stamp")
	if field == nil {
		return none, fmt.Errorf("%s has no client_stamp", stamped.Descriptor().FullName())
	}
	stamped.Set(field, protoreflect.ValueOfMessage(stamp.ProtoReflect()))
	// No body contains the path of a general operation.
	if path := fields.ByName("path"); path != nil {
		stamped.Set(path, request.ProtoReflect().Get(path))
	}
	return stamped.Interface().(Request), nil
}

// APIKey stamps with a P-256 API key, whose private key is 64 hexadecimal digits.
func APIKey(privateKey string) (Stamper, error) {
	scalar, err := hex.DecodeString(privateKey)
	if err != nil {
		return nil, fmt.Errorf("the private key is not hexadecimal: %w", err)
	}
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
	if err != nil {
		return nil, err
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, err
	}
	point[0] = 2 | point[len(point)-1]&1 // A compressed point has the sign of y instead of y.
	publicKey := hex.EncodeToString(point[:1+len(scalar)])
	return func(_ context.Context, prepared *stampgatev1.PrepareResponse) (*stampgatev1.ClientStamp, error) {
		digest := sha256.Sum256(prepared.GetBody())
		signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(map[string]string{
			"publicKey": publicKey,
			"scheme":    "SIGNATURE_SCHEME_TK_API_P256",
			"signature": hex.EncodeToString(signature),
		})
		if err != nil {
			return nil, err
		}
		return &stampgatev1.ClientStamp{Stamp: &stampgatev1.ClientStamp_ApiKey{
			ApiKey: base64.RawURLEncoding.EncodeToString(text)}}, nil
	}, nil
}
