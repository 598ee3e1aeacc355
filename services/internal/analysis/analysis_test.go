package analysis_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kiroku-dev/kiroku/services/internal/analysis"
)

// TestTermsOfOneToken lists everything that one token becomes.
func TestTermsOfOneToken(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"stem":               {"connections", []string{"connect"}},
		"camel":              {"parseHTTPRequest", []string{"parsehttprequest", "pars", "http", "request"}},
		"plural":             {"userIDs", []string{"userid", "user", "id"}},
		"brand":              {"GitHub", []string{"github", "git", "hub"}},
		"digits stay":        {"utf8String", []string{"utf8string", "utf8", "string"}},
		"snake":              {"retry_budget", []string{"retry_budget", "retrybudget", "retri", "budget"}},
		"kebab":              {"retry-budget", []string{"retry-budget", "retrybudget", "retri", "budget"}},
		"dotted":             {"http.StatusOK", []string{"http.statusok", "http", "statusok", "status", "ok"}},
		"flag":               {"--no-verify", []string{"--no-verify", "no-verify", "noverifi", "verifi"}},
		"short flag":         {"-rf", []string{"-rf", "rf"}},
		"version":            {"v1.26.8", []string{"v1.26.8", "1.26.8", "1.26"}},
		"version of a thing": {"go1.26.8", []string{"go1.26.8", "1.26.8", "1.26", "go"}},
		"candidate":          {"2.0.0-rc1", []string{"2.0.0-rc1", "2.0.0", "2.0", "rc1"}},
		"date":               {"2026-03-01", []string{"2026-03-01", "2026-03"}},
		"time stamp":         {"2026-03-01T10", []string{"2026-03-01t10", "2026-03-01", "2026-03"}},
		"error code":         {"E0502", []string{"e0502"}},
		"sqlstate":           {"42P01", []string{"42p01"}},
		"commit":             {"9fceb02d0ae598e95dc970b74767f19372d61af8", []string{"9fceb02d0ae598e95dc970b74767f19372d61af8", "9fceb02"}},
		"uuid":               {"550e8400-e29b-41d4-a716-446655440000", []string{"550e8400-e29b-41d4-a716-446655440000"}},
		"language name":      {"C++", []string{"c++", "c"}},
		"dot file":           {".env", []string{".env", "env"}},
		"path": {"services/index/merge_test.go", []string{
			"services/index/merge_test.go", "index/merge_test.go", "servic", "index",
			"merge_test.go", "merge_test", "mergetest", "merg", "test", "go",
		}},
		"windows path":  {`cmd\main.go`, []string{"cmd/main.go", "cmd", "main.go", "main", "go"}},
		"relative path": {"../cmd/main.go", []string{"cmd/main.go", "cmd", "main.go", "main", "go"}},
		"two dots":      {"dump.tar.gz", []string{"dump.tar.gz", "dump.tar", "dump", "tar", "gz"}},
		"accents":       {"naïve", []string{"naiv"}},
		"full width":    {"ＡＰＩ", []string{"api"}},
		"ligature":      {"oﬃce", []string{"offic"}},
		"soft hyphen":   {"data\u00adbase", []string{"databas"}},
		"umlaut":        {"Übergabe", []string{"ubergab", "uebergab"}},
		"russian":       {"базами", []string{"баз"}},
		"hangul":        {"데이터베이스", []string{"데이", "이터", "터베", "베이", "이스"}},
		"kana":          {"テスト", []string{"テス", "スト"}},
		"half width":    {"ﾃﾞｰﾀ", []string{"デー", "ータ"}},
		"han":           {"数据库", []string{"数据", "数", "据", "据库", "库"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ElementsMatch(t, tc.want, analysis.Terms(tc.text))
		})
	}
}

// TestNoTerms lists queries that ask for nothing.
func TestNoTerms(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " \t\n", "?!", "--", "/", "\x00", "\xff\xfe", "the and of it", "Do you have the?", "don't",
		"und der die das", "les des une", "и в на", "🎉🎉", "...", "`'\"", "¿y el que?",
	} {
		require.Empty(t, analysis.Terms(text), "%q", text)
		require.Empty(t, analysis.QueryTerms(text), "%q", text)
	}
}

