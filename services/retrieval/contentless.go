package retrieval

import (
	"strings"
	"unicode"

	"github.com/kiroku-dev/kiroku/services/internal/analysis"
)

// maxContentless is the longest prompt that can be without content, in bytes.
const maxContentless = 200

// contentless tells whether a prompt asks for nothing that a memory could know: assent, thanks, a nudge.
func contentless(prompt string) bool {
	if len(prompt) > maxContentless {
		return false
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(prompt), separates) {
		if _, empty := emptyWords[word]; !empty && len(analysis.QueryTerms(word)) > 0 {
			return false
		}
	}
	return true
}

func separates(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '\''
}

// emptyWords say yes, no, thanks or go on. Numbers choose from a list that only the session knows.
var emptyWords = wordSet(`
	ok okay k kk yes yep yeah yup ya sure right correct exactly agreed no nope nah thanks thank thx ty cheers welcome
	great good nice perfect cool fine awesome excellent amazing wonderful lovely brilliant super lgtm sounds looks look works
	go ahead continue proceed carry keep going next again try retry do it that this now then step done stop wait hold never mind
	hi hello hey bye sorry oops hmm hm ah oh lol wow well let's lets please
	0 1 2 3 4 5 6 7 8 9 a b c d
	ja nein danke bitte gut genau weiter stimmt passt prima super klar gerne los mach
	oui non merci parfait bien continue continuez vas super voilà accord d'accord bon
	sí si no gracias vale perfecto bien sigue continúa claro bueno adelante hazlo
	да нет спасибо хорошо давай дальше ок продолжай отлично
	はい いいえ ありがとう ありがとうございます お願いします おねがいします 続けて 続けてください 了解 了解です いいね オーケー
	好 好的 是 是的 对 谢谢 继续 可以 行 不 没问题
	네 예 아니요 감사합니다 고마워 계속 좋아 좋아요 계속해줘`)

func wordSet(list string) map[string]struct{} {
	set := make(map[string]struct{})
	for word := range strings.FieldsSeq(list) {
		set[word] = struct{}{}
	}
	return set
}
