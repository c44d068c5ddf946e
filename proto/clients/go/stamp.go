package stampgate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"stampgate.dev/client/stampgatev1"
)

// Stamper makes the stamp of an end user over prepared.Body. Prepare sets the body of the stamp.
type Stamper func(ctx context.Context, prepared *stampgatev1.PrepareResponse) (*stampgatev1.ClientStamp, error)

// Prepare lets the gateway prepare a request of method, such as PolicyService_CreatePolicies_FullMethodName, lets
// stamper stamp the prepared body, and returns the request to send: by Submit, or by a call of a generated client.
func Prepare[Request proto.Message](ctx context.Context, conn grpc.ClientConnInterface, method string, request Request,
	stamper Stamper) (stamped Request, err error) {
	bytes, err := proto.Marshal(request)
	if err != nil {
		return stamped, err
	}
	service := stampgatev1.NewStampServiceClient(conn)
	prepared, err := service.Prepare(ctx, &stampgatev1.PrepareRequest{Method: method, Request: bytes})
	if err != nil {
		return stamped, err
	}
	stamp, err := stamper(ctx, prepared)
	if err != nil {
		return stamped, err
	}
	stamp.Body = prepared.GetBody()
	message := request.ProtoReflect().New()
	fields := message.Descriptor().Fields()
	message.Set(fields.ByName("client_stamp"), protoreflect.ValueOfMessage(stamp.ProtoReflect()))
	// No body contains the path of a general operation.
	if path := fields.ByName("path"); path != nil {
		message.Set(path, request.ProtoReflect().Get(path))
	}
	return message.Interface().(Request), nil
}

// APIKey stamps with a P-256 API key, whose private key is 64 hexadecimal digits.
func APIKey(privateKey string) (Stamper, error) {
	scalar, err := hex.DecodeString(privateKey)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
	if err != nil {
		return nil, err
	}
	publicKey := elliptic.MarshalCompressed(elliptic.P256(), key.X, key.Y)
	return func(_ context.Context, prepared *stampgatev1.PrepareResponse) (*stampgatev1.ClientStamp, error) {
		digest := sha256.Sum256(prepared.GetBody())
		signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
		stamp := fmt.Appendf(nil, `{"publicKey":"%x","scheme":"SIGNATURE_SCHEME_TK_API_P256","signature":"%x"}`,
			publicKey, signature)
		return &stampgatev1.ClientStamp{Stamp: &stampgatev1.ClientStamp_ApiKey{
			ApiKey: base64.RawURLEncoding.EncodeToString(stamp)}}, err
	}, nil
}
