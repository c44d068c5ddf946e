package stampgate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/proto"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatetest"
	"stampgate.dev/client/stampgatev1"
)

// A key pair of upstream's client library.
const (
	privateKey = "cf9c72915ea8bf71d8993d21d2dac3474508567ae98952cee6390556cdd0b739"
	publicKey  = "0294a0ca4705304fd9c41f570a33c4cef457bfd34619d621e0fcff191b1c3d7cfd"
	fullKey    = "0494a0ca4705304fd9c41f570a33c4cef457bfd34619d621e0fcff191b1c3d7cfd" +
		"1415e572d00efe9ccb24209c3b3b0e56632ab4250356b433d68de53901ad7290"
)

func TestPrepareReturnsTheRequestWithBodyAndStampOnly(t *testing.T) {
	gateway := stampgatetest.New(t)
	body := []byte(`{"type":"ACTIVITY_TYPE_CREATE_POLICIES"}`)
	gateway.Answer(stampgatev1.StampService_Prepare_FullMethodName,
		stampgatetest.OK(&stampgatev1.PrepareResponse{Body: body}))
	stamper, err := stampgate.APIKey(privateKey)
	if err != nil {
		t.Fatal(err)
	}
	request := &stampgatev1.CreatePoliciesRequest{OrganizationId: "o"}
	stamped, err := stampgate.Prepare(t.Context(), gateway.Conn, createPolicies, request, stamper)
	if err != nil {
		t.Fatal(err)
	}

	prepared := gateway.Requests(stampgatev1.StampService_Prepare_FullMethodName)[0].(*stampgatev1.PrepareRequest)
	received := &stampgatev1.CreatePoliciesRequest{}
	if err := proto.Unmarshal(prepared.GetRequest(), received); err != nil || !proto.Equal(received, request) {
		t.Errorf("the gateway received %v, %v", received, err)
	}
	checkEqual(t, prepared.GetMethod(), createPolicies)
	stamp := stamped.GetClientStamp()
	if !proto.Equal(stamped, &stampgatev1.CreatePoliciesRequest{ClientStamp: stamp}) {
		t.Errorf("the request is %v", stamped)
	}
	checkEqual(t, stamp.GetBody(), body)

	text, err := base64.RawURLEncoding.DecodeString(stamp.GetApiKey())
	checkEqual(t, err, nil)
	var decoded map[string]string
	checkEqual(t, json.Unmarshal(text, &decoded), nil)
	checkEqual(t, decoded["publicKey"], publicKey)
	checkEqual(t, decoded["scheme"], "SIGNATURE_SCHEME_TK_API_P256")
	signature, _ := hex.DecodeString(decoded["signature"])
	point, _ := hex.DecodeString(fullKey)
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	checkEqual(t, err, nil)
	digest := sha256.Sum256(body)
	if !ecdsa.VerifyASN1(key, digest[:], signature) {
		t.Error("the signature does not fit the body")
	}
}

func TestPrepareKeepsThePathOfAGeneralOperation(t *testing.T) {
	gateway := stampgatetest.New(t)
	gateway.Answer(stampgatev1.StampService_Prepare_FullMethodName,
		stampgatetest.OK(&stampgatev1.PrepareResponse{Body: []byte("{}")}))
	stamper, _ := stampgate.APIKey(privateKey)
	request := &stampgatev1.SubmitOperationRequest{Path: "init_otp", Parameters: "{}"}
	stamped, err := stampgate.Prepare(t.Context(), gateway.Conn,
		stampgatev1.GeneralService_SubmitOperation_FullMethodName, request, stamper)
	checkEqual(t, err, nil)
	checkEqual(t, stamped.GetPath(), "init_otp")
	checkEqual(t, stamped.GetParameters(), "")
}

func TestAFaultyPrivateKeyIsAnError(t *testing.T) {
	for _, key := range []string{"", "xy", "00", privateKey + "00"} {
		if _, err := stampgate.APIKey(key); err == nil {
			t.Errorf("%q is accepted", key)
		}
	}
}