// TestQueryFindsDocument holds the two sides together: every term of the query
// is one of the document's.
func TestQueryFindsDocument(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ document, query string }{
		"stems":              {"We are migrating the databases", "database migrations"},
		"camel by part":      {"maxRetryBudget was too low", "retry"},
		"camel by snake":     {"retryBudget was too low", "retrybudget"},
		"path by part":       {"see services/ingest/limits_test.go", "ingest limits"},
		"path by tail":       {"see services/ingest/limits_test.go", "ingest/limits_test.go"},
		"path by base":       {"see services/ingest/limits_test.go:12", "limits_test"},
		"version by prefix":  {"needs go 1.26.8", "1.26"},
		"short commit":       {"fixed in 9fceb02d0ae598e95dc970b74767f19372d61af8", "9fceb02"},
		"japanese":           {"接続プールの設定を変更した", "設定を変更"},
		"japanese one kanji": {"黒猫が寝ている", "猫"},
		"chinese":            {"我们决定使用消息队列处理事件", "消息队列"},
		"korean":             {"데이터베이스연결을 다시 설정했다", "베이스연결"},
		"thai":               {"แก้ไขการเชื่อมต่อฐานข้อมูลแล้ว", "ฐานข้อมูล"},
		"mixed":              {"config.yamlを更新してから再起動", "config.yaml 再起動"},
		"german plural":      {"Die Häuser sind mit der Datenbank verbunden", "Haus"},
		"german no umlaut":   {"Die Größe der Warteschlange ist zu klein", "groesse warteschlange"},
		"german ending":      {"Die Entscheidung ist gefallen", "Entscheidungen"},
		"french":             {"Les erreurs de connexion sont réparées", "erreur connexions"},
		"french elision":     {"L'erreur vient d'ici", "erreur"},
		"spanish":            {"Las canciones están en la lista", "canción listas"},
		"no accents":         {"La décision a été prise", "decision"},
		"turkish capital":    {"İstanbul", "istanbul"},
		"greek sigma":        {"ΟΔΟΣ", "οδος"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := map[string]bool{}
			for _, term := range analysis.Terms(tc.document) {
				document[term] = true
			}
			asked := strings.Fields(tc.query)
			require.NotEmpty(t, asked)
			for _, word := range asked {
				found := false
				for _, term := range analysis.QueryTerms(word) {
					found = found || document[term]
				}
				require.True(t, found, "%q has %v, document has %v", word, analysis.QueryTerms(word), analysis.Terms(tc.document))
			}
		})
	}
}

// TestLanguageOfTheSentence: words are stemmed by the language around them, on
// both sides.
func TestLanguageOfTheSentence(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ document, query, term string }{
		"german":  {"Die Datenbank ist nicht erreichbar", "Warum sind die Datenbanken langsam?", "datenbank"},
		"french":  {"Nous utilisons une file pour les événements", "pourquoi un événement est perdu", "even"},
		"spanish": {"Hay que cerrar las conexiones", "por qué no se cierra la conexión", "conexion"},
		"russian": {"Миграции базы данных", "какая миграция сломала базу", "миграц"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, analysis.Terms(tc.document), tc.term)
			require.Contains(t, analysis.QueryTerms(tc.query), tc.term)
		})
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	classes := map[string]analysis.Class{}
	for _, term := range analysis.Analyze("retry_budget in cmd/main.go --force 設定 waiting") {
		classes[term.Text] = term.Class
	}
	require.Equal(t, analysis.ClassIdentifier, classes["retry_budget"])
	require.Equal(t, analysis.ClassPart, classes["budget"])
	require.Equal(t, analysis.ClassPath, classes["cmd/main.go"])
	require.Equal(t, analysis.ClassCode, classes["--force"])
	require.Equal(t, analysis.ClassGram, classes["設定"])
	require.Equal(t, analysis.ClassWord, classes["wait"])
}

// TestLongTokensKeepTheirIdentity: a cut token still differs from its neighbour.
func TestLongTokensKeepTheirIdentity(t *testing.T) {
	t.Parallel()
	head := strings.Repeat("é", 80)
	a, b := analysis.Terms(head+"x"), analysis.Terms(head+"z")
	require.Equal(t, a, analysis.Terms(head+"x"))
	require.NotEqual(t, a, b)
	requireValid(t, a)
}

