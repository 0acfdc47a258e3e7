package secret

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestSecretNames has names of what may be secret, and names that only look like them.
func TestSecretNames(t *testing.T) {
	for _, name := range strings.Fields(`password passwords Password PASSWORD PassWord userpassword userPassword passwordHash passwordhash password1 passwd
		pwd userPwd DBPass db_pass pass passphrase pass-phrase Passwort secret secrets client_secret clientSecret clientsecret token tokens TOKENs accessToken
		access-token userToken2 idtoken JWTToken token:eq key keys apiKey api_key API_KEY APIKey X-Api-Key apikey KEY publicKey auth x-auth oauth OAuth2
		authorization Proxy-Authorization authentication credential credentials cookie Set-Cookie session sessionId sessionid connect.sid JSESSIONID PHPSESSID
		otp totpCode pin pinCode PINCode pin_code user[pin] /user/pin cvv cvv2 iban ibans card_number cardNumber creditCard accessCode
		csrftoken csrf X-CSRF _csrf xsrf mfa mfaCode MFA APIKEY authHeader authcode authCode resetCode verification_code`) {
		if !IsName(name) {
			t.Errorf("%s is not secret", name)
		}
	}
	for _, name := range strings.Fields(`author AUTHOR authors authorId author_id authority authentic passenger passengers compass passed bypass keyword KEYWORD keywords monkey Monkey
		keyboard postcode zipcode barcode country_code _code code secretary pinned spin opinion shipping cottage sidebar inside option obsession possession
		title id name größe /passenger schlüssel`) {
		if IsName(name) {
			t.Errorf("%s is secret", name)
		}
	}
}

// TestHide hides the values of secret names, and tokens under any name.
func TestHide(t *testing.T) {
	const jwt = `"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x"`
	for text, want := range map[string]string{
		`{"a":1,"password":"p","b":[{"apiKey":12,"c":` + jwt + `}]}`: `{"a":1,"password":"…","b":[{"apiKey":"…","c":"…"}]} password apiKey c`,
		`{"tokens":["a"],"session":{"id":1},"pin":null,"auth":true}`: `{"tokens":"…","session":"…","pin":null,"auth":true} tokens session`,
		`[1,"x",null,{},[]]`:               `[1,"x",null,{},[]]`,
		jwt:                                `"…" `,
		`{"note":"Bearer ` + jwt[1:] + `}`: `{"note":"Bearer …"} note`,
		`{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x":1,"a":2}`:                                                                                                `{"a":2} …`,
		`{"url":"https://x.example/a?w=1&token=a#b","text":"a; token=b?"}`:                                                                                  `{"url":"https://x.example/a?w=1&token=…#b","text":"a; token=b?"} url`,
		`{"a":"postgres://u:hunter2@db.example/x, mail a@b.example","b":"https://x.example/@ada/a@b"}`:                                                      `{"a":"postgres://…@db.example/x, mail a@b.example","b":"https://x.example/@ada/a@b"} a`,
		`{"a":"{\"url\":\"http://x\",\"mail\":\"a@b.example\"}"}`:                                                                                           `{"a":"{\"url\":\"http://x\",\"mail\":\"a@b.example\"}"}`,
		`{"a":"curl -H 'Authorization: bearer hunter2' x","b":"Basic dTpodW50ZXIy","c":"Basic English, basic plan","d":"Bearer"}`:                           `{"a":"curl -H 'Authorization: bearer …' x","b":"Basic …","c":"Basic English, basic plan","d":"Bearer"} a b`,
		`{"a":"{\"user\": \"u\", \"password\": \"hunter2\"}","b":"[1, {\"n\": 2}]"}`:                                                                        `{"a":"{\"user\":\"u\",\"password\":\"…\"}","b":"[1, {\"n\": 2}]"} password`,
		`{"a":"{\"b\":\"[{\\\"pin\\\":1}]\"}"}`:                                                                                                             `{"a":"{\"b\":\"[{\\\"pin\\\":\\\"…\\\"}]\"}"} pin`,
		`[{"name":"password","value":"hunter2"},{"value":1234,"key":"user_pin"},{"name":"color","value":"red"},{"name":"otp"}]`:                             `[{"name":"password","value":"…"},{"value":"…","key":"…"},{"name":"color","value":"red"},{"name":"otp"}] password user_pin key`,
		`{"headers":[{"name":"Cookie","value":"a=b"}],"name":"token","values":["a"]}`:                                                                       `{"headers":[{"name":"Cookie","value":"…"}],"name":"token","values":"…"} Cookie token`,
		`{"a":"x\n-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\ny","b":"-----BEGIN X-----\nhunter2"}`:                            `{"a":"x\n…\ny","b":"…"} a b`,
		`{"a":"eyJhbGciOiJSU0EtT0FFUCJ9.hun-ter2.hunter2.hunt_er2.hunter2","b":"eyJhbGciOiJkaXIifQ..a.b.c","c":"eyJhbGciOiJkaXIifQ.a"}`:                     `{"a":"…","b":"…","c":"eyJhbGciOiJkaXIifQ.a"} a b`,
		`{"a":"https://x.example/reset-password/hunter2?x=1","b":"/api/token/u1/hunter2/","c":"/password_reset/hunter2 ok","d":"/tokens/1/a","e":"/token"}`: `{"a":"https://x.example/reset-password/…?x=1","b":"/api/token/…","c":"/password_reset/… ok","d":"/tokens/1/a","e":"/token"} a b c`,
	} {
		names := []string{""}
		got := string(Hide(jsontext.Value(text), "", func(name string) { names = append(names, name) }))
		if got += strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
