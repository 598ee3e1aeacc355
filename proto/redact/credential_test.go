package redact_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/proto/redact"
)

// The credentials of these tests are put together at run time, so that no scanner takes this file for a leak.
const varied = "k7Qz2Lm9Xv4Bt8Rw3Nc6Jd5Hf1Gs0PyTaUeWiOq"

// made gives n varied characters.
func made(n int) string { return strings.Repeat(varied, n/len(varied)+1)[:n] }

func upper(n int) string { return strings.ToUpper(made(n)) }

func hexadecimal(n int) string { return strings.Repeat("3f786850e387550fdab836ed7e6dc881", 3)[:n] }

func jwt() string {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return part(`{"alg":"HS256","typ":"JWT"}`) + "." + part(`{"sub":"1234567890","iat":1516239022}`) + "." + made(43)
}

func TestCredentialsKnownByTheirForm(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ kind, token string }{
		{"aws-access-key", "AK" + "IA" + upper(16)},
		{"aws-access-key", "AS" + "IA" + upper(16)},
		{"github-token", "gh" + "p_" + made(36)},
		{"github-token", "gh" + "s_" + made(36)},
		{"github-token", "github" + "_pat_" + made(22) + "_" + made(59)},
		{"gitlab-token", "gl" + "pat-" + made(20)},
		{"slack-token", "xo" + "xb-123456789012-1234567890123-" + made(24)},
		{"slack-token", "xa" + "pp-1-A0123456789-1234567890123-" + hexadecimal(64)},
		{"anthropic-key", "sk-" + "ant-api03-" + made(93) + "AA"},
		{"openai-key", "sk-" + made(48)},
		{"openai-key", "sk-" + "proj-" + made(100)},
		{"google-key", "AI" + "za" + made(35)},
		{"google-token", "ya" + "29." + made(60)},
		{"google-secret", "GOC" + "SPX-" + made(28)},
		{"stripe-key", "sk" + "_live_" + made(24)},
		{"stripe-key", "rk" + "_test_" + made(24)},
		{"stripe-secret", "wh" + "sec_" + made(32)},
		{"npm-token", "np" + "m_" + made(36)},
		{"huggingface-token", "h" + "f_" + made(34)},
		{"pypi-token", "py" + "pi-" + made(80)},
		{"docker-token", "dckr" + "_pat_" + made(27)},
		{"sendgrid-key", "S" + "G." + made(22) + "." + made(43)},
		{"digitalocean-token", "dop" + "_v1_" + hexadecimal(64)},
		{"vault-token", "hv" + "s." + made(90)},
		{"databricks-token", "da" + "pi" + hexadecimal(32)},
		{"groq-key", "gs" + "k_" + made(52)},
		{"xai-key", "xa" + "i-" + made(80)},
		{"replicate-token", "r" + "8_" + made(37)},
		{"linear-key", "lin" + "_api_" + made(40)},
		{"shopify-token", "shp" + "at_" + hexadecimal(32)},
		{"grafana-token", "gl" + "sa_" + made(32) + "_" + hexadecimal(8)},
		{"tailscale-key", "ts" + "key-auth-" + made(12) + "-" + made(32)},
		{"atlassian-token", "AT" + "ATT3" + made(180)},
		{"age-key", "AGE-SECRET" + "-KEY-1" + upper(58)},
		{"jwt", jwt()},
		{"github-token", "gh" + "p_" + strings.Repeat("a", 36)},
		{"openai-key", "sk-" + strings.Repeat("A", 48)},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			t.Parallel()
			mark := "[REDACTED:" + tc.kind + "]"
			for _, around := range []string{
				"%", "use % now", "(%)", `{"x":"%"}`, "X=%\nY=1", `line\n%`, "a%3D%", "\x1b[1;32m%\x1b[0m", "`%`", "see <b>%</b>", "%, then",
			} {
				in := around[:strings.LastIndex(around, "%")] + tc.token + around[strings.LastIndex(around, "%")+1:]
				want := around[:strings.LastIndex(around, "%")] + mark + around[strings.LastIndex(around, "%")+1:]
				require.Equal(t, want, redact.String(in), around)
			}
			require.NotContains(t, redact.String("x"+tc.token+"y"), "[REDACTED:"+tc.kind+"]", "inside a word")
		})
	}
}

