// Command oracle answers scheduling questions with kube-scheduler's own plugins.
//
// It reads one case a line on stdin and answers each with one line on stdout, in order. A case is a
// cluster and a pod to place in it; an answer is the result of one scheduling cycle of
// kube-scheduler: see Case and Answer. With -check it reports instead whether the case's objects
// are as an API server stores them: valid, and with all defaults set.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// ordersAhead is how many lines a worker may be ahead of the answers written.
const ordersAhead = 16

// A responder answers lines; it is used by one goroutine.
type responder interface {
	respond(line []byte) any
}

// order is one line for a worker, and the channel for its answer.
type order struct {
	line   []byte
	answer chan []byte
}

func main() {
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "cases answered at the same time")
	check := flag.Bool("check", false, "check the cases' objects instead of scheduling")
	flag.Parse()

	debug.SetGCPercent(400) // a case is small and its garbage large
	metrics.Register()      // the framework's extension points observe into them
	newResponder := func() responder { return newOracle() }
	if *check {
		newResponder = func() responder { return checker{} }
	}
	if err := serve(os.Stdin, os.Stdout, *workers, newResponder); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// serve answers in the order of the lines, however many workers there are.
func serve(in io.Reader, out io.Writer, workers int, newResponder func() responder) error {
	orders := make(chan order)
	inOrder := make(chan chan []byte, workers*ordersAhead)
	for range workers {
		go work(newResponder(), orders)
	}

	readError := make(chan error, 1)
	go func() {
		readError <- read(in, orders, inOrder)
		close(orders)
		close(inOrder)
	}()

	if err := write(out, inOrder); err != nil {
		return err
	}
	return <-readError
}

func work(answering responder, orders <-chan order) {
	for order := range orders {
		encoded, err := json.Marshal(answering.respond(order.line))
		if err != nil {
			panic(err) // answers are plain data
		}
		order.answer <- encoded
	}
}

func read(in io.Reader, orders chan<- order, inOrder chan<- chan []byte) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			answer := make(chan []byte, 1)
			inOrder <- answer
			orders <- order{line, answer}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func write(out io.Writer, inOrder <-chan chan []byte) error {
	buffered := bufio.NewWriterSize(out, 1<<20)
	for answer := range inOrder {
		if _, err := buffered.Write(append(<-answer, '\n')); err != nil {
			return err
		}
		if len(inOrder) > 0 {
			continue // a caller with one question at a time waits for this answer
		}
		if err := buffered.Flush(); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
