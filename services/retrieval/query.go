package retrieval

import (
	"strings"
	"sync"

	"github.com/kiroku-dev/kiroku/services/internal/analysis"
)

// query is what is looked for: the distinct terms of a text and how much each counts.
type query struct {
	text    string
	terms   []string
	weights []float64
	// content tells whether any term is about something.
	content bool
}

// talkWeight is what a word of talk counts beside one that names something.
const talkWeight = 0.3

func newQuery(text string) query {
	q := query{text: text, terms: analysis.QueryTerms(text)}
	talk := talkTerms()
	q.weights = make([]float64, len(q.terms))
	for i, term := range q.terms {
		q.weights[i] = 1
		if _, ok := talk[term]; ok {
			q.weights[i] = talkWeight
		} else {
			q.content = true
		}
	}
	return q
}

// talkTerms are the terms of words with which people speak to an agent rather than about their work: assent, thanks, a nudge,
// a choice from a list that only the session knows. A prompt of nothing else asks for nothing that a memory could know; among
// others they say little.
var talkTerms = sync.OnceValue(func() map[string]struct{} {
	set := make(map[string]struct{})
	for word := range strings.FieldsSeq(talkWords) {
		for _, term := range analysis.QueryTerms(word) {
			set[term] = struct{}{}
		}
	}
	return set
})

const talkWords = `
	ok okay k yes yep yeah yup ya sure right correct exactly agreed no nope nah thanks thank thx ty cheers welcome
	great good nice perfect cool fine awesome excellent amazing wonderful lovely brilliant super lgtm job well done much
	sounds sound looks look works work go going ahead continue proceed carry keep next again try retry now step stop wait hold never mind
	hi hello hey bye sorry oops hmm hm ah oh lol wow lets let please maybe actually really
	think thought mean meant understand know want need like see say said tell ask question answer explain check recheck
	make do run fix use give show help option first second third one two three thing things way bit lot
	0 1 2 3 4 5 6 7 8 9
	ja nein danke bitte gut genau weiter stimmt passt prima klar gerne los mach
	oui non merci parfait bien continuez vas voilà accord bon
	sí si gracias vale perfecto sigue continúa claro bueno adelante hazlo
	да нет спасибо хорошо давай дальше ок продолжай отлично
	はい いいえ ありがとう ありがとうございます お願いします おねがいします 続けて 続けてください 了解 了解です いいね オーケー
	好 好的 是 是的 对 谢谢 继续 可以 行 不 没问题
	네 예 아니요 감사합니다 고마워 계속 좋아 좋아요 계속해줘`
