package rules

import "strings"

// language holds the words by which people state rules and choices in one language. Words of scripts with spaces are whole
// words in lower case with a space at each end; others are plain parts.
type language struct {
	wide bool
	// rules suffice alone: "we always", "from now on".
	rules []string
	// opening are rules only at the start of a sentence: "always …", "don't …".
	opening []string
	// passing unmake an opening rule: it is about the task at hand.
	passing []string
	// use with contrast makes a rule: "we use" … "instead of".
	use, contrast []string
	// choices are decisions of people.
	choices []string
	// reasons mark sentences of an answer that tell a cause or a choice; strong ones tell a root cause or a decision.
	reasons, strong []string
	// todo marks what is left to do.
	todo []string
}

// languages are checked all; a text may mix them.
var languages = []language{english, german, french, spanish, japanese, chinese}

var english = language{
	rules: []string{
		" from now on ", " going forward ", " we always ", " we never ", " should always ", " must always ", " should never ", " must never ", " must not ",
		" i prefer ", " we prefer ", " i'd prefer ", " our convention ", " the convention is ", " the convention here ", " by convention ", " as a rule ", " house rule ",
		" house style ", " please always ", " please never ", " please don't ever ", " don't ever ", " do not ever ", " keep in mind that ", " remember that ", " remember to ",
		" make sure to always ", " make sure you always ", " in this repo we ", " in this project we ", " in this codebase we ", " we don't use ", " we do not use ",
		" we no longer use ", " you should always ", " you must ", " always use ", " always run ", " never use ", " never commit ", " never push ", " i want you to always ",
		" we only use ", " it should never ", " please remember ", " is not allowed ", " are not allowed ", " we stick to ", " we write ", " we name ",
	},
	opening: []string{
		" always ", " never ", " don't ", " do not ", " please don't ", " please do not ", " prefer ", " please prefer ", " avoid ", " please avoid ", " remember ",
		" only use ", " stop using ", " rule ", " convention ", " important never ", " important always ", " note never ", " note always ", " also never ",
		" also always ", " and always ", " but never ", " but always ", " also don't ", " and don't ", " but don't ",
	},
	passing: []string{
		" yet ", " just ", " for now ", " right now ", " this time ", " anything ", " just let me know ", " worry ", " the same ", " don't think ", " don't know ", " don't see ",
		" don't understand ", " don't like ", " don't fix ", " don't change ", " until i ",
		" don't we ", " don't you ", " always fails ", " always returns ", " never mind ", " never on my ", " never happens ", " never fails ", " never locally ",
	},
	use:      []string{" we use ", " use ", " uses ", " using ", " we're using ", " let's use ", " we go with "},
	contrast: []string{" not ", " instead of ", " rather than ", " and never ", " over "},
	choices: []string{
		" we decided ", " i decided ", " i've decided ", " we've decided ", " we agreed ", " the decision is ", " let's go with ", " we'll go with ", " we're going with ",
		" we settled on ", " i'd go with ", " we will use ", " we'll use ", " let's stick with ", " let's keep ", " i've chosen ",
	},
	reasons: []string{
		" because ", " instead of ", " rather than ", " since ", " so that ", " the reason ", " trade off ", " to avoid ", " the solution ", " which means ", " due to ",
		" this ensures ", " now uses ", " replaced ", " turned out ", " turns out ", " otherwise ", " intentionally ", " on purpose ",
	},
	strong: []string{
		" root cause ", " the issue was ", " the problem was ", " the bug was ", " the fix is ", " the fix was ", " the cause was ", " the cause is ", " was caused by ",
		" is caused by ", " i chose ", " i decided ", " decided to ", " i went with ", " chose to ", " the issue is ", " the problem is ", " the bug is ", " the culprit ",
		" i opted ", " we chose ", " i picked ", " i kept ", " i avoided ", " the error was ", " the real fix ", " happened because ", " fails because ", " failed because ", " the real problem ",
	},
	todo: []string{" todo ", " follow up ", " still needs ", " still need ", " not yet ", " remaining work ", " remaining tasks ", " remains to ", " left to do ", " next step ", " i did not ", " i haven't ", " out of scope "},
}

