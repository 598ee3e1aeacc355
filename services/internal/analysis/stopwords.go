package analysis

import "strings"

// stopWords by language. They are short lists of grammar words on purpose:
// frequency already makes a common word count little. Words that carry rules
// (always, never, must) are not among them.
var stopWords = [languages]map[string]struct{}{
	langEnglish: wordSet(`
		a am an and any are as at be because been being but by can cannot could did do does doing done
		each else for from had has have having he her here hers him his how i if in into is it its itself
		just let like me more most my no nor not of off on one onto or other our ours out over own per
		please shall she should so some such than that the their theirs them then there these they this
		those through thus to too under until up upon us very was we were what when where which while who
		whom whose why will with within would yes you your yours
		d ll m re s t ve don doesn didn isn aren wasn weren hasn haven hadn won wouldn shouldn couldn`),
	langGerman: wordSet(`
		aber alle allem allen aller alles als also am an auch auf aus bei bin bis bist da damit dann das dass
		dein dem den denn der des dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein
		eine einem einen einer eines er es euch euer für gegen habe haben hat hatte hatten hier ich ihm ihn
		ihnen ihr ihre im in ins ist ja jede jeder jedes jetzt kann kein keine können man mein mich mir mit
		muss nach nicht noch nun nur ob oder ohne sehr sein seine sich sie sind so soll über um und uns unser
		unter vom von vor war waren warum was weil wenn wer werden wie wieder wir wird wo zu zum zur zwischen`),
	langFrench: wordSet(`
		ai as au aux avec avez avoir avons ce ceci cela ces cet cette comme d dans de des donc du elle elles
		en es est et été être eu fait il ils j je l la le les leur leurs lui m ma mais me même mes moi mon n
		ne nos notre nous on ont ou où par pas plus pour qu quand que quel quelle qui quoi s sa sans se ses
		si son sont sur ta te tes toi ton tous tout très tu un une vos votre vous y`),
	langSpanish: wordSet(`
		a al algo ante como con cuando de del desde donde dos e el ella ellas ellos en entre era es esa ese
		eso esta está este esto estos fue ha han hasta hay la las le les lo los más me mi mis muy nada ni no
		nos nosotros o os otra otro para pero poco por porque que qué quien se sea ser si sí sin sobre son su
		sus también te tiene todo todos tu un una unas uno unos y ya yo`),
	langRussian: wordSet(`
		а без бы был была были было быть в вам вас во вот все всё вы где да для до его ее её если есть еще
		ещё же за и из или им их к как когда которая которые который кто ли мне мы на над нас не него нет ни
		но о об он она они оно от по под при с со так там то тоже только ты у уже что чтобы эта эти это этот я`),
}

func wordSet(list string) map[string]struct{} {
	words := strings.Fields(list)
	set := make(map[string]struct{}, len(words))
	for _, word := range words {
		set[word] = struct{}{}
	}
	return set
}
