package redact

import (
	"regexp"
	"sync"
)

// detector describes one kind of credential.
type detector struct {
	// kind is named by the placeholder.
	kind string
	// literals are what a credential of this kind starts with, in lower case. The pattern runs only where one occurs.
	literals []string
	// pattern matches from the literal on. Its group "value" or "bare" is what is replaced, or all of it without them; a
	// group "suffix" holds what follows the keyword within a name.
	pattern string
	// check tells a credential from what only looks like one. It may be nil. Documented samples never get here.
	check func(match) bool
	// extent gives the length of a credential that goes beyond the pattern, or 0 when it is none. It may be nil.
	extent func(text string) int
	// contextual detectors know a credential by what stands before it. They run after the others, which know it by its form
	// and so name it better.
	contextual bool
	// assigned detectors have keywords as literals, which also name object members in decoded JSON.
	assigned bool

	compile sync.Once
	re      *regexp.Regexp
}

// regexp compiles the pattern on first use.
func (d *detector) regexp() *regexp.Regexp {
	d.compile.Do(func() { d.re = regexp.MustCompile(d.pattern) })
	return d.re
}

// assignment follows a keyword: the rest of the name, an operator and a value. The operator may follow a type, as in
// "token: string =". Names and values may be quoted, also within a JSON string.
const assignment = `(?P<suffix>[\w.-]{0,40})\\*["'\x60]?\]?[ \t]{0,8}` +
	`(?::[ \t]*[*&]?[A-Za-z][\w.:]{0,40}[ \t]*=|:=|=>|={1,3}|:)[ \t]{0,8}` + assignedValue

// assignedValue is a quoted value, or a bare one, which ends where code and markup usually go on.
const assignedValue = `(?:\\*["'\x60](?P<value>[^\s"'\x60\\]{6,})|(?P<bare>[^\s"'\x60\\,;&<>(){}\[\]|]{6,}))`