// TestHugeTexts: the largest legal texts come out bounded, whatever they hold.
func TestHugeTexts(t *testing.T) {
	t.Parallel()
	var distinct strings.Builder
	for i := 0; distinct.Len() < analysis.MaxTextBytes; i++ {
		distinct.WriteString("w" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i%11) + " ")
	}
	for name, text := range map[string]string{
		"one word":  strings.Repeat("a", analysis.MaxTextBytes),
		"one path":  strings.Repeat("a/b", analysis.MaxTextBytes/3),
		"joiners":   strings.Repeat("-._/", analysis.MaxTextBytes/4),
		"camel":     strings.Repeat("aB", analysis.MaxTextBytes/2),
		"marks":     "e" + strings.Repeat("\u0301", analysis.MaxTextBytes/2),
		"han":       strings.Repeat("数据库", analysis.MaxTextBytes/9),
		"expanding": strings.Repeat("\ufdfa", analysis.MaxTextBytes/3),
		"words":     distinct.String(),
		"too long":  strings.Repeat("word ", analysis.MaxTextBytes/2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			terms := analysis.Terms(text)
			requireValid(t, terms)
			require.LessOrEqual(t, len(analysis.QueryTerms(text)), analysis.MaxDistinctTerms)
		})
	}
}

// TestLongQueryKeepsBothEnds: what is asked before or behind a paste is read.
func TestLongQueryKeepsBothEnds(t *testing.T) {
	t.Parallel()
	paste := strings.Repeat("lorem ipsum\n", 20_000)
	terms := analysis.QueryTerms("zebra " + paste + " giraffe")
	require.Contains(t, terms, "zebra")
	require.Contains(t, terms, "giraff")
}

// TestTermsProperties: any text gives valid terms, the same each time, and a
// query asks for nothing that the same text as a document would not hold.
func TestTermsProperties(t *testing.T) {
	t.Parallel()
	pieces := rapid.OneOf(
		rapid.String(),
		rapid.StringN(0, 200, -1),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.StringMatching(`[A-Za-z0-9_./\\-]{0,80}`),
		rapid.StringOf(rapid.RuneFrom(nil, unicode.Han, unicode.Thai, unicode.Hangul, unicode.Latin, unicode.Mn)),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(pieces, 0, 5).Draw(t, "pieces"), " ")
		checkText(t, text)
	})
}

func FuzzTerms(f *testing.F) {
	for _, seed := range []string{
		"", "the", "parseHTTPRequest", "--no-verify", "a/b/../c.go:12", "v1.26.8-rc1", "E0502", "設定を変更",
		"ﾃﾞｰﾀ", "İ", "ẞ", "\u0345", "\u037a", "e\u0301\u0301", "\xff\xc3", "C++", "ſ", "Ǆ", "ﬃ", "ーー", "__init__.py",
		"''s", "\u1e9b\u0323", "ა", "ꭰ", "𝕳𝖊𝖑𝖑𝖔", "½", "1.2.3.4.5", "9fceb02d", "ёй", "ภาษาไทย", "ខ្មែរ",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkText(t, text) })
}

func checkText(t require.TestingT, text string) {
	terms := analysis.Terms(text)
	requireValid(t, terms)
	require.Equal(t, terms, analysis.Terms(text))
	held := make(map[string]bool, len(terms))
	for _, term := range terms {
		held[term] = true
	}
	for _, term := range analysis.QueryTerms(text) {
		require.True(t, held[term], "%q is asked for but not held", term)
	}
}

func requireValid(t require.TestingT, terms []string) {
	require.LessOrEqual(t, len(terms), analysis.MaxTerms)
	distinct := map[string]bool{}
	for _, term := range terms {
		distinct[term] = true
	}
	require.LessOrEqual(t, len(distinct), analysis.MaxDistinctTerms)
	for term := range distinct {
		require.NotEmpty(t, term)
		require.LessOrEqual(t, len(term), analysis.MaxTermBytes)
		require.True(t, utf8.ValidString(term), "%q", term)
		require.False(t, strings.ContainsFunc(term, unicode.IsSpace), "%q", term)
	}
}

func BenchmarkTerms(b *testing.B) {
	text := strings.Repeat(`Decided to keep the retry budget in services/ingest/limits.go because the relay
already backs off; maxRetryBudget is 3 and --no-retry switches it off. Fixed error 42P01 in the migration. `, 4)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		analysis.Terms(text)
	}
}