func TestPrivateKeyBlocks(t *testing.T) {
	t.Parallel()
	const begin, end = "-----BEGIN " + "RSA PRIVATE KEY-----", "-----END " + "RSA PRIVATE KEY-----"
	body := made(64) + "\n" + made(64) + "\n" + made(20) + "=="
	escaped := strings.ReplaceAll(body, "\n", `\n`)
	const mark = "[REDACTED:private-key]"
	for name, tc := range map[string]struct{ in, want string }{
		"closed":              {"a\n" + begin + "\n" + body + "\n" + end + "\nb", "a\n" + mark + "\nb"},
		"unclosed":            {"a\n" + begin + "\n" + body, "a\n" + mark},
		"within JSON":         {`{"k":"` + begin + `\n` + escaped + `\n` + end + `\n"}`, `{"k":"` + mark + `\n"}`},
		"within JSON, cut":    {`{"k":"` + begin + `\n` + escaped, `{"k":"` + mark},
		"encrypted":           {begin + "\nProc-Type: 4,ENCRYPTED\n\n" + body, mark},
		"two":                 {begin + "\n" + body + "\n" + end + " " + begin + "\n" + body + "\n" + end, mark + " " + mark},
		"short":               {begin + "\nabc\n" + end, mark},
		"header only":         {"it starts with " + begin + " as always", "it starts with " + begin + " as always"},
		"header in code":      {`HasPrefix(s, "` + begin + `") {`, `HasPrefix(s, "` + begin + `") {`},
		"public key is kept":  {"-----BEGIN PUBLIC KEY-----\n" + body, "-----BEGIN PUBLIC KEY-----\n" + body},
		"certificate is kept": {"-----BEGIN CERTIFICATE-----\n" + body, "-----BEGIN CERTIFICATE-----\n" + body},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, redact.String(tc.in))
		})
	}
}

func TestCredentialsKnownByTheirContext(t *testing.T) {
	t.Parallel()
	word, long := "hun"+"ter2", made(40)
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + word))
	for _, tc := range []struct{ in, want string }{
		{"postgres://app:" + word + "@db:5432/x", "postgres://app:[REDACTED:url-password]@db:5432/x"},
		{"redis://:" + word + "@cache", "redis://:[REDACTED:url-password]@cache"},
		{"mongodb+srv://a:p@" + word + "@h/?x=1", "mongodb+srv://a:[REDACTED:url-password]@h/?x=1"},
		{`https:\/\/u:` + word + `@h`, `https:\/\/u:[REDACTED:url-password]@h`},
		{"https://u:gh" + "p_" + made(36) + "@github.com/a/b", "https://u:[REDACTED:github-token]@github.com/a/b"},

		{"Authorization: Bearer " + long, "Authorization: Bearer [REDACTED:authorization]"},
		{`-H "authorization: token ` + word + `"`, `-H "authorization: token [REDACTED:authorization]"`},
		{`headers["Authorization"] = "Bearer ` + long + `"`, `headers["Authorization"] = "Bearer [REDACTED:authorization]"`},
		{`Set("Authorization", "Basic ` + basic + `")`, `Set("Authorization", "Basic [REDACTED:authorization]")`},
		{"sent bearer " + long, "sent bearer [REDACTED:bearer-token]"},
		{"Basic " + basic, "Basic [REDACTED:basic-auth]"},

		{"password=" + word, "password=[REDACTED:password]"},
		{"DB_PASSWORD: '" + word + "'", "DB_PASSWORD: '[REDACTED:password]'"},
		{`"userPassword" : "` + word + `",`, `"userPassword" : "[REDACTED:password]",`},
		{`\"passwd\":\"` + word + `\"`, `\"passwd\":\"[REDACTED:password]\"`},
		{"mysql --password " + word + " x", "mysql --password [REDACTED:password] x"},
		{"mysql --password=" + word + " x", "mysql --password=[REDACTED:password] x"},
		{"curl -u me:" + word + " https://h", "curl -u me:[REDACTED:password] https://h"},
		{`{"pass": "` + word + `"}`, `{"pass": "[REDACTED:password]"}`},
		{"DB_PASS=" + hexadecimal(8), "DB_PASS=[REDACTED:password]"},
		{"machine h login me password " + word, "machine h login me password [REDACTED:password]"},
		{"pwd := \"P@ss!word\"", "pwd := \"[REDACTED:password]\""},
		{"AWS_SECRET_ACCESS_KEY=" + long, "AWS_SECRET_ACCESS_KEY=[REDACTED:secret]"},
		{"export SESSION_SECRET=" + hexadecimal(64), "export SESSION_SECRET=[REDACTED:secret]"},
		{"const token: string = '" + long + "'", "const token: string = '[REDACTED:token]'"},
		{"accessToken => " + long, "accessToken => [REDACTED:token]"},
		{"x-api-key: " + long, "x-api-key: [REDACTED:api-key]"},
		{"https://h/?api_key=" + long + "&x=1", "https://h/?api_key=[REDACTED:api-key]&x=1"},
		{"AccountKey=" + long + "==;EndpointSuffix=core", "AccountKey=[REDACTED:key];EndpointSuffix=core"},
		{"token=" + made(5000) + " end", "token=[REDACTED:token] end"},
	} {
		require.Equal(t, tc.want, redact.String(tc.in))
	}
}

