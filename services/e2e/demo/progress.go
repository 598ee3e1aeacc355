package main

import (
	"fmt"
	"io"
)

// steps is how many there are.
const steps = 6

// progress tells a person what is going on.
type progress struct {
	out      io.Writer
	terminal bool
	step     int
	line     string
}

// begin starts the next step.
func (p *progress) begin(format string, args ...any) {
	p.step++
	p.line = fmt.Sprintf("[%d/%d] ", p.step, steps) + fmt.Sprintf(format, args...)
	p.note("")
}

// note shows how far the step is. On a terminal the line is written again; elsewhere only beginnings and ends are shown.
func (p *progress) note(format string, args ...any) {
	if p.terminal {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K"+p.line+" … "+fmt.Sprintf(format, args...))
	} else if format == "" {
		_, _ = fmt.Fprintln(p.out, p.line+" …")
	}
}

// end shows how the step came out.
func (p *progress) end(format string, args ...any) {
	result := fmt.Sprintf(format, args...)
	if p.terminal {
		_, _ = fmt.Fprintln(p.out, "\r\x1b[K"+p.line+" … "+result)
	} else {
		_, _ = fmt.Fprintln(p.out, "      "+result)
	}
}

// quote shows text that came back, a bar before each line.
func (p *progress) quote(title, text string) {
	_, _ = fmt.Fprintf(p.out, "\n%s\n\n%s\n\n", title, indent(text))
}
