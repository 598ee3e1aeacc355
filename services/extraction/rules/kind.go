package rules

import (
	"slices"
	"strings"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
)

// Words that tell what a change was for. Whole words in lower case; those of scripts without spaces are plain parts.
var (
	bugWords = []string{
		" fix ", " fixes ", " fixed ", " bug ", " bugs ", " error ", " errors ", " fails ", " failing ", " failed ", " failures ", " broken ", " breaks ", " crash ", " crashes ",
		" panic ", " regression ", " wrong ", " debug ", " hangs ", " flaky ", " doesn't work ", " not working ", " fehler ", " kaputt ", " behebe ", " behoben ", " schlägt fehl ",
		" erreur ", " corrige ", " corrigé ", " plante ", " arregla ", " fallo ", " falla ", " corregido ", "バグ", "修正", "エラー", "落ちる", "错误", "修复", "报错", "崩溃",
	}
	refactorWords = []string{
		" refactor ", " refactored ", " refactoring ", " rename ", " renamed ", " move ", " moved ", " extract ", " extracted ", " clean up ", " cleanup ", " simplify ",
		" simplified ", " deduplicate ", " reorganize ", " reorganise ", " split ", " inline ", " umbenennen ", " umbenannt ", " verschiebe ", " renomme ", " renommer ",
		" renombra ", " mueve ", "リファクタ", "重构", "重命名", "整理",
	}
	featureWords = []string{
		" add ", " added ", " adds ", " implement ", " implemented ", " create ", " created ", " new ", " support ", " introduce ", " introduced ", " build ", " write ",
		" füge ", " hinzugefügt ", " implementiere ", " implementiert ", " erstelle ", " neue ", " neuen ", " ajoute ", " ajouter ", " ajouté ", " añade ", " agrega ", " añadir ",
		" crea ", " implementa ", "追加", "実装", "作成", "添加", "实现", "新增", "增加",
	}
)

// kind is the type of the turn's main record.
func (w *work) kind() recordv1.ObservationType {
	if len(w.edited) > 0 {
		return w.changeKind()
	}
	switch {
	case slices.ContainsFunc(w.fixes, func(f fix) bool { return f.tool == "" }):
		return recordv1.ObservationType_OBSERVATION_TYPE_BUGFIX
	case len(w.broken) > 0 && w.turn.Ended && w.answer.id == "":
		return recordv1.ObservationType_OBSERVATION_TYPE_ERROR
	case w.answer.id == "" && !w.did():
		return recordv1.ObservationType_OBSERVATION_TYPE_TOOL_USE
	case w.request.question || (len(w.answer.strong) > 0 && !w.did()) || (len(w.read) > 0 && len(w.commits) == 0):
		return recordv1.ObservationType_OBSERVATION_TYPE_DISCOVERY
	}
	return recordv1.ObservationType_OBSERVATION_TYPE_SESSION_SUMMARY
}

// changeKind tells mending, moving and building apart by the request first, then by the answer's head.
func (w *work) changeKind() recordv1.ObservationType {
	for _, f := range w.fixes {
		if !f.own {
			return recordv1.ObservationType_OBSERVATION_TYPE_BUGFIX
		}
	}
	texts := []string{padded(head(w.request.text, longPrompt)), padded(head(w.answer.text, 400))}
	if w.request.empty {
		texts = texts[1:]
	}
	for _, text := range texts {
		bug, moved, built := earliest(text, bugWords), earliest(text, refactorWords), earliest(text, featureWords)
		switch first := min(bug, moved, built); {
		case first == len(text):
		case first == bug:
			return recordv1.ObservationType_OBSERVATION_TYPE_BUGFIX
		case first == moved:
			return recordv1.ObservationType_OBSERVATION_TYPE_REFACTOR
		default:
			return recordv1.ObservationType_OBSERVATION_TYPE_FEATURE
		}
	}
	if w.created {
		return recordv1.ObservationType_OBSERVATION_TYPE_FEATURE
	}
	return recordv1.ObservationType_OBSERVATION_TYPE_SESSION_SUMMARY
}

// earliest is where the first of the words stands; the length of the text when none does.
func earliest(text string, words []string) int {
	first := len(text)
	for _, word := range words {
		if at := strings.Index(text, word); at >= 0 {
			first = min(first, at)
		}
	}
	return first
}
