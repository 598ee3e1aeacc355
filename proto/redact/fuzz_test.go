package redact_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kiroku-dev/kiroku/proto/redact"
)

// privateTag is a private tag in plain form, whole or cut short. <private-key> and the like are other elements.
var privateTag = regexp.MustCompile(`(?i)</?private(?:[^\w.-]|$)`)

func seeds() []string {
	return []string{
		"", "plain", "a <private>b</private> c", "<PRIVATE x='>'>a<private>b</private>", "</private><private", "< private >x",
		`\u003cprivate\u003ex\u003c\/private\u003e`, "&lt;private&gt;x", "<pri<user_query>vate>x", "<private\xff>\x00",
		"> <kiroku-context a=\"b\">\n> c\n> </kiroku-context>\nd", "&amp;lt;kiroku-context&gt;a", "<system-reminder>a</system-reminder>b",
		"<command-name>a<command-args>b</command-name>c</command-args>", "< private password=ab<cdef12345 >",
		"password=hun" + "ter2", "token: 'gh" + "p_" + made(36) + "'", "-----BEGIN " + "PRIVATE KEY-----\n" + made(64),
		"postgres://u:a" + "1b2c3@h", "Authorization: Bearer " + made(30), jwt(), "[REDACTED:token]: " + made(20),
	}
}

func FuzzString(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := redact.String(s)
		if twice := redact.String(once); twice != once {
			t.Fatalf("scrubbing %q gives %q, and again %q", s, once, twice)
		}
		if !utf8.ValidString(once) || strings.Contains(once, "\x00") {
			t.Fatalf("scrubbing %q leaves %q, which is no storable text", s, once)
		}
		if privateTag.MatchString(once) {
			t.Fatalf("scrubbing %q leaves a private tag in %q", s, once)
		}
	})
}

func FuzzValue(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed, "password", seed)
	}
	f.Add("gh"+"p_"+made(36), "other", "00012789X") // the key becomes a placeholder with "token" in it
	f.Fuzz(func(t *testing.T, key, other, text string) {
		once := redact.Value(map[string]any{key: text, other: []any{text}, key + "#2": map[string]any{other: text}})
		first, err := json.Marshal(once)
		if err != nil {
			t.Fatal(err)
		}
		second, err := json.Marshal(redact.Value(once))
		if err != nil {
			t.Fatal(err)
		}
		if string(first) != string(second) {
			t.Fatalf("scrubbing once gives %s, and again %s", first, second)
		}
	})
}

func FuzzBytes(f *testing.F) {
	const planted = "QZPLANTEDQZ"
	escape := strings.NewReplacer("<", `\u003c`, ">", `\u003E`, `"`, `\"`)
	for _, seed := range seeds() {
		f.Add([]byte(seed), []byte(seed), uint8(0))
		f.Add([]byte(`{"prompt":"`), []byte(seed), uint8(1))
		f.Add([]byte(`{"a":"\`), []byte(`"}`), uint8(2))
	}
	f.Fuzz(func(t *testing.T, before, after []byte, escapes uint8) {
		if strings.Contains(string(before)+" "+string(after), planted) {
			t.Skip("the word is planted outside the passage too")
		}
		passage := `<Private a="b">` + planted + `</private>`
		for range escapes % 4 {
			passage = escape.Replace(strings.ReplaceAll(passage, `\`, `\\`))
		}
		raw := append(append(before, passage...), after...)
		if out := redact.Bytes(raw); strings.Contains(string(out), planted) {
			t.Fatalf("the passage in %q is still in %q", raw, out)
		}
	})
}