// detectors is the table of credentials. Those known by their form come first.
var detectors = [...]detector{
	{
		kind: "private-key", literals: []string{"-----begin "},
		pattern: `^-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----`, extent: privateKeyBlock,
	},
	{
		kind: "jwt", literals: []string{"eyj"},
		pattern: `^eyJ[\w-]{8,}\.(?:eyJ[\w-]{8,}|[\w-]*\.)[\w.-]*`,
	},
	{
		kind: "aws-access-key", literals: []string{"akia", "asia", "abia", "acca"},
		pattern: `^(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`,
	},
	{
		kind: "github-token", literals: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"},
		pattern: `^gh[pousr]_[\w-]{20,}(?:\.[\w-]{8,})*`, check: varied,
	},
	{
		kind: "github-token", literals: []string{"github_pat_"},
		pattern: `^github_pat_\w{22,}`, check: varied,
	},
	{
		kind: "gitlab-token", literals: []string{"glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glft-", "glagent-"},
		pattern: `^gl(?:pat|dt|rt|ptt|cbt|soat|ft|agent)-[\w-]{16,}(?:\.[\w-]{2,})*`, check: varied,
	},
	{
		kind: "slack-token", literals: []string{"xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xoxc-", "xoxd-", "xapp-"},
		pattern: `^(?:xox[abcdeprs]|xoxe\.xox[bp]|xapp)-[\w%-]{10,}`, check: varied,
	},
	{
		kind: "slack-webhook", literals: []string{"hooks.slack.com/"},
		pattern: `^(?i:hooks\.slack\.com)/(?:services|workflows|triggers)/(?P<value>[\w/-]{20,})`,
	},
	{kind: "anthropic-key", literals: []string{"sk-ant-"}, pattern: `^sk-ant-[\w-]{16,}`, check: varied},
	{kind: "openai-key", literals: []string{"sk-"}, pattern: `^sk-(?:proj-|svcacct-|admin-|or-v1-)?[\w-]{20,}`, check: random},
	{kind: "google-key", literals: []string{"aiza"}, pattern: `^AIza[\w-]{30,}`, check: varied},
	{kind: "google-token", literals: []string{"ya29."}, pattern: `^ya29\.[\w.-]{20,}`, check: varied},
	{kind: "google-secret", literals: []string{"gocspx-"}, pattern: `^GOCSPX-[\w-]{20,}`, check: varied},
	{
		kind: "stripe-key", literals: []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"},
		pattern: `^[sr]k_(?:live|test)_[A-Za-z0-9]{10,}`, check: varied,
	},
	{kind: "stripe-secret", literals: []string{"whsec_"}, pattern: `^whsec_[A-Za-z0-9+/=]{20,}`, check: varied},
	{kind: "npm-token", literals: []string{"npm_"}, pattern: `^npm_[A-Za-z0-9]{30,}`, check: varied},
	{kind: "huggingface-token", literals: []string{"hf_", "api_org_"}, pattern: `^(?:hf|api_org)_[A-Za-z0-9]{30,}`, check: varied},
	{kind: "pypi-token", literals: []string{"pypi-"}, pattern: `^pypi-[\w-]{50,}`, check: varied},
	{kind: "docker-token", literals: []string{"dckr_pat_", "dckr_oat_"}, pattern: `^dckr_[po]at_[\w-]{20,}`, check: varied},
	{kind: "sendgrid-key", literals: []string{"sg."}, pattern: `^SG\.[\w-]{16,}\.[\w-]{16,}`, check: varied},
	{kind: "digitalocean-token", literals: []string{"dop_v1_", "doo_v1_", "dor_v1_"}, pattern: `^do[opr]_v1_[a-f0-9]{32,}`},
	{kind: "vault-token", literals: []string{"hvs.", "hvb."}, pattern: `^hv[sb]\.[\w-]{20,}`, check: varied},
	{kind: "databricks-token", literals: []string{"dapi"}, pattern: `^dapi[a-f0-9]{32}\b`},
	{kind: "groq-key", literals: []string{"gsk_"}, pattern: `^gsk_[A-Za-z0-9]{30,}`, check: varied},
	{kind: "xai-key", literals: []string{"xai-"}, pattern: `^xai-[A-Za-z0-9]{30,}`, check: varied},
	{kind: "replicate-token", literals: []string{"r8_"}, pattern: `^r8_[A-Za-z0-9]{30,}`, check: varied},
	{kind: "linear-key", literals: []string{"lin_api_"}, pattern: `^lin_api_[A-Za-z0-9]{30,}`, check: varied},
	{kind: "shopify-token", literals: []string{"shpat_", "shpca_", "shppa_", "shpss_"}, pattern: `^shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}`},
	{kind: "grafana-token", literals: []string{"glsa_", "glc_"}, pattern: `^gl(?:sa|c)_[\w+/=]{32,}`, check: varied},
	{kind: "tailscale-key", literals: []string{"tskey-"}, pattern: `^tskey-[a-z]+-[\w-]{16,}`, check: varied},
	{kind: "atlassian-token", literals: []string{"atatt3"}, pattern: `^ATATT3[\w=-]{50,}`, check: varied},
	{kind: "age-key", literals: []string{"age-secret-key-1"}, pattern: `^AGE-SECRET-KEY-1[A-Z0-9]{40,}`},

	{
		kind: "url-password", literals: []string{"://", `:\/\/`}, contextual: true,
		pattern: `^:\\*/\\*/[^\s/@:"'\x60<>\\]{0,256}:(?P<value>[^\s/"'\x60<>\\?#]+)@`,
	},
	{
		kind: "authorization", literals: []string{"authorization"}, contextual: true, check: written,
		pattern: `^(?i:authorization)\\*["'\x60]?\]?\s{0,8}(?::=|=>|[:=,])\s{0,8}\\*["'\x60]?` +
			`(?i:bearer|basic|token|digest|apikey|bot|negotiate)\s{1,8}(?P<value>[^\s"'\x60\\]{6,})`,
	},
	{
		kind: "bearer-token", literals: []string{"bearer"}, contextual: true, check: random,
		pattern: `^(?i:bearer)[ \t]{1,8}(?P<value>[\w.~+/=-]{16,})`,
	},
	{
		kind: "basic-auth", literals: []string{"basic"}, contextual: true, check: namesUser,
		pattern: `^(?i:basic)[ \t]{1,8}(?P<value>[A-Za-z0-9+/]{8,}={0,2})`,
	},
	{
		kind: "password", literals: []string{"--password", "--passphrase", "--token", "--secret", "--api-key"}, contextual: true,
		check: secretArgument, pattern: `^--(?i:password|passphrase|token|secret|api-key)[ \t]{1,8}` + assignedValue,
	},
	{
		kind: "password", literals: []string{" -u ", "--user "}, contextual: true, check: secretArgument,
		pattern: `^(?: -u|--user)[ \t]{1,8}\\*["']?[^\s:"'\\/]{1,64}:(?P<value>[^\s"'\\]{6,})`,
	},
	{
		kind: "password", literals: []string{"login "}, contextual: true, check: secretArgument,
		pattern: `^(?i:login)[ \t]{1,8}[^\s]{1,64}\s{1,8}password[ \t]{1,8}(?P<value>[^\s"'\\]{6,})`,
	},
	{
		kind: "password", literals: []string{"_pass", "dbpass", "userpass", "passcode", `"pass"`}, contextual: true, assigned: true,
		check: secretPassword, pattern: `^["_]?(?i:(?:db|user)?pass(?:code)?)` + assignment,
	},
	{
		kind: "password", literals: []string{"password", "passwd", "passphrase", "pwd"}, contextual: true, assigned: true,
		check: secretPassword, pattern: `^(?i:passw(?:or)?d|passphrase|pwd)` + assignment,
	},
	{
		kind: "secret", literals: []string{"secret"}, contextual: true, assigned: true,
		check: secretValue, pattern: `^(?i:secret)` + assignment,
	},
	{
		kind: "token", literals: []string{"token"}, contextual: true, assigned: true,
		check: secretValue, pattern: `^(?i:token)` + assignment,
	},
	{
		kind: "api-key", literals: []string{"apikey", "api_key", "api-key", "api key"}, contextual: true, assigned: true,
		check: secretValue, pattern: `^(?i:api[ _-]?key)` + assignment,
	},
	{
		kind: "key", contextual: true, assigned: true, check: secretValue,
		literals: []string{
			"accesskey", "access_key", "access-key", "privatekey", "private_key", "private-key",
			"accountkey", "account_key", "encryptionkey", "encryption_key", "signingkey", "signing_key",
			"auth_key", "authkey", "master_key", "masterkey",
		},
		pattern: `^(?i:(?:access|private|account|encryption|signing|auth|master)[_-]?key)` + assignment,
	},
	{
		kind: "credential", literals: []string{"credential"}, contextual: true, assigned: true,
		check: secretValue, pattern: `^(?i:credential)` + assignment,
	},
	{
		kind: "authorization", literals: []string{"authorization"}, contextual: true, assigned: true,
		check: secretValue, pattern: `^(?i:authorization)` + assignment,
	},
}
