//go:build ignore

// Package record writes the input and output of functions that Kubernetes' tests call: one line of JSON per call.
package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const directory = "DIRECTORY"

var (
	mutex       sync.Mutex
	table, test string
	written     map[string]bool
	files       = map[string]*os.File{}
)

// Test is called by each test as it begins.
func Test(ofTable, name string) {
	mutex.Lock()
	defer mutex.Unlock()
	table, test, written = ofTable, name, map[string]bool{}
}

// Runs returns whether a test of this table runs.
func Runs(ofTable string) bool {
	mutex.Lock()
	defer mutex.Unlock()
	return table == ofTable
}

// Call encodes the input, before the call can change it, and returns a function that writes the line with the output.
func Call(function string, input map[string]any) func(output any) {
	asked := encoded(input)
	return func(output any) {
		mutex.Lock()
		defer mutex.Unlock()
		line := encoded(map[string]any{
			"table": table, "test": test, "function": function, "input": asked, "output": output,
		})
		if table == "" || written[string(line)] {
			return
		}
		written[string(line)] = true
		if _, err := file().Write(append(line, '\n')); err != nil {
			panic(err)
		}
	}
}

func encoded(value any) json.RawMessage {
	line, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return line
}

func file() *os.File {
	found := files[table]
	if found == nil {
		created, err := os.Create(filepath.Join(directory, strings.ReplaceAll(table, "/", "-")+".jsonl"))
		if err != nil {
			panic(err)
		}
		found, files[table] = created, created
	}
	return found
}