var german = language{
	rules: []string{
		" ab jetzt ", " ab sofort ", " künftig ", " in zukunft ", " grundsätzlich ", " bitte immer ", " bitte nie ", " bitte niemals ", " wir verwenden ", " wir nutzen ",
		" wir benutzen ", " wir schreiben ", " merk dir ", " merke dir ", " denk daran ", " ich bevorzuge ", " wir bevorzugen ", " soll immer ", " sollen immer ", " muss immer ",
		" müssen immer ", " darf nie ", " darf niemals ", " dürfen nie ", " nie direkt ", " niemals ", " wir machen immer ", " unsere konvention ", " verwende immer ", " nutze immer ",
	},
	opening:  []string{" immer ", " nie ", " bitte nicht ", " bitte kein ", " bitte keine ", " vermeide ", " keine ", " kein ", " verwende nie "},
	passing:  []string{" vorerst ", " diesmal ", " noch nicht ", " jetzt noch ", " keine ahnung ", " kein problem ", " keine sorge "},
	use:      []string{" verwende ", " verwenden ", " nutze ", " nutzen ", " benutze ", " nimm ", " nehmen "},
	contrast: []string{" statt ", " anstatt ", " anstelle ", " nicht ", " und nie "},
	choices:  []string{" wir haben uns für ", " ich habe mich für ", " entschieden ", " wir nehmen ", " lass uns ", " wir bleiben bei "},
	reasons:  []string{" weil ", " statt ", " anstatt ", " anstelle ", " da ", " damit ", " dadurch ", " sonst "},
	strong: []string{
		" ursache ", " das problem war ", " der fehler war ", " der fehler lag ", " das problem lag ", " lag daran ", " entschieden ", " die lösung ist ", " grund war ", " bewusst ",
	},
	todo: []string{" offen ", " noch nicht ", " fehlt noch ", " nächster schritt "},
}

var french = language{
	rules: []string{
		" désormais ", " à partir de maintenant ", " dorénavant ", " on utilise toujours ", " nous utilisons ", " on utilise ", " ne jamais ", " il ne faut jamais ", " il faut toujours ",
		" toujours utiliser ", " utilise toujours ", " souviens toi ", " rappelle toi ", " je préfère ", " nous préférons ", " n'utilise jamais ", " notre convention ", " n'utilisons pas ",
	},
	opening:  []string{" toujours ", " jamais ", " évite ", " évitez ", " ne ", " n'utilise pas ", " pas de "},
	passing:  []string{" pour l'instant ", " cette fois ", " encore "},
	use:      []string{" utilise ", " utilisez ", " utiliser ", " utilisons "},
	contrast: []string{" plutôt que ", " au lieu de ", " et non ", " pas "},
	choices:  []string{" on a décidé ", " nous avons décidé ", " j'ai décidé ", " on part sur ", " on garde "},
	reasons:  []string{" parce que ", " au lieu de ", " plutôt que ", " car ", " afin de ", " puisque "},
	strong:   []string{" la cause ", " le problème était ", " le problème venait ", " l'erreur venait ", " j'ai choisi ", " j'ai décidé ", " le correctif ", " venait de "},
	todo:     []string{" reste à ", " à faire ", " pas encore "},
}

var spanish = language{
	rules: []string{
		" de ahora en adelante ", " a partir de ahora ", " siempre usamos ", " nosotros usamos ", " usamos ", " usa siempre ", " siempre usa ", " nunca uses ", " no uses ", " no usar ", " no usamos ", " prefiero ",
		" preferimos ", " recuerda que ", " recuerda ", " nunca hagas ", " hay que usar ", " debe siempre ", " debemos siempre ", " nuestra convención ", " nunca debe ", " ten en cuenta que ",
	},
	opening:  []string{" siempre ", " nunca ", " evita "},
	passing:  []string{" por ahora ", " esta vez ", " todavía "},
	use:      []string{" usa ", " usar ", " utiliza ", " utilizar ", " usemos "},
	contrast: []string{" en lugar de ", " en vez de ", " y no ", " no "},
	choices:  []string{" hemos decidido ", " decidimos ", " he decidido ", " vamos a usar ", " vamos con ", " nos quedamos con "},
	reasons:  []string{" porque ", " en lugar de ", " en vez de ", " ya que ", " para evitar ", " debido a "},
	strong:   []string{" la causa ", " el problema era ", " el error era ", " el fallo era ", " elegí ", " he elegido ", " decidí ", " la solución es ", " se debía a "},
	todo:     []string{" pendiente ", " falta ", " todavía no "},
}

