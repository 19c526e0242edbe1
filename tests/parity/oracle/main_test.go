package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// slowEcho takes longer to answer a longer line.
type slowEcho struct{}

func (slowEcho) respond(line []byte) any {
	time.Sleep(time.Duration(len(line)) * 100 * time.Microsecond)
	return strings.TrimSpace(string(line))
}

func TestAnswersAreInTheOrderOfTheLines(t *testing.T) {
	var in, want bytes.Buffer
	for index := range 100 {
		text := fmt.Sprint(index, strings.Repeat("x", 100-index))
		fmt.Fprintln(&in, text)
		fmt.Fprintf(&want, "%q\n", text)
	}
	var out bytes.Buffer
	if err := serve(&in, &out, 4, func() responder { return slowEcho{} }); err != nil {
		t.Fatal(err)
	}
	if out.String() != want.String() {
		t.Errorf("got\n%swant\n%s", &out, &want)
	}
}

func TestEachAnswerIsWrittenBeforeTheNextQuestion(t *testing.T) {
	fromAsker, ask := io.Pipe()
	fromServer, answer := io.Pipe()
	go func() { _ = serve(fromAsker, answer, 2, func() responder { return slowEcho{} }) }()
	for index := range 3 {
		fmt.Fprintln(ask, index)
		var got string
		if _, err := fmt.Fscanln(fromServer, &got); err != nil || got != fmt.Sprintf("%q", fmt.Sprint(index)) {
			t.Fatalf("got %s, %v", got, err)
		}
	}
}
