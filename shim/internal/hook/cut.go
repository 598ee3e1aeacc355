package hook

import "bytes"

// cutMark stands where bytes of a payload were left out.
const cutMark = "[truncated by kiroku]"

// cutBack is how far the end of a head moves back to the end of a word.
const cutBack = 4 << 10

// cut shortens a JSON payload to about keep bytes of head and of tail.
func cut(payload []byte, keep int) []byte {
	if len(payload) <= 2*keep {
		return payload
	}
	var state scanner
	state.feed(payload[:len(payload)-keep])
	if state.bare {
		return trimWord(payload[:keep])
	}
	return joinCut(payload[:keep], payload[len(payload)-keep:], &state)
}

// joinCut joins both ends of a payload so that nothing private slips through the gap and the
// result is still JSON in the usual case of one long string: the head ends before the word that
// was cut, since half a secret would not be recognised as one, and the tail starts
// behind the string that it begins in, since that string may have opened a private block in the
// part that is gone. The state is the scanner's at the first byte of tail.
func joinCut(head, tail []byte, state *scanner) []byte {
	head = trimWord(head)
	var atCut scanner
	atCut.feed(head)
	if atCut.escaped {
		head = head[:len(head)-1]
	}
	if state.quoted {
		inString := *state
		inString.done = false
		tail = tail[inString.feedString(tail):]
	}
	joined := make([]byte, 0, len(head)+len(cutMark)+1+len(tail))
	joined = append(joined, head...)
	if atCut.quoted {
		joined = append(joined, cutMark...)
		joined = append(joined, '"')
	}
	return append(joined, tail...)
}

// trimWord moves the end of b back to behind the last blank, quote or escape, at most cutBack.
func trimWord(b []byte) []byte {
	from := max(len(b)-cutBack, 0)
	if at := bytes.LastIndexAny(b[from:], " \t\r\n\"\\"); at >= 0 {
		return b[:from+at]
	}
	return b[:from]
}