var japanese = language{
	wide: true,
	rules: []string{
		"必ず", "常に", "絶対に", "決して", "しないでください", "使わないで", "今後は", "これからは", "覚えておいて", "覚えて", "禁止", "避けて", "するようにして", "使ってください。", "統一して",
		"ルールです", "規約", "原則", "を使うこと", "使わない",
	},
	use: []string{"使って", "使い", "使う", "使用"}, contrast: []string{"ではなく", "じゃなくて", "の代わりに", "よりも"},
	choices: []string{"に決めました", "に決めた", "ことにしました", "ことにした", "採用します", "でいきましょう"},
	reasons: []string{"ため", "ので", "代わりに", "ではなく", "ように"},
	strong:  []string{"原因", "問題は", "ことにしました", "ことにした", "選びました", "修正内容", "バグは"},
	todo:    []string{"未対応", "残って", "今後の課題"},
}

var chinese = language{
	wide: true,
	rules: []string{
		"总是", "始终", "一律", "永远不要", "绝不", "必须", "禁止", "从现在起", "从今以后", "以后都", "记住", "优先使用", "我们统一", "我们都用", "我们用", "我们使用", "别用", "不要用",
		"不要使用", "务必", "請務必", "一定要", "不允许", "不得", "我们约定", "规范是",
	},
	use: []string{"使用", "用"}, contrast: []string{"而不是", "而非", "不要用"},
	choices: []string{"我们决定", "决定用", "决定采用", "就用", "选择了"},
	reasons: []string{"因为", "由于", "而不是", "改为", "改成", "避免", "以便"},
	strong:  []string{"根本原因", "原因是", "问题在于", "问题是", "决定", "选择", "根因", "是因为"},
	todo:    []string{"待办", "尚未", "还没", "后续"},
}

// prepared is a sentence ready for the tables.
type prepared struct {
	padded string // for scripts with spaces
	plain  string // for others
}

func prepare(s string) prepared { return prepared{padded: padded(s), plain: s} }

func (l *language) text(p prepared) string {
	if l.wide {
		return p.plain
	}
	return p.padded
}

// statesRule reports that the sentence tells how things are to be done from now on.
func statesRule(s string) bool {
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") {
		return false
	}
	p := prepare(s)
	for i := range languages {
		l := &languages[i]
		text := l.text(p)
		if hasAny(text, l.rules) && !startsAny(text, observations) {
			return true
		}
		if startsAny(text, l.opening) && !hasAny(text, l.passing) && weight(s) > 2 {
			return true
		}
		if usesNot(text, l) {
			return true
		}
	}
	return false
}

// observations begin sentences that tell what happened, not what should.
var observations = []string{" i remember ", " i think ", " it always ", " why ", " it looks like ", " do we ", " does ", " did ", " is ", " are ", " was ", " if we don't ", " when ", " what "}

// usesNot reports "we use X, not Y" and "use X instead of Y": the verb first, the contrast behind it; Japanese puts the contrast first.
func usesNot(text string, l *language) bool {
	if startsAny(text, questionStarts) || (startsAny(text, requestStarts) && !strings.HasPrefix(text, " let's ")) {
		return false
	}
	if l.wide {
		return hasAny(text, l.use) && hasAny(text, l.contrast)
	}
	at := -1
	for _, u := range l.use {
		if i := strings.Index(text, u); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at < 0 || (at > 0 && !strings.HasPrefix(text[at:], " we ") && !strings.HasPrefix(text[at:], " let's ") && !strings.HasSuffix(text[:at], " we") &&
		!strings.HasSuffix(text[:at], " please") && !strings.HasSuffix(text[:at], " bitte")) {
		return false
	}
	return hasAny(text[at:], l.contrast)
}

// statesChoice reports that the sentence tells a decision of people.
func statesChoice(s string) bool {
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") || weight(s) < 4 || namesOption(s) {
		return false
	}
	p := prepare(s)
	for i := range languages {
		if hasAny(languages[i].text(p), languages[i].choices) {
			return true
		}
	}
	return false
}

// reasoning says how much an answer's sentence tells of causes and choices: 0 nothing, 1 something, 2 a root cause or decision.
func reasoning(s string) int {
	p := prepare(s)
	found := 0
	for i := range languages {
		text := languages[i].text(p)
		if hasAny(text, languages[i].strong) {
			return 2
		}
		if found == 0 && hasAny(text, languages[i].reasons) {
			found = 1
		}
	}
	return found
}

// namesOption reports a choice by number or letter, which cannot be understood without the list.
func namesOption(s string) bool {
	return strings.Contains(padded(s), " option ") && weight(s) < 10
}

func leavesOpen(s string) bool {
	p := prepare(s)
	for i := range languages {
		if hasAny(languages[i].text(p), languages[i].todo) {
			return true
		}
	}
	return false
}