func TestWhatOnlyLooksLikeACredentialStays(t *testing.T) {
	t.Parallel()
	image := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(made(3000)))
	for _, text := range []string{
		"request 550e8400-e29b-41d4-a716-446655440000 done",
		"token: 550e8400-e29b-41d4-a716-446655440000",
		"commit " + hexadecimal(40), "commit " + hexadecimal(7), "tree " + hexadecimal(64), "secret " + hexadecimal(12),
		"token=" + hexadecimal(7), "event 01ARZ3NDEKTSV4RRFFQ69G5FAV", "secret: 01ARZ3NDEKTSV4RRFFQ69G5FAV",
		"AWS_ACCESS_KEY_ID=AKIA" + "IOSFODNN7EXAMPLE",
		"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
		"password=changeme", "PASSWORD: \"changeme123\"", "token: your-token-here", "API_KEY=your_api_key_1",
		"password=${DB_PASSWORD}", "TOKEN=$GITHUB_TOKEN1", "TOKEN=$(gh auth token)", "token: <token>", "password: ***********",
		"api_key=xxxxxxxxxxxxxxxx", "sk-xxxxxxxxxxxxxxxxxxxxxxxx", "gh" + "p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		"Authorization: Bearer ${TOKEN}", "Authorization: Bearer <token>", "Authorization: Bearer $TOKEN", "Authorization: Bearer {token}",
		"postgres://user:${PASS}@host/db", "postgres://user:<password>@host", "postgres://user@host/db", "http://localhost:8080/a@b",
		"http://h:80?x=a@b", "ssh://git@github.com:22/x",
		"image@sha256:" + hexadecimal(64), `"integrity": "sha512-` + made(86) + `=="`, "token: sha256:" + hexadecimal(64),
		image, `"token": "` + image + `"`,
		"max_tokens: 4096000", "input_tokens=12345678", `tokenizer: "cl100k_base_v12"`, "TOKENIZER=cl100k_base22", "password: string;",
		"password = getPassword()", "token = generateToken2(32)", "token := req.Header2.Token", "secret = process.env.SECRET1",
		"secretName: my-secret-2", "--- PASS: TestFoo1/case_2 (0.01s)", "bypass: a1b2c3d4", "_passes: 12ab34",
		`"private_key_id": "` + hexadecimal(40) + `"`, "login with password reset", "password_file: /run/secrets/db1pass", "passwordless: true1234", "token_url=https://h/oauth2/v1.0",
		"password: Option<String>", "The password is wrong, the token: expired", "api_key: &str", "tokens: [1, 2, 3]",
		"token: 2026-01-02T10:00:00Z", "password_reset_at: 2026-01-02", "basic authentication", "bearer authentication-is-required-here",
		"sk-fading-circle-and-some-more-names", "npm_config_registry_with_a_long_name", "task-" + made(30),
		"eyJhbGciOi is how a JWT starts", "PWD=/home/dev/project1", "docker run -u 1000:1000 x", "tar --user root:wheel x",
		"func secret(token string) error { return nil }", `if token == "" { return errToken }`, "credentials: include",
	} {
		require.Equal(t, text, redact.String(text))
	}
}
