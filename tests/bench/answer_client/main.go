// Calls a URL as kube-scheduler calls an extender, and prints what the answers cost.
//
//	go run . URL CALLS REQUEST_FILE identity|gzip
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"sort"
	"strconv"
	"sync/atomic"
	"time"
)

type countingConn struct {
	net.Conn
	received *atomic.Int64
}

func (conn countingConn) Read(into []byte) (int, error) {
	n, err := conn.Conn.Read(into)
	conn.received.Add(int64(n))
	return n, err
}

func main() {
	url, body := os.Args[1], must(os.ReadFile(os.Args[3]))
	calls := must(strconv.Atoi(os.Args[2]))
	var received, connections atomic.Int64
	dialer := net.Dialer{}
	client := http.Client{Transport: &http.Transport{
		DisableCompression: os.Args[4] == "identity",
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			return countingConn{conn, &received}, err
		},
	}}
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if !info.Reused {
			connections.Add(1)
		}
	}}
	var times []time.Duration
	for range calls {
		started := time.Now()
		call(&client, httptrace.WithClientTrace(context.Background(), trace), url, body)
		times = append(times, time.Since(started))
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	fmt.Printf("%d %.3f %.3f %d\n", received.Load()/int64(calls), milliseconds(times[calls/2]),
		milliseconds(times[calls*95/100]), connections.Load())
}

// As HTTPExtender.send does: the body is not read beyond the JSON value.
func call(client *http.Client, ctx context.Context, url string, body []byte) {
	request := must(http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body)))
	request.Header.Set("Content-Type", "application/json")
	response := must(client.Do(request))
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		panic(response.Status)
	}
	var result any
	if err := json.NewDecoder(response.Body).Decode(&result); err != nil {
		panic(err)
	}
}

func milliseconds(duration time.Duration) float64 { return float64(duration) / float64(time.Millisecond) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
